//! What a command prints, line by line, out of the file that it prints into: a file outlives the agent, where a pipe would end the command with it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{FallocateFlags, fallocate};
use tokio::io::unix::AsyncFd;
use tracing::warn;

use crate::ioctl;

/// How much is kept of what has been read, for an agent that comes after this one: the file is in memory.
const KEPT: u64 = 1 << 20;

/// Longest line that is read, in bytes: a command that never ends its line must not fill the memory. The rest of it is dropped.
const LONGEST_LINE: usize = 64 << 10;

/// How much is read at once.
const CHUNK: usize = 16 << 10;

/// How often the file is looked at where the kernel gives no notices of it.
const PERIOD: Duration = Duration::from_millis(200);

/// A file that grows.
#[derive(Debug)]
pub(super) struct Output {
    file: File,
    notices: Option<AsyncFd<OwnedFd>>,
    /// How far it has been read.
    read: u64,
    /// How far it has been given back to the system.
    freed: u64,
    chunk: Vec<u8>,
    /// How far the chunk has been made into lines.
    at: usize,
    line: Vec<u8>,
}

impl Output {
    /// A new file to print into, in the place of an old one.
    pub(super) fn create(path: &Path) -> io::Result<File> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)
    }

    /// From the beginning, or what is left of it.
    pub(super) fn follow(path: &Path) -> io::Result<Self> {
        let notices = notices(path).inspect_err(|error| warn!("{}: no notices: {error}", path.display())).ok();
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let read = file.metadata()?.len().saturating_sub(KEPT);
        Ok(Self { file, notices, read, freed: 0, chunk: Vec::new(), at: 0, line: Vec::new() })
    }

    /// The next line, for as long as it takes; none once the file cannot be read. Whatever is dropped while it waits, nothing is lost.
    pub(super) async fn next(&mut self) -> Option<String> {
        loop {
            match self.ready() {
                Ok(Some(line)) => return Some(line),
                Ok(None) => {}
                Err(error) => {
                    warn!("the output of a command cannot be read any more: {error}");
                    return None;
                }
            }
            if self.read_on() == 0 {
                self.grown().await;
            } else {
                // One that prints without end is not all there is to do.
                tokio::task::yield_now().await;
            }
        }
    }

    /// What is there after the command has ended, with a last line that was not ended.
    pub(super) fn rest(&mut self) -> Vec<String> {
        // What it left running may go on printing.
        let enough = self.file.metadata().map_or(self.read, |found| found.len());
        let mut lines = Vec::new();
        loop {
            while let Ok(Some(line)) = self.ready() {
                lines.push(line);
            }
            if self.read >= enough || self.read_on() == 0 {
                break;
            }
        }
        if !self.line.is_empty() {
            lines.push(text(&std::mem::take(&mut self.line)));
        }
        lines
    }

    /// A whole line of what has been read.
    fn ready(&mut self) -> io::Result<Option<String>> {
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == b'\n');
        let piece = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let room = LONGEST_LINE.saturating_sub(self.line.len());
        self.line.extend(piece.iter().take(room));
        self.at += piece.len() + usize::from(end.is_some());
        Ok(end.map(|_| text(&std::mem::take(&mut self.line))))
    }

    /// Reads a piece; gives its length.
    fn read_on(&mut self) -> usize {
        self.chunk.resize(CHUNK, 0);
        let length = self.file.read_at(&mut self.chunk, self.read).unwrap_or(0);
        self.chunk.truncate(length);
        self.at = 0;
        self.read += length as u64;
        let surplus = self.read.saturating_sub(KEPT) / 4096 * 4096;
        if surplus >= self.freed + KEPT {
            // Where that cannot be done it stays, as large as it is.
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(&self.file, hole, self.freed, surplus - self.freed);
            self.freed = surplus;
        }
        length
    }

    async fn grown(&self) {
        let Some(notices) = &self.notices else { return tokio::time::sleep(PERIOD).await };
        if let Ok(mut ready) = notices.readable().await {
            let mut events = [0; 1024];
            while rustix::io::read(notices, &mut events).is_ok() {}
            ready.clear_ready();
        }
    }
}

fn notices(path: &Path) -> io::Result<AsyncFd<OwnedFd>> {
    let notices = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    inotify::add_watch(&notices, path, WatchFlags::MODIFY)?;
    ioctl::awaited(notices)
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[tokio::test]
    async fn lines_are_heard_as_they_come_and_the_unended_one_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        let mut file = Output::create(&path).unwrap();
        let mut output = Output::follow(&path).unwrap();
        let writer = tokio::spawn(async move {
            for piece in ["one\ntw", "o\n", "three"] {
                file.write_all(piece.as_bytes()).unwrap();
                tokio::task::yield_now().await;
            }
        });
        let heard = tokio::time::timeout(Duration::from_secs(5), async {
            (output.next().await.unwrap(), output.next().await.unwrap())
        });
        assert_eq!(heard.await.unwrap(), ("one".to_owned(), "two".to_owned()));
        writer.await.unwrap();
        assert_eq!(output.rest(), ["three"]);
        assert_eq!(Output::follow(&path).unwrap().rest(), ["one", "two", "three"], "another agent begins anew");
    }

    #[tokio::test]
    async fn what_is_printed_without_end_takes_little_and_its_end_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        let mut file = Output::create(&path).unwrap();
        let mut output = Output::follow(&path).unwrap();
        for number in 0..16 * 1024 {
            file.write_all(format!("{number:01023}\n").as_bytes()).unwrap();
            assert!(output.next().await.unwrap().ends_with(&number.to_string()));
        }
        let found = file.metadata().unwrap();
        assert_eq!(found.len(), 16 << 20);
        assert!(found.blocks() * 512 <= 3 * KEPT, "{} bytes are still there", found.blocks() * 512);
        let left = Output::follow(&path).unwrap().rest();
        assert_eq!(left.len(), 1024);
        assert!(left.iter().all(|line| line.len() == 1023), "nothing of it is a hole");
    }
}
