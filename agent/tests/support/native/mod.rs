//! Hosts without machines: a Debian with Kubernetes each, in namespaces, on one bridge. kubeadm, the kubelet and containerd in them are real; there
//! is no systemd, no firmware and no disk of their own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bessemer_protocol::NodeIdentity;

/// The test's own end of the bridge.
pub const GATEWAY: &str = "10.77.0.1";

/// Set for the copy of the test that runs inside namespaces.
const INSIDE: &str = "BESSEMER_NATIVE_INSIDE";

/// Why hosts cannot run here.
pub fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("hosts in namespaces need root".into());
    }
    if !Path::new("/sys/fs/cgroup/cpuset/cpuset.cpus").exists() {
        return Some("hosts in namespaces need cgroup v1".into());
    }
    let runs =
        |tool: &str| Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    ["unshare", "ip", "mount", "debugfs", "bash"]
        .iter()
        .find(|tool| !runs(tool))
        .map(|tool| format!("{tool} is missing"))
}

/// True inside namespaces of network, mounts and processes, where everything that is started ends with the test. Outside, runs the test
/// of this name again in such namespaces, and passes on how it ended.
pub fn inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        let bridge = format!(
            "ip link set lo up && ip link add br0 type bridge && ip addr add {GATEWAY}/24 dev br0 && ip link set br0 up"
        );
        assert!(Command::new("sh").args(["-c", &bridge]).status().unwrap().success());
        return true;
    }
    let status = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .unwrap();
    assert!(status.success(), "inside namespaces: {status}");
    false
}

/// The Debian with Kubernetes that every host starts as.
pub struct Base {
    root: PathBuf,
    agent: PathBuf,
}

impl Base {
    pub fn new(root: PathBuf, agent: &str) -> Self {
        Self { root, agent: agent.into() }
    }
}

/// A host; ends when dropped.
pub struct Host {
    process: Child,
    group: String,
    /// Its first process, as seen from here.
    first: u32,
    pub name: String,
    pub folder: PathBuf,
}

/// What a host is besides its base.
#[derive(Default)]
pub struct Spec<'a> {
    pub name: &'a str,
    /// Last part of its address.
    pub number: u8,
    pub identity: Option<NodeIdentity>,
    /// Whether there are container images.
    pub images: bool,
    /// Shell commands before it takes its own root, with `$root` and `$folder`; `runtime=no` leaves containerd out.
    pub setup: &'a str,
}

impl Host {
    pub fn start(folder: &Path, base: &Base, spec: &Spec<'_>) -> Self {
        let folder = folder.join(spec.name);
        let group = format!("bessemer-{}-{}", outer_pid(), spec.name);
        for part in ["root", "work", "containerd", "upper/etc/containerd", "upper/var/lib/bessemer", "upper/var/log"] {
            std::fs::create_dir_all(folder.join(part)).unwrap();
        }
        if spec.images {
            copy_images(&base.root.join("var/lib/containerd"), &folder.join("containerd"));
        }
        let write = |path: &str, content: &str| std::fs::write(folder.join(path), content).unwrap();
        write("upper/etc/containerd/config.toml", &runtime_config(&base.root));
        if let Some(identity) = &spec.identity {
            write("upper/var/lib/bessemer/identity.json", &serde_json::to_string(identity).unwrap());
        }
        // The image's points into systemd's own folder, and the kubelet wants one.
        write("upper/etc/resolv.conf", "");
        write("cgroup", &group);
        write("setup.sh", spec.setup);
        write("inside.sh", include_str!("inside.sh"));
        write("enter.sh", include_str!("enter.sh"));
        let address = format!("10.77.0.{}", spec.number);
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let process = Command::new("bash")
            .arg(folder.join("enter.sh"))
            .arg(&folder)
            .arg(&base.root)
            .arg(&base.agent)
            .args([spec.name, &address])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut host = Self { process, group, first: 0, name: spec.name.to_owned(), folder };
        let first = host.first_process();
        host.first = first;
        let cable = format!(
            "ip link add v{0} type veth peer name eth0 netns {first} && ip link set v{0} master br0 up",
            spec.number
        );
        assert!(Command::new("sh").args(["-c", &cable]).status().unwrap().success(), "{}", host.said());
        host
    }

