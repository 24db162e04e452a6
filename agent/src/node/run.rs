//! Running one command of a cloud-config: its output line by line, its end, and a deadline.
//!
//! The command outlives the agent. It prints into a file, and a shell around it writes down how it ended, so that the next agent reads on and judges as
//! this one would have. That shell waits until it is in the journal: there is none that runs and that nobody knows of.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;
use tracing::warn;

use crate::files;
use crate::mask::Masker;

mod output;
mod process;

use output::Output;
pub(super) use process::Process;

/// kubeadm takes minutes on slow machines, and nothing else should take as long.
const DEADLINE: Duration = Duration::from_secs(20 * 60);

/// Longest line that is kept, in characters.
const LONGEST_LINE: usize = 500;

/// What systemd gives its services is too short for Kubernetes.
pub(super) const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs the first argument once a line of input has come, and writes into the file of the second how that ended.
const AROUND: &str = r#"read -r go || exit 125
/bin/sh -c "$1" < /dev/null
status=$?
echo "$status" > "$2.new" && mv "$2.new" "$2"
exit "$status""#;

/// Where a command that runs is known by, until the host is restarted.
#[derive(Debug)]
pub(super) struct Place {
    output: PathBuf,
    status: PathBuf,
}

impl Place {
    /// In `folder`, for the one command of `claim` that runs.
    pub(super) fn new(folder: &Path, claim: &str) -> Self {
        if let Err(error) = fs::create_dir_all(folder) {
            warn!("{}: {error}", folder.display());
        }
        let name: String = claim.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let file = |kind: &str| folder.join(format!("command-{name}.{kind}"));
        Self { output: file("output"), status: file("status") }
    }

    /// After its end has been noted: what it printed was not masked.
    pub(super) fn clear(&self) {
        for path in [&self.output, &self.status] {
            if let Err(error) = fs::remove_file(path)
                && error.kind() != io::ErrorKind::NotFound
            {
                warn!("{}: {error}", path.display());
            }
        }
    }
}

/// Has the shell run `line` to its end. It starts when `noted` has been told of its process. `heard` gets each line of output, masked.
///
/// # Errors
/// How it ended.
pub(super) async fn run(
    line: &str,
    place: &Place,
    noted: impl FnOnce(&Process) -> io::Result<()>,
    heard: impl FnMut(&str),
) -> Result<(), String> {
    run_within(DEADLINE, line, place, noted, heard).await
}

async fn run_within(
    deadline: Duration,
    line: &str,
    place: &Place,
    noted: impl FnOnce(&Process) -> io::Result<()>,
    mut heard: impl FnMut(&str),
) -> Result<(), String> {
    let attended = Box::pin(attend(line, place, noted, &mut heard));
    tokio::time::timeout(deadline, attended).await.unwrap_or_else(|_| Err(late(deadline)))
}

fn late(deadline: Duration) -> String {
    format!("did not end within {} min", deadline.as_secs() / 60)
}

async fn attend(
    line: &str,
    place: &Place,
    noted: impl FnOnce(&Process) -> io::Result<()>,
    heard: &mut impl FnMut(&str),
) -> Result<(), String> {
    let started = |error: io::Error| format!("cannot be started: {error}");
    place.clear();
    let printed = Output::create(&place.output).map_err(started)?;
    let mut output = Output::follow(&place.output).map_err(started)?;
    let (go, gate) = io::pipe().map(|(gate, go)| (go, gate)).map_err(started)?;
    let mut process = Command::new("/bin/sh");
    process
        .args(["-c", AROUND, "sh", line])
        .arg(&place.status)
        .current_dir("/")
        .env("PATH", SEARCH_PATH)
        .env("HOME", "/root")
        .stdin(gate)
        .stdout(printed.try_clone().map_err(started)?)
        .stderr(Stdio::from(printed))
        .process_group(0)
        .kill_on_drop(true);
    let mut child = process.spawn().map_err(started)?;
    drop(process);
    // Ends before `child` does, so that the group's number is still its own.
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let known = child.id().ok_or_else(|| io::ErrorKind::NotFound.into()).and_then(Process::of);
    known.and_then(|process| noted(&process)).map_err(started)?;
    { go }.write_all(b"go\n").map_err(started)?;
    let status = listen(child.wait(), &mut output, heard).await.map_err(|error| error.to_string())?;
    group.0 = None;
    if status.success() { Ok(()) } else { Err(format!("ended with {status}")) }
}

