//! The system that is configured: its root folder, and the programs of its distribution that know how to do what a static program should not try,
//! such as adding users.

use std::fs;
use std::io::{Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::ApplyError;

/// For one program. Making a file system on a large disk takes its time.
const DEADLINE: Duration = Duration::from_secs(600);

/// Where programs are looked for.
pub(crate) const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Name and arguments. They are shown in errors, so secrets go to `input`.
    pub words: Vec<String>,
    /// For its standard input.
    pub input: Option<String>,
    /// How many of the words may be shown; the rest is secret.
    pub shown: usize,
}

impl Program {
    /// Without input.
    pub fn new<T: Into<String>>(words: impl IntoIterator<Item = T>) -> Self {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        Self { shown: words.len(), words, input: None }
    }

    /// Reads `input`.
    #[must_use]
    pub fn reading(mut self, input: String) -> Self {
        self.input = Some(input);
        self
    }
}

/// Runs programs.
pub trait Run {
    /// Runs one to its end. The error says how it ended, in words that hold no secret.
    fn run(&self, program: &Program) -> Result<(), String>;
    /// Whether there is a program of that name.
    fn has(&self, name: &str) -> bool;
}

/// Those that are installed here.
#[derive(Debug, Clone, Copy)]
pub struct RealPrograms;

impl Run for RealPrograms {
    fn run(&self, program: &Program) -> Result<(), String> {
        let shown = program.words.get(..program.shown).unwrap_or_default().join(" ");
        attend(program).map_err(|how| format!("{shown}: {how}"))
    }

    fn has(&self, name: &str) -> bool {
        SEARCH_PATH.split(':').any(|folder| Path::new(folder).join(name).is_file())
    }
}

fn attend(program: &Program) -> Result<(), String> {
    attend_within(DEADLINE, program)
}

fn attend_within(deadline: Duration, program: &Program) -> Result<(), String> {
    let (name, arguments) = program.words.split_first().ok_or("is empty")?;
    let input = program.input.as_deref().map(as_file).transpose().map_err(|error| format!("its input: {error}"))?;
    let mut child = Command::new(name)
        .args(arguments)
        .env("PATH", SEARCH_PATH)
        .env("LC_ALL", "C")
        .stdin(input.map_or_else(Stdio::null, Stdio::from))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("has no number")?;
    let ended = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| error.to_string())?;
    let timeout = rustix::time::Timespec { tv_sec: deadline.as_secs().cast_signed(), tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(&ended.as_fd(), PollFlags::IN)], Some(&timeout));
    if !matches!(ready, Ok(1..)) {
        // With all that it started; as it has not been waited for, its number is still its own.
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = child.wait();
        return Err(format!("did not end within {} s", deadline.as_secs()));
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("ended with {status}")) }
}

/// In memory. A pipe would have to be written while the program is waited for, and one that reads nothing of it would never be.
fn as_file(input: &str) -> std::io::Result<fs::File> {
    let mut file = fs::File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(input.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// What is configured, and the warnings so far.
pub struct System<'a> {
    root: PathBuf,
    programs: &'a dyn Run,
    /// What was left out or done in another way.
    pub warnings: Vec<String>,
}

impl std::fmt::Debug for System<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("System").field("root", &self.root).field("warnings", &self.warnings).finish_non_exhaustive()
    }
}

impl<'a> System<'a> {
    /// `root` is `/` outside tests.
    pub fn new(root: impl Into<PathBuf>, programs: &'a dyn Run) -> Self {
        Self { root: root.into(), programs, warnings: Vec::new() }
    }

    /// A path of the system as it is reached from here.
    pub(crate) fn path(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    pub(crate) fn has(&self, program: &str) -> bool {
        self.programs.has(program)
    }

    pub(crate) fn run(&self, program: &Program) -> Result<(), ApplyError> {
        self.programs.run(program).map_err(ApplyError)
    }

    pub(crate) fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Whether it is the running system and no folder of a test.
    pub(crate) fn is_running(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Gives the running kernel a host name.
    pub(crate) fn take_name(&mut self, name: &str) {
        if self.is_running()
            && let Err(error) = rustix::system::sethostname(name.as_bytes())
        {
            self.warn(format!("host name {name}: {error}"));
        }
    }

    /// The text of a file, empty when there is none.
    pub(crate) fn read(&self, absolute: &str) -> String {
        fs::read(self.path(absolute)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Writes a whole file of root's with `mode`, in the place of one that was there.
    pub(crate) fn write(&self, absolute: &str, content: &str, mode: u32) -> Result<(), ApplyError> {
        let path = self.path(absolute);
        let failed = |error: std::io::Error| ApplyError::io(Path::new(absolute), &error);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(mode & 0o700)
            .open(&path)
            .map_err(failed)?;
        file.set_permissions(fs::Permissions::from_mode(mode)).map_err(failed)?;
        file.write_all(content.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Program {
        Program::new(["sh", "-c", line])
    }

    #[test]
    fn a_program_that_leaves_a_large_input_unread_is_no_hindrance() {
        let input = "x".repeat(1 << 20);
        assert_eq!(attend(&shell("exit 0").reading(input.clone())), Ok(()));
        assert_eq!(attend(&shell("test $(wc -c) = 1048576").reading(input)), Ok(()));
    }

    #[test]
    fn a_late_program_ends_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let child = folder.path().join("child");
        let program = shell(&format!("sleep 300 & echo $! > {}; wait", child.display())).reading("x".repeat(1 << 20));
        let error = attend_within(Duration::from_secs(1), &program).unwrap_err();
        assert_eq!(error, "did not end within 1 s");
        let number = fs::read_to_string(child).unwrap();
        let gone = || fs::read(format!("/proc/{}/cmdline", number.trim())).map_or(true, |words| words.is_empty());
        let until = std::time::Instant::now() + Duration::from_secs(5);
        while !gone() {
            assert!(std::time::Instant::now() < until, "process {number} is still there");
            std::thread::yield_now();
        }
    }
}
