//! Running one command of a cloud-config: its output line by line, its end, and a deadline.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use crate::mask::Masker;

/// kubeadm takes minutes on slow machines, and nothing else should take as long.
pub(super) const DEADLINE: Duration = Duration::from_secs(20 * 60);

/// Longest line that is kept, in characters.
const LONGEST_LINE: usize = 500;

/// Longest line that is read, in bytes: a command that never ends its line must not fill the memory. The rest of it is dropped.
const LONGEST_READ: u64 = 64 * 1024;

/// For the last lines after a command's end, which may still be on their way; all of them together.
const GRACE: Duration = Duration::from_millis(200);

/// What systemd gives its services is too short for Kubernetes.
pub(super) const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A command that did not end well.
#[derive(Debug)]
pub(super) struct RunFailure {
    /// How it ended.
    pub(super) how: String,
}

/// Has the shell run `line` to its end. `heard` gets each line of output, masked.
pub(super) async fn run(line: &str, heard: impl FnMut(&str)) -> Result<(), RunFailure> {
    run_within(DEADLINE, line, heard).await
}

async fn run_within(deadline: Duration, line: &str, mut heard: impl FnMut(&str)) -> Result<(), RunFailure> {
    let how = match tokio::time::timeout(deadline, Box::pin(attend(line, &mut heard))).await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(how)) => how,
        Err(_) => format!("did not end within {} min", deadline.as_secs() / 60),
    };
    Err(RunFailure { how })
}

async fn attend(line: &str, heard: &mut impl FnMut(&str)) -> Result<(), String> {
    let mut process = Command::new("/bin/sh");
    process
        .arg("-c")
        .arg(line)
        .current_dir("/")
        .env("PATH", SEARCH_PATH)
        .env("HOME", "/root")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = process.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    // Ends before `child` does, so that the group's number is still its own.
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let (lines, mut output) = mpsc::channel(64);
    if let Some(stdout) = child.stdout.take() {
        tokio::spawn(forward(stdout, lines.clone()));
    }
    if let Some(stderr) = child.stderr.take() {
        tokio::spawn(forward(stderr, lines));
    }
    let mut masker = Masker::default();
    let mut listen = |line: String| {
        heard(&plain(&line, &mut masker));
    };
    // A command may leave something running that keeps its output open: what counts is its own end.
    let status = loop {
        tokio::select! {
            biased;
            Some(line) = output.recv() => listen(line),
            status = child.wait() => break status.map_err(|error| error.to_string())?,
        }
    };
    group.0 = None;
    // What it left running may go on printing for ever.
    let enough = Instant::now() + GRACE;
    while let Ok(Some(line)) = timeout_at(enough, output.recv()).await {
        listen(line);
    }
    if status.success() { Ok(()) } else { Err(format!("ended with {status}")) }
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

async fn forward(stream: impl AsyncRead + Unpin, to: mpsc::Sender<String>) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    let mut inside = false;
    while matches!((&mut reader).take(LONGEST_READ).read_until(b'\n', &mut line).await, Ok(length) if length > 0) {
        let continues = std::mem::replace(&mut inside, !line.ends_with(b"\n"));
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        if !continues && to.send(text).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn output(line: &str) -> (Vec<String>, Result<(), RunFailure>) {
        let mut lines = Vec::new();
        let result = run(line, |line| lines.push(line.to_owned())).await;
        (lines, result)
    }

    #[tokio::test]
    async fn a_command_is_heard_and_judged_by_its_end() {
        let (lines, result) = output("echo one; echo two >&2; exit 3").await;
        let mut sorted = lines.clone();
        sorted.sort();
        assert_eq!(sorted, ["one", "two"]);
        assert_eq!(result.unwrap_err().how, "ended with exit status: 3");
        let (lines, result) = output("'echo' 'a  b'").await;
        assert!(result.is_ok());
        assert_eq!(lines, ["a  b"]);
        let (_, result) = output("/no/such").await;
        assert!(result.unwrap_err().how.starts_with("ended with exit status: 127"));
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
        let result = run_within(Duration::from_secs(1), command, |line| started = line.to_owned()).await;
        assert!(result.unwrap_err().how.starts_with("did not end"));
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