/// Goes on with a command that an agent before this one started. Its output is heard from the beginning.
///
/// # Errors
/// How it ended.
pub(super) async fn go_on(process: &Process, place: &Place, mut heard: impl FnMut(&str)) -> Result<(), String> {
    let left = DEADLINE.saturating_sub(process.age());
    let mut output =
        Output::follow(&place.output).map_err(|error| format!("left no output that can be read: {error}"))?;
    let ended = tokio::time::timeout(left, listen(process.ended(), &mut output, &mut heard)).await;
    if ended.is_err() {
        process.end();
        return Err(late(DEADLINE));
    }
    match files::line(&place.status).as_deref() {
        Some("0") => Ok(()),
        Some(status) => Err(format!("ended with exit status: {status}")),
        None => Err("was ended while the agent was restarted".to_owned()),
    }
}

/// Hears what comes until `ended`, and what is there then. A command may leave something running that goes on printing: what counts is its own end.
async fn listen<T>(ended: impl Future<Output = T>, output: &mut Output, heard: &mut impl FnMut(&str)) -> T {
    let mut masker = Masker::default();
    let mut ended = pin!(ended);
    let how = loop {
        tokio::select! {
            biased;
            how = &mut ended => break how,
            Some(line) = output.next() => heard(&plain(&line, &mut masker)),
        }
    };
    for line in output.rest() {
        heard(&plain(&line, &mut masker));
    }
    how
}

/// A command with all that it started. Dropped while the command runs, it ends them: a shell that is killed leaves its children behind, and
/// a kubeadm that goes on after its step was reported as failed would be one nobody watches.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0
            && let Err(error) = kill_process_group(group, Signal::KILL)
        {
            warn!("cannot end what a command left: {error}");
        }
    }
}

/// A line as it may be reported: masked, of bounded length, without what steers a terminal.
pub(super) fn plain(line: &str, masker: &mut Masker) -> String {
    masker.mask(&without_colours(line)).chars().take(LONGEST_LINE).filter(|c| !c.is_control() || *c == '\t').collect()
}