    /// The child of `unshare`, in the host's own namespaces.
    fn first_process(&self) -> u32 {
        let path = format!("/proc/{0}/task/{0}/children", self.process.id());
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            let name = std::fs::read_to_string(format!("/proc/{}/comm", self.process.id())).unwrap_or_default();
            let children = std::fs::read_to_string(&path).unwrap_or_default();
            if let Some(child) = children.split_whitespace().next().filter(|_| name.trim() == "unshare") {
                return child.parse().unwrap();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{} did not start: {}", self.name, self.said());
    }

    /// A file as the host sees it now.
    pub fn live_file(&self, path: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/root/{path}", self.first)).unwrap_or_default()
    }

    /// A file that the host has written to its root.
    pub fn file(&self, path: &str) -> String {
        let bytes = std::fs::read(self.folder.join("upper").join(path)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The host's own words, for whoever looks into a failure.
    pub fn said(&self) -> String {
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let last = |text: String| {
            text.lines().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n")
        };
        format!(
            "{log}\nagent:\n{}\nkubelet:\n{}",
            last(self.file("var/log/agent.log")),
            last(self.file("var/log/kubelet.log"))
        )
    }

    /// Resident memory of the agent in KiB.
    pub fn agent_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.agent()?)).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }

    /// Ends the agent as the kernel would for want of memory; it is started again.
    pub fn kill_agent(&self) {
        let agent = self.agent().and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())).unwrap();
        rustix::process::kill_process(agent, rustix::process::Signal::KILL).unwrap();
    }

    fn agent(&self) -> Option<u32> {
        let members = std::fs::read_to_string(format!("/sys/fs/cgroup/pids/{}/cgroup.procs", self.group)).ok()?;
        members.lines().find_map(|pid| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            (name.trim() == "bessemer-agent").then(|| pid.parse().ok())?
        })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        for controller in "cpu cpuacct cpuset memory devices freezer blkio pids systemd".split(' ') {
            let script = format!(
                "for i in 1 2 3 4 5 6 7 8 9 10; do find /sys/fs/cgroup/{controller}/{} -depth -type d -exec rmdir {{}} + 2>/dev/null; \
                 [ -d /sys/fs/cgroup/{controller}/{0} ] || break; sleep 0.1; done",
                self.group
            );
            let _ = Command::new("sh").args(["-c", &script]).status();
        }
        if std::thread::panicking() {
            println!("--- {}\n{}", self.name, self.said());
        }
    }
}

/// A number that no other run has; the pid inside is small and common.
fn outer_pid() -> String {
    let name = std::fs::read_link("/proc/self/ns/net").unwrap();
    name.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

/// Layers are shared, as nothing writes into them; the databases are the host's own.
fn copy_images(from: &Path, to: &Path) {
    let script = "cp -a --link \"$1/.\" \"$2/\" && cd \"$2\" && for file in \
        io.containerd.metadata.v1.bolt/meta.db io.containerd.snapshotter.v1.overlayfs/metadata.db; do \
        cp \"$file\" \"$file.own\" && mv \"$file.own\" \"$file\"; done";
    let status = Command::new("sh").args(["-c", script, "sh"]).arg(from).arg(to).status().unwrap();
    assert!(status.success(), "cannot copy container images");
}

/// The image's own configuration, for a host without systemd on a machine that may not lower anybody's OOM score.
fn runtime_config(base: &Path) -> String {
    let own = std::fs::read_to_string(base.join("etc/containerd/config.toml")).unwrap();
    let changed = own.replace("SystemdCgroup = true", "SystemdCgroup = false");
    assert_ne!(changed, own);
    format!("{changed}\n[plugins.'io.containerd.cri.v1.runtime']\n  restrict_oom_score_adj = true\n")
}
