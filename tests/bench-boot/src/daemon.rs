//! The servers that are measured, one at a time; each ends with its value.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::lab::{FIRST, LAST, Lab, PREFIX, SERVER_SIDE};

const STARTS: Duration = Duration::from_secs(15);

/// A running server.
pub(crate) struct Daemon {
    child: Child,
    /// For the table, with its version.
    pub(crate) name: String,
    /// What has happened to a lease when its client hears of it.
    pub(crate) durability: &'static str,
    folder: tempfile::TempDir,
}

impl Daemon {
    /// Ours. It says when it listens.
    pub(crate) fn ours(lab: &Lab) -> Result<Self> {
        Self::ours_as(lab.server(&this_program()?), None)
    }

    /// On one processor.
    pub(crate) fn ours_apart(lab: &Lab) -> Result<Self> {
        Self::ours_as(lab.server_apart(&this_program()?), None)
    }

    /// With a folder of images.
    pub(crate) fn ours_with(lab: &Lab, images: &Path) -> Result<Self> {
        Self::ours_as(lab.server(&this_program()?), Some(images))
    }

    fn ours_as(mut command: Command, images: Option<&Path>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        command.arg("serve").arg(folder.path()).args(images);
        let mut daemon = Self::start(command, folder, "bessemer", "written to a file before it is told, not synced")?;
        daemon.wait(|folder| folder.join("listens").exists())?;
        Ok(daemon)
    }

    /// Static files as it is best at them: `sendfile`, whole packets, a worker for each processor, no log.
    pub(crate) fn nginx(lab: &Lab, files: &Path, port: u16) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let at = folder.path().display();
        let configuration = format!(
            "daemon off; user root; worker_processes auto; pid {at}/pid; error_log {at}/log notice;\n\
             worker_rlimit_nofile 8192;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 10000000;\n\
             client_body_temp_path {at}; proxy_temp_path {at}; fastcgi_temp_path {at}; uwsgi_temp_path {at};\n\
             scgi_temp_path {at}; server {{ listen {port} backlog=4096; root {}; }} }}\n",
            files.display()
        );
        fs::write(folder.path().join("configuration"), configuration)?;
        let mut command = lab.server("nginx");
        command.arg("-c").arg(folder.path().join("configuration")).arg("-e").arg(folder.path().join("log"));
        let said = Command::new("nginx").arg("-v").output().context("cannot run nginx (nginx-light)")?;
        let version = String::from_utf8_lossy(&said.stderr).rsplit('/').next().unwrap_or_default().trim().to_owned();
        let mut daemon = Self::start(command, folder, "nginx", "")?;
        daemon.name = format!("nginx {version}");
        daemon.wait(|folder| folder.join("pid").exists())?;
        Ok(daemon)
    }

    pub(crate) fn dnsmasq(lab: &Lab, files: &Path) -> Result<Self> {
        Self::dnsmasq_as(lab.server("dnsmasq"), files)
    }

    /// On one processor.
    pub(crate) fn dnsmasq_apart(lab: &Lab, files: &Path) -> Result<Self> {
        Self::dnsmasq_as(lab.server_apart("dnsmasq"), files)
    }

    fn dnsmasq_as(mut command: Command, files: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let leases = folder.path().join("leases");
        command
            .args(["--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--bind-interfaces", "--no-ping"])
            .args(["--dhcp-authoritative", "--quiet-dhcp", "--quiet-tftp", "--user=root", "--no-resolv"])
            .args(["--dhcp-lease-max=60000", "--enable-tftp", "--tftp-max=200"])
            .arg(format!("--interface={SERVER_SIDE}"))
            .arg(format!("--dhcp-range={FIRST},{LAST},255.255.0.0,1h"))
            .arg(format!("--dhcp-leasefile={}", leases.display()))
            .arg(format!("--tftp-root={}", files.display()))
            .arg(format!("--log-facility={}", folder.path().join("log").display()));
        let version = version("dnsmasq", &["--version"], 2);
        let mut daemon = Self::start(command, folder, "dnsmasq", "its whole file written anew, not synced")?;
        daemon.name = format!("dnsmasq {version}");
        daemon.wait(|folder| fs::read_to_string(folder.join("log")).is_ok_and(|log| log.contains("TFTP root")))?;
        Ok(daemon)
    }

    /// On one processor; with one thread, as it comes, or with its threads for packets.
    pub(crate) fn kea_apart(lab: &Lab, threads: bool) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name).display().to_string();
        let configuration = format!(
            r#"{{"Dhcp4": {{
              "interfaces-config": {{"interfaces": ["{SERVER_SIDE}"], "dhcp-socket-type": "udp"}},
              "multi-threading": {{"enable-multi-threading": {threads}}},
              "lease-database": {{"type": "memfile", "persist": true, "name": "{}", "lfc-interval": 0}},
              "valid-lifetime": 3600,
              "subnet4": [{{"subnet": "{PREFIX}", "pools": [{{"pool": "{FIRST} - {LAST}"}}]}}],
              "loggers": [{{"name": "kea-dhcp4", "severity": "INFO", "output_options": [{{"output": "{}"}}]}},
                          {{"name": "kea-dhcp4.packets", "severity": "ERROR"}},
                          {{"name": "kea-dhcp4.leases", "severity": "ERROR"}}]
            }}}}"#,
            path("leases.csv"),
            path("log")
        );
        fs::write(path("configuration"), configuration)?;
        let mut command = lab.server_apart("kea-dhcp4");
        command.args(["-c", &path("configuration")]);
        command.env("KEA_PIDFILE_DIR", folder.path()).env("KEA_LOCKFILE_DIR", folder.path());
        let version = version("kea-dhcp4", &["-v"], 0);
        let mut daemon = Self::start(command, folder, "Kea", "appended to a file, not synced")?;
        daemon.name = format!("Kea {version}{}", if threads { " with threads" } else { "" });
        daemon.wait(|folder| fs::read_to_string(folder.join("log")).is_ok_and(|log| log.contains("DHCP4_STARTED")))?;
        Ok(daemon)
    }

    /// Processor time of all its threads so far.
    pub(crate) fn processor_time(&self) -> Result<Duration> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name in parentheses may hold anything; user and system time are the 14th and 15th field.
        let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
        let ticks: u64 = fields.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
        Ok(Duration::from_secs(ticks) / u32::try_from(rustix::param::clock_ticks_per_second())?)
    }

    fn start(mut command: Command, folder: tempfile::TempDir, name: &str, durability: &'static str) -> Result<Self> {
        command.stdout(Stdio::null()).stderr(Stdio::inherit());
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        Ok(Self { child, name: name.to_owned(), durability, folder })
    }

    fn wait(&mut self, is_up: impl Fn(&Path) -> bool) -> Result<()> {
        let deadline = Instant::now() + STARTS;
        while !is_up(self.folder.path()) {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended at once: {status}", self.name);
            }
            ensure!(Instant::now() < deadline, "{} is not up after {STARTS:?}", self.name);
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // In peace first: nginx's workers outlive a master that is killed.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let deadline = Instant::now() + Duration::from_secs(2);
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn this_program() -> Result<String> {
    let program = std::env::current_exe()?;
    Ok(program.to_str().context("a program whose path is not text")?.to_owned())
}

/// The word of a program's first line that is its version.
fn version(program: &str, arguments: &[&str], word: usize) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.split_whitespace().nth(word).unwrap_or_default().to_owned()
}