/// A line without the sequences by which programs colour a terminal.
fn without_colours(line: &str) -> String {
    let mut rest = line;
    let mut plain = String::with_capacity(line.len());
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest.strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest);
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn output(line: &str) -> (Vec<String>, Result<(), String>) {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path(), "metal/m0");
        let mut lines = Vec::new();
        let result = run(line, &place, |_| Ok(()), |line| lines.push(line.to_owned())).await;
        (lines, result)
    }

    /// The process of a command that goes on after its agent was killed: nothing of that one is dropped.
    async fn abandoned(line: &str, place: &Place) -> Process {
        let (told, process) = tokio::sync::oneshot::channel();
        let note = |process: &Process| told.send(process.clone()).map_err(|_| io::ErrorKind::Other.into());
        let mut running = Box::pin(run(line, place, note, |_| {}));
        let process = tokio::select! {
            ended = &mut running => panic!("{ended:?}"),
            process = process => process.unwrap(),
        };
        std::mem::forget(running);
        process
    }

    #[tokio::test]
    async fn a_command_whose_agent_was_killed_is_heard_and_judged_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let go = folder.path().join("go");
        std::fs::create_dir(folder.path().join("late")).unwrap();
        for (name, end, expected) in [
            ("a", "exit 0", Ok(())),
            ("b", "exit 3", Err("ended with exit status: 3".to_owned())),
            ("late", "kill -KILL $PPID; exit 0", Err("was ended while the agent was restarted".to_owned())),
        ] {
            let place = Place::new(folder.path(), name);
            let line = format!("echo before; until [ -e {} ]; do sleep 0.02; done; echo after; {end}", go.display());
            let process = abandoned(&line, &place).await;
            let mut lines = Vec::new();
            let result = go_on(&process, &place, |line| {
                // Heard while it runs.
                if line == "before" {
                    std::fs::write(&go, "").unwrap();
                }
                lines.push(line.to_owned());
            });
            let result = tokio::time::timeout(Duration::from_secs(20), result).await.unwrap();
            assert_eq!((lines, result), (vec!["before".to_owned(), "after".to_owned()], expected.clone()), "{name}");
            std::fs::remove_file(&go).unwrap();
            // And by one that comes after it has ended.
            let mut lines = Vec::new();
            assert_eq!(go_on(&process, &place, |line| lines.push(line.to_owned())).await, expected, "{name}");
            assert_eq!(lines, ["before", "after"], "{name}");
        }
    }

    #[tokio::test]
    async fn nothing_runs_that_the_journal_does_not_know_of() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path(), "metal/m0");
        let ran = folder.path().join("ran");
        let line = format!("touch {}", ran.display());
        let result = run(&line, &place, |_| Err(io::Error::other("disk full")), |_| {}).await;
        assert_eq!(result.unwrap_err(), "cannot be started: disk full");
        assert!(!ran.exists());
    }

    #[tokio::test]
    async fn a_command_is_heard_and_judged_by_its_end() {
        let (lines, result) = output("echo one; echo two >&2; exit 3").await;
        let mut sorted = lines.clone();
        sorted.sort();
        assert_eq!(sorted, ["one", "two"]);
        assert_eq!(result.unwrap_err(), "ended with exit status: 3");
        let (lines, result) = output("'echo' 'a  b'").await;
        assert!(result.is_ok());
        assert_eq!(lines, ["a  b"]);
        let (_, result) = output("/no/such").await;
        assert!(result.unwrap_err().starts_with("ended with exit status: 127"));
    }

    #[tokio::test]
    async fn what_a_command_leaves_running_does_not_hold_it_up() {
        let started = std::time::Instant::now();
        let (lines, result) = output("sleep 20 & echo done").await;
        assert!(result.is_ok());
        assert_eq!(lines, ["done"]);
        assert!(started.elapsed().as_secs() < 5);
    }

    #[tokio::test]
    async fn what_goes_on_printing_does_not_hold_it_up() {
        let started = std::time::Instant::now();
        let chatty = "(for i in $(seq 100); do echo $i; sleep 0.1; done) & echo done";
        let (_, result) = output(chatty).await;
        assert!(result.is_ok());
        assert!(started.elapsed().as_secs() < 5);
    }

    #[tokio::test]
    async fn a_late_command_ends_with_all_it_started() {
        let mut started = String::new();
        let command = "sleep 300 & echo $!; wait";
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path(), "metal/m0");
        let heard = |line: &str| started = line.to_owned();
        let result = run_within(Duration::from_secs(1), command, &place, |_| Ok(()), heard).await;
        assert!(result.unwrap_err().starts_with("did not end"));
        // Gone, or without a command line while nobody has asked how it ended.
        let gone = || std::fs::read(format!("/proc/{started}/cmdline")).map_or(true, |words| words.is_empty());
        assert!(!started.is_empty());
        for _ in 0..100 {
            if gone() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("process {started} is still there");
    }

    #[tokio::test]
    async fn an_endless_line_is_cut_and_the_next_one_is_heard() {
        let (lines, result) = output("head -c 300000 /dev/zero | tr '\\0' x; echo; echo next").await;
        assert!(result.is_ok());
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[1], "next");
    }
}
