//! A Debian with its own cloud-init, made once into the build cache, and copies of it that cost nothing: an overlay each, in namespaces of their own,
//! whose upper folder is what was changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bessemer_images::cache::{Cache, CacheError, Fingerprint};
use tempfile::TempDir;

/// Address of the one NIC of a copy.
pub(crate) const NIC: &str = "52:54:00:00:00:77";

const SUITE: &str = "bookworm";
const PACKAGES: &str =
    "cloud-init,sudo,openssh-server,chrony,tzdata,e2fsprogs,fdisk,gdisk,hostname,netplan.io,passwd,systemd,util-linux";
const EXCLUDED: [&str; 4] = ["/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*"];

/// What keeps this machine from having one.
pub(crate) fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("not root: no namespaces and no owners of files".to_owned());
    }
    let there = |tool: &str| {
        ["/usr/bin", "/usr/sbin", "/bin", "/sbin"].iter().any(|folder| Path::new(folder).join(tool).exists())
    };
    ["mmdebstrap", "unshare", "ip"].iter().find(|tool| !there(tool)).map(|tool| format!("{tool} is missing"))
}

/// The root folder. Not to be written to.
pub(crate) fn root() -> PathBuf {
    let mut fingerprint = Fingerprint::default();
    fingerprint.add("suite", SUITE).add("packages", PACKAGES).add("excluded", EXCLUDED.join(","));
    let build = |partial: &Path| {
        let output = Command::new("mmdebstrap")
            .args(["--mode=root", "--variant=minbase", "--format=directory", "--quiet"])
            .arg("--aptopt=Apt::Install-Recommends \"false\"")
            .args(EXCLUDED.iter().map(|path| format!("--dpkgopt=path-exclude={path}")))
            .arg(format!("--include={PACKAGES}"))
            .arg(SUITE)
            .arg(partial.join("root"))
            .output()
            .unwrap();
        assert!(output.status.success(), "mmdebstrap: {}", String::from_utf8_lossy(&output.stderr));
        Ok::<(), CacheError>(())
    };
    let entry = Cache::from_env().unwrap().entry("cloud-init-root", &fingerprint.finish(), 1, build).unwrap();
    entry.join("root")
}

/// One copy.
pub(crate) struct Copy {
    folder: TempDir,
    lower: String,
}

impl Copy {
    /// Of `layers`, the first on top.
    pub(crate) fn of(layers: &[&Path]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["upper", "work", "merged"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let lower: Vec<String> = layers.iter().map(|layer| layer.display().to_string()).collect();
        Self { folder, lower: lower.join(":") }
    }

    /// Where what is changed lies; also takes what is to be there at the start.
    pub(crate) fn upper(&self) -> PathBuf {
        self.folder.path().join("upper")
    }

    /// Puts a file at `path`.
    pub(crate) fn put(&self, path: &str, content: &[u8], mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        let at = self.upper().join(path.trim_start_matches('/'));
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(&at, content).unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Runs `script` inside: own mounts, host name, processes and network; the machine's devices. Its end ends all it started.
    pub(crate) fn run(&self, script: &str) -> Output {
        let at = |name: &str| self.folder.path().join(name).display().to_string();
        let merged = at("merged");
        let mounts = format!(
            "set -e\n\
             ip link add eth0 address {NIC} type veth peer name peer0\n\
             mount -t overlay overlay -o lowerdir={},upperdir={},workdir={} {merged}\n\
             mount -t proc proc {merged}/proc\n\
             mount -t sysfs sysfs {merged}/sys\n\
             mount --rbind /dev {merged}/dev\n\
             exec chroot {merged} /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
             HOME=/root LC_ALL=C.UTF-8 timeout 100 /bin/sh -c \"$1\"",
            self.lower,
            at("upper"),
            at("work")
        );
        Command::new("unshare")
            .args(["--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child", "--propagation", "private"])
            .args(["/bin/sh", "-c", &mounts, "sh", script])
            .output()
            .unwrap()
    }
}
