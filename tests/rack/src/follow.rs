//! Following a file that another process appends to: a serial console, a log.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use crate::process::Process;

/// What is printed of a file that did not show what was awaited.
const TAIL_LINES: usize = 15;

/// Reads what is there. Firmware prints what is not UTF-8.
pub(crate) fn read_lossy(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last `lines` of `text`, without the control sequences that firmware prints.
#[must_use]
pub fn tail(text: &str, lines: usize) -> String {
    let all: Vec<_> = text.lines().map(printable).filter(|line| !line.is_empty()).collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
}

fn printable(line: &str) -> String {
    let mut out = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            // ECMA-48 control sequence: up to a letter or @
            '\u{1b}' => drop(chars.by_ref().skip(1).find(|&c| c.is_ascii_alphabetic() || c == '@')),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out.trim_end().to_owned()
}

/// Waits until the file at `path` holds `text`, which its `writer` puts there.
///
/// # Errors
/// When the text does not come `within` the time given, or its writer has ended; with the file's end.
pub fn wait_for_text(path: &Path, text: &str, within: Duration, writer: Option<Process>) -> Result<()> {
    let deadline = Instant::now() + within;
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    inotify::add_watch(&watch, path, WatchFlags::MODIFY).with_context(|| format!("cannot watch {}", path.display()))?;
    let mut buffer = vec![std::mem::MaybeUninit::uninit(); 4096];
    let writer_end = writer.and_then(Process::open);
    loop {
        // looked at before the file is read: what it wrote last is seen
        let ended = writer.is_some_and(|writer| !writer.is_alive());
        let seen = read_lossy(path)?;
        if seen.contains(text) {
            return Ok(());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if ended || left.is_zero() {
            let why = if ended { "its writer ended".to_owned() } else { format!("not in {} s", within.as_secs()) };
            bail!("no {text:?} in {}: {why}; its end:\n{}", path.display(), tail(&seen, TAIL_LINES));
        }
        let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        let mut fds = vec![PollFd::new(&watch, PollFlags::IN)];
        fds.extend(writer_end.iter().map(|end| PollFd::new(end, PollFlags::IN)));
        poll(&mut fds, Some(&timeout))?;
        let mut events = inotify::Reader::new(&watch, &mut buffer);
        // drained: the file is read as a whole anyway
        while events.next().is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_readable() {
        let text = "\u{1b}[2J\u{1b}[01;01H\u{1b}[=3hBdsDxe: loading\r\n\r\n>>Start PXE over IPv4.\r\n";
        assert_eq!(tail(text, 5), "BdsDxe: loading\n>>Start PXE over IPv4.");
        assert_eq!(tail(text, 1), ">>Start PXE over IPv4.");
    }
}
