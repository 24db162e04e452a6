//! What a server booted, as the programs of `payload` tell it on the serial port, and whatever else is said there.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::machine::Boot;

/// Under emulation a BIOS is through in a second and iPXE in six; a machine busy with compilers takes longer.
const BOOTS: Duration = Duration::from_secs(90);

/// The last lines, more than a kernel says until somebody who waits for one of them has looked.
const KEPT_LINES: usize = 2000;

/// Listens on a socket that the emulator connects its serial port to.
#[derive(Debug)]
pub(crate) struct BootLog {
    booted: watch::Receiver<Vec<Boot>>,
    said: watch::Receiver<VecDeque<String>>,
    reading: JoinHandle<()>,
}

impl BootLog {
    pub(crate) fn listen(socket: &Path) -> Result<Self> {
        let serial = UnixListener::bind(socket)?;
        let (told, booted) = watch::channel(Vec::new());
        let (heard, said) = watch::channel(VecDeque::new());
        Ok(Self { booted, said, reading: tokio::spawn(read(serial, told, heard)) })
    }

    /// How many boots it has seen.
    pub(crate) fn boots(&self) -> usize {
        self.booted.borrow().len()
    }

    /// Waits for one more than the `before` that were seen.
    pub(crate) async fn next(&self, before: usize) -> Result<Boot> {
        let mut booted = self.booted.clone();
        let more = timeout(BOOTS, booted.wait_for(|booted| booted.len() > before)).await;
        match more {
            Ok(booted) => booted?.get(before).copied().context("the list of boots shrank"),
            Err(_) => bail!("nothing booted in {BOOTS:?}"),
        }
    }

    /// Waits for a line with `words` in it, and gives it whole.
    pub(crate) async fn line(&self, words: &str) -> Result<String> {
        let mut said = self.said.clone();
        let with = |said: &VecDeque<String>| said.iter().find(|line| line.contains(words)).cloned();
        match timeout(BOOTS, said.wait_for(|said| with(said).is_some())).await {
            Ok(said) => with(&*said?).context("the line is gone"),
            Err(_) => {
                let said = self.said.borrow();
                let last: Vec<&str> = said.iter().rev().take(40).rev().map(String::as_str).collect();
                bail!("no line with {words:?} in {BOOTS:?}, but at last:\n{}", last.join("\n"))
            }
        }
    }
}

impl Drop for BootLog {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// Each run of the emulator connects once.
async fn read(serial: UnixListener, told: watch::Sender<Vec<Boot>>, heard: watch::Sender<VecDeque<String>>) {
    while let Ok((stream, _)) = serial.accept().await {
        let mut lines = BufReader::new(stream).split(b'\n');
        while let Ok(Some(line)) = lines.next_segment().await {
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            let word = line.split_once("BOOTED ").map(|(_, word)| word.trim());
            if let Some(boot) = Boot::ALL.into_iter().find(|boot| Some(boot.word()) == word) {
                told.send_modify(|booted| booted.push(boot));
            }
            heard.send_modify(|said| {
                if said.len() == KEPT_LINES {
                    said.pop_front();
                }
                said.push_back(line);
            });
        }
    }
}
