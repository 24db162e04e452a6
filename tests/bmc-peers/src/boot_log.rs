//! What a server booted, as the programs of `payload` tell it on the serial port.

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

/// Listens on a socket that the emulator connects its serial port to.
#[derive(Debug)]
pub(crate) struct BootLog {
    booted: watch::Receiver<Vec<Boot>>,
    reading: JoinHandle<()>,
}

impl BootLog {
    pub(crate) fn listen(socket: &Path) -> Result<Self> {
        let serial = UnixListener::bind(socket)?;
        let (told, booted) = watch::channel(Vec::new());
        Ok(Self { booted, reading: tokio::spawn(read(serial, told)) })
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
}

impl Drop for BootLog {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// Each run of the emulator connects once.
async fn read(serial: UnixListener, told: watch::Sender<Vec<Boot>>) {
    while let Ok((stream, _)) = serial.accept().await {
        let mut lines = BufReader::new(stream).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let word = line.split_once("BOOTED ").map(|(_, word)| word.trim());
            if let Some(boot) = Boot::ALL.into_iter().find(|boot| Some(boot.word()) == word) {
                told.send_modify(|booted| booted.push(boot));
            }
        }
    }
}
