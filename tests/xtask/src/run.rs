//! Running other programs: their output line by line, and an end to them and all they started when time is up.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bessemer_rack::Process;
use rustix::process::Signal;

use crate::deadline;

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) success: bool,
    /// Everything it wrote, both streams in the order written.
    pub(crate) output: String,
}

/// The end of a program that failed is what tells why.
const TAIL_LINES: usize = 30;

/// How long a closed stream's program may still run.
const ENDS: Duration = Duration::from_secs(30);

/// Runs `command` to its end, giving each line as it comes.
pub(crate) fn run(command: Command, until: Instant, line_seen: impl FnMut(&str)) -> Result<Finished> {
    run_with(command, Stdio::null(), until, line_seen)
}

fn run_with(mut command: Command, input: Stdio, until: Instant, mut line_seen: impl FnMut(&str)) -> Result<Finished> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (reader, writer) = std::io::pipe()?;
    command.stdin(input).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("cannot run {name}"))?;
    // holds the pipe's other end
    drop(command);
    let (lines, received) = channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
            // the receiver is gone when time is up
            if lines.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    let mut output = String::new();
    let overdue = loop {
        match received.recv_timeout(deadline::left(until)) {
            Ok(line) => {
                line_seen(&line);
                output += &line;
                output.push('\n');
            }
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => break true,
        }
    };
    let process = Process::of(child.id());
    if overdue || process.is_some_and(|process| !process.wait_gone(ENDS)) {
        let all = process.into_iter().chain(process.map(Process::descendants).unwrap_or_default());
        all.for_each(|process| process.signal(Signal::KILL));
        child.wait()?;
        bail!("{name} was not done in time; its last lines:\n{}", tail(&output));
    }
    Ok(Finished { success: child.wait()?.success(), output })
}

/// Runs `command` and errors unless it succeeds, with the end of what it said.
pub(crate) fn must(command: Command, until: Instant, line_seen: impl FnMut(&str)) -> Result<String> {
    let shown = shown(&command);
    succeeded(run(command, until, line_seen)?, &shown)
}

/// The same for a command that reads `input`.
pub(crate) fn must_fed(command: Command, input: &str, until: Instant) -> Result<String> {
    let shown = shown(&command);
    let (reader, mut writer) = std::io::pipe()?;
    let bytes = input.as_bytes().to_vec();
    // a pipe holds less than a manifest may have; a command that reads no more says why itself
    std::thread::spawn(move || writer.write_all(&bytes));
    succeeded(run_with(command, reader.into(), until, |_| {})?, &shown)
}

fn shown(command: &Command) -> String {
    format!("{command:?}").replace('"', "")
}

fn succeeded(finished: Finished, shown: &str) -> Result<String> {
    if !finished.success {
        bail!("{shown} failed; its last lines:\n{}", tail(&finished.output));
    }
    Ok(finished.output)
}

pub(crate) fn tail(text: &str) -> String {
    bessemer_rack::tail(text, TAIL_LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_takes_too_long_is_ended_with_its_children() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; sleep 600 & wait"]);
        let start = Instant::now();
        let error = run(command, deadline::after(Duration::from_millis(300)), |_| {}).unwrap_err().to_string();
        assert!(error.contains("not done in time") && error.contains("begun"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn what_is_fed_is_read_however_much_it_is() {
        let text = "line\n".repeat(50_000);
        let read = must_fed(Command::new("cat"), &text, deadline::after(Duration::from_secs(20))).unwrap();
        assert_eq!(read, text);
        // one that does not read it is not waited for
        must_fed(Command::new("true"), &text, deadline::after(Duration::from_secs(20))).unwrap();
    }

    #[test]
    fn both_streams_are_kept_in_order() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; exit 3"]);
        let mut seen = Vec::new();
        let until = deadline::after(Duration::from_secs(20));
        let finished = run(command, until, |line| seen.push(line.to_owned())).unwrap();
        assert!(!finished.success);
        assert_eq!(seen, ["one", "two"]);
        assert_eq!(finished.output, "one\ntwo\n");
    }
}
