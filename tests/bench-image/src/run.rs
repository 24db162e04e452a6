//! Image, server and disk, and what is run on them.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use crate::image::{self, Kind};

/// How often the agent's memory is looked at. The kernel keeps the highest value, so that little is missed.
const LOOK: Duration = Duration::from_millis(5);

/// Everything that is measured on.
pub(crate) struct Lab {
    folder: TempDir,
    server: Child,
    base: String,
    agent: PathBuf,
    bytes: u64,
    rounds: u64,
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Lab {
    /// Makes the image of `mib` MiB and starts the server.
    pub(crate) fn start(agent: PathBuf, mib: u64, rounds: u64) -> Result<Self> {
        let folder = match std::env::var_os("BENCH_FOLDER") {
            Some(folder) => tempfile::tempdir_in(folder)?,
            None => tempfile::tempdir()?,
        };
        println!("making an image of {mib} MiB in five forms");
        image::make(folder.path(), mib)?;
        let mut server = Command::new(std::env::current_exe()?);
        let mut server = server.arg("serve").arg(folder.path()).stdout(Stdio::piped()).spawn()?;
        let mut address = String::new();
        BufReader::new(server.stdout.take().context("the server has no output")?).read_line(&mut address)?;
        let base = format!("http://{}", address.trim());
        Ok(Self { folder, server, base, agent, bytes: mib << 20, rounds })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn url(&self, kind: Kind) -> String {
        format!("{}/{}", self.base, kind.file())
    }

    /// The image's bytes as it travels, beside those on the disk.
    pub(crate) fn travels(&self, kind: Kind) -> Result<f64> {
        Ok(fs::metadata(self.path().join(kind.file()))?.len() as f64 / self.bytes as f64)
    }

    /// A disk as every round finds it: all its blocks there, none of its old content in memory.
    fn fresh_disk(&self) -> Result<PathBuf> {
        let disk = self.path().join("disk");
        let _ = fs::remove_file(&disk);
        must(self.path(), &format!("fallocate -l {} disk && sync disk", self.bytes + (64 << 20)))?;
        Ok(disk)
    }

    /// How often each thing is done.
    pub(crate) fn rounds(&self) -> u64 {
        self.rounds
    }

    /// MB of image in a second, of what `work` does.
    fn rate(&self, work: impl FnOnce(&Path) -> Result<Duration>) -> Result<f64> {
        let disk = self.fresh_disk()?;
        Ok(self.bytes as f64 / 1e6 / work(&disk)?.as_secs_f64())
    }

    /// The same of a command of the shell in the folder; `disk` is the disk.
    pub(crate) fn command(&self, command: &str) -> Result<f64> {
        self.rate(|_| {
            let started = Instant::now();
            must(self.path(), command)?;
            Ok(started.elapsed())
        })
    }

    /// The digest of what travels.
    pub(crate) fn digest(&self, kind: Kind) -> Result<String> {
        let digest = must(self.path(), &format!("sha256sum {}", kind.file()))?;
        Ok(digest.split(' ').next().unwrap_or_default().to_owned())
    }

    /// The agent's rate, and its most memory in MiB.
    pub(crate) fn agent(&self, kind: Kind, digest: &str) -> Result<(f64, f64)> {
        let mut most: f64 = 0.0;
        let rate = self.rate(|disk| {
            let started = Instant::now();
            let mut agent = Command::new(&self.agent)
                .arg("write-image")
                .args([self.url(kind).as_str(), digest])
                .arg(disk)
                .stdout(Stdio::null())
                .spawn()
                .with_context(|| format!("cannot run {}", self.agent.display()))?;
            let status = loop {
                most = most.max(memory(agent.id()).unwrap_or(0.0));
                if let Some(status) = agent.try_wait()? {
                    break status;
                }
                std::thread::sleep(LOOK);
            };
            let took = started.elapsed();
            ensure!(status.success(), "the agent failed on {}", kind.name());
            must(self.path(), &format!("cmp -n {} image.raw disk", self.bytes)).context("the disk is not the image")?;
            Ok(took)
        })?;
        Ok((rate, most))
    }

    pub(crate) fn tools_name(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Raw => "curl | dd, no digest",
            Kind::Zstd => "curl | zstd | dd, no digest",
            Kind::Gzip => "curl | gzip | dd, no digest",
            Kind::Xz => "curl | xz | dd, no digest",
            Kind::Qcow2 => "curl, then qemu-img convert, no digest",
        }
    }

    /// What the tools of everybody reach with the same image.
    pub(crate) fn tools(&self, kind: Kind) -> Result<f64> {
        let url = self.url(kind);
        let dd = "dd of=disk bs=4M iflag=fullblock oflag=direct conv=notrunc,fsync status=none";
        self.command(&match kind.decoder() {
            Some(decoder) => format!("curl -sSf {url} | {decoder} | {dd}"),
            None if kind == Kind::Qcow2 => format!(
                "curl -sSf -o fetched {url} && qemu-img convert -t none -W -n -f qcow2 -O raw fetched disk && sync disk && rm fetched"
            ),
            None => format!("curl -sSf {url} | {dd}"),
        })
    }
}

/// Runs a command of the shell and gives its output.
pub(crate) fn must(folder: &Path, command: &str) -> Result<String> {
    let line = format!("set -o pipefail; {command}");
    let output = Command::new("bash").args(["-c", &line]).current_dir(folder).output()?;
    ensure!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Most memory that a process ever had, in MiB.
fn memory(process: u32) -> Option<f64> {
    let status = File::open(format!("/proc/{process}/status")).ok()?;
    let line = BufReader::new(status).lines().map_while(Result::ok).find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}
