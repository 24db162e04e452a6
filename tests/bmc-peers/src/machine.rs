//! An emulated server with a power switch: one QEMU with BIOS firmware, a disk, a CD drive and a network card, each of
//! which has its own word to print when it is booted from. What was booted is read from the serial port.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use bessemer_rack::QEMU;
use tempfile::TempDir;

use crate::boot_log::BootLog;
use crate::daemon::bound_to_us;
use crate::payload::{boot_program, cd_image, disk_image};

/// What a server boots from, and the word that what is there prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boot {
    /// Its disk.
    Disk,
    /// The CD in its drive.
    Cd,
    /// The network: the emulator's own DHCP and TFTP, and iPXE on the network card.
    Pxe,
}

impl Boot {
    pub(crate) const ALL: [Self; 3] = [Self::Disk, Self::Cd, Self::Pxe];

    /// What the program that is booted from there prints after `BOOTED`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Cd => "cd",
            Self::Pxe => "pxe",
        }
    }

    /// The emulator's letter for it.
    fn letter(self) -> char {
        match self {
            Self::Disk => 'c',
            Self::Cd => 'd',
            Self::Pxe => 'n',
        }
    }
}

/// A server. Clones are the same server; it ends with the last of them.
#[derive(Debug, Clone)]
pub struct Machine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dir: TempDir,
    state: Mutex<State>,
    log: BootLog,
}

#[derive(Debug)]
struct State {
    boot: Boot,
    cd: Option<PathBuf>,
    run: Option<Child>,
    /// What was done to it, for a test that failed.
    story: Vec<String>,
}

impl Machine {
    /// A server that is off, with a bootable disk, a network to boot from, and no CD.
    ///
    /// # Errors
    /// When its files cannot be made.
    pub fn new() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        fs::write(dir.path().join("disk.raw"), disk_image(Boot::Disk.word()))?;
        let tftp = dir.path().join("tftp");
        fs::create_dir(&tftp)?;
        fs::write(tftp.join("boot.0"), boot_program(Boot::Pxe.word()))?;
        let log = BootLog::listen(&dir.path().join("serial.sock"))?;
        let state = State { boot: Boot::Disk, cd: None, run: None, story: Vec::new() };
        Ok(Self(Arc::new(Inner { dir, state: Mutex::new(state), log })))
    }

    /// An image of a CD that it can boot, to be inserted.
    #[must_use]
    pub fn cd() -> Vec<u8> {
        cd_image(Boot::Cd.word())
    }

    /// Whether it runs.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.with(|state, _| state.run.is_some())
    }

    /// Switches it on, if it is off.
    ///
    /// # Errors
    /// When the emulator cannot be started.
    pub fn switch_on(&self) -> Result<()> {
        self.with(|state, dir| match state.run {
            Some(_) => Ok(()),
            None => state.start(dir),
        })
    }

    /// Cuts its power, if it is on.
    pub fn switch_off(&self) {
        self.with(|state, _| state.stop());
    }

    /// Starts it anew, if it is on.
    ///
    /// # Errors
    /// When the emulator cannot be started.
    pub fn reset(&self) -> Result<()> {
        self.with(|state, dir| {
            if state.run.is_none() {
                return Ok(());
            }
            state.stop();
            state.start(dir)
        })
    }

    /// Where its firmware looks from the next start on; it looks nowhere else.
    pub fn boot_from(&self, boot: Boot) {
        self.with(|state, _| {
            state.boot = boot;
            state.story.push(format!("boots from {}", boot.word()));
        });
    }

    /// Where its firmware will look.
    #[must_use]
    pub fn boots_from(&self) -> Boot {
        self.with(|state, _| state.boot)
    }

    /// What is in its drive from the next start on.
    pub fn insert(&self, cd: Option<&Path>) {
        self.with(|state, _| {
            state.cd = cd.map(Path::to_owned);
            state.story.push(if cd.is_some() { "cd in" } else { "cd out" }.to_owned());
        });
    }

    /// How often it has booted so far.
    #[must_use]
    pub fn boots(&self) -> usize {
        self.0.log.boots()
    }

    /// Waits until it has booted more often than `before`, and says from what.
    ///
    /// # Errors
    /// When it has not in a minute and a half, with what was done to it.
    pub async fn next_boot(&self, before: usize) -> Result<Boot> {
        let booted = self.0.log.next(before).await;
        booted.with_context(|| self.with(|state, _| state.story.join(", ")))
    }

    fn with<T>(&self, act: impl FnOnce(&mut State, &Path) -> T) -> T {
        act(&mut self.0.state.lock().unwrap_or_else(PoisonError::into_inner), self.0.dir.path())
    }
}

impl State {
    fn start(&mut self, dir: &Path) -> Result<()> {
        let file = |name: &str| dir.join(name).display().to_string();
        let mut command = bound_to_us(QEMU);
        command.args("-machine pc -accel tcg -m 32 -nodefaults -no-user-config -display none".split(' '));
        command.args(["-chardev", &format!("socket,id=serial,path={}", file("serial.sock"))]);
        command.args(["-serial", "chardev:serial"]);
        command.args(["-drive", &format!("if=none,id=disk,format=raw,file={}", file("disk.raw"))]);
        command.args(["-device", "ide-hd,drive=disk"]);
        if let Some(cd) = &self.cd {
            command.args(["-drive", &format!("if=none,id=cd,format=raw,media=cdrom,file={}", cd.display())]);
            command.args(["-device", "ide-cd,drive=cd"]);
        }
        command.args(["-netdev", &format!("user,id=net,restrict=on,bootfile=boot.0,tftp={}", file("tftp"))]);
        command.args(["-device", "e1000,netdev=net"]);
        command.args(["-boot", &format!("order={},strict=on", self.boot.letter())]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
        let run = command.spawn().with_context(|| format!("cannot run {QEMU}: install qemu-system-x86"))?;
        self.run = Some(run);
        self.story.push("on".to_owned());
        Ok(())
    }

    fn stop(&mut self) {
        if let Some(mut run) = self.run.take() {
            // one that has ended by itself needs no ending
            run.kill().ok();
            run.wait().ok();
            self.story.push("off".to_owned());
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_boots_what_it_is_told_to() {
        if let Some(why) = crate::missing_program(&[QEMU]) {
            println!("SKIP {why}");
            return;
        }
        let machine = Machine::new().unwrap();
        let cd = machine.0.dir.path().join("cd.iso");
        fs::write(&cd, Machine::cd()).unwrap();
        machine.insert(Some(&cd));
        for (count, boot) in [Boot::Cd, Boot::Disk, Boot::Pxe].into_iter().enumerate() {
            machine.boot_from(boot);
            machine.switch_on().unwrap();
            assert_eq!(machine.next_boot(count).await.unwrap(), boot);
            machine.switch_off();
        }
        assert!(!machine.is_on());
    }
}
