//! The commands by which a disk erases itself. Emulators and loop devices do none of them but discard and zeroes, so what is built on them is
//! tested with a made-up disk behind [`Controls`]; the real layer below has not met hardware.

use std::io;
use std::ops::Range;
use std::time::Duration;

use super::medium::Medium;
use super::methods::{AtaSecurity, Capabilities, Sanitize, SecureErase};
use crate::ioctl::{self, NvmeCommand, ScsiDirection, nvme_admin, scsi};
use crate::ramdisk::nvme;

/// How far a sanitize operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SanitizeState {
    /// None was ever started.
    Never,
    /// Parts of 65536.
    Running(u16),
    Done,
    Failed,
}

/// What a disk does on command.
pub(super) trait Controls {
    /// Asks the disk; what it does not answer it cannot do.
    fn capabilities(&mut self, medium: &Medium) -> Capabilities;
    /// Starts a sanitize operation.
    fn sanitize(&mut self, medium: &Medium, action: Sanitize) -> io::Result<()>;
    /// How far the last one is.
    fn sanitize_state(&mut self, medium: &Medium) -> io::Result<SanitizeState>;
    /// Formats the namespace as it is formatted now. Returns when it is done.
    fn format(&mut self, medium: &Medium, erase: SecureErase, patience: Duration) -> io::Result<()>;
    /// Erases by the security feature set. Returns when it is done, with the password taken off again.
    fn ata_erase(&mut self, medium: &Medium, enhanced: bool, patience: Duration) -> io::Result<()>;
    /// Discards a range, securely if the disk can.
    fn discard(&mut self, medium: &Medium, range: Range<u64>) -> io::Result<()>;
    /// Makes a range read as zeroes.
    fn zero_out(&mut self, medium: &Medium, range: Range<u64>) -> io::Result<()>;
}

/// A real disk.
#[derive(Debug)]
pub(super) struct Hardware {
    /// NVMe namespace id.
    pub(super) namespace: Option<u32>,
    /// `sata` disks answer ATA commands.
    pub(super) is_ata: bool,
    pub(super) discard: bool,
    pub(super) rotational: bool,
    pub(super) alone: bool,
}

const SHORT: Duration = Duration::from_secs(30);

/// The password that is set for the time of an erasure. No secret: whoever finds a disk locked by an erasure that was cut short needs it.
const PASSWORD: &[u8] = b"bessemer";

mod ata {
    pub(super) const IDENTIFY: u8 = 0xec;
    pub(super) const SET_PASSWORD: u8 = 0xf1;
    pub(super) const UNLOCK: u8 = 0xf2;
    pub(super) const ERASE_PREPARE: u8 = 0xf3;
    pub(super) const ERASE_UNIT: u8 = 0xf4;
    pub(super) const DISABLE_PASSWORD: u8 = 0xf6;
}

impl Controls for Hardware {
    fn capabilities(&mut self, medium: &Medium) -> Capabilities {
        let nvme = self.namespace.and_then(|_| nvme::capabilities(medium.file()).ok());
        let ata = self.is_ata.then(|| security(medium).ok()).flatten();
        Capabilities { nvme, ata, discard: self.discard, rotational: self.rotational, alone: self.alone }
    }

    fn sanitize(&mut self, medium: &Medium, action: Sanitize) -> io::Result<()> {
        // One pass when it overwrites; a failed one may be left by another sanitize command.
        let dwords = [action as u32 | 1 << 3 | 1 << 4, 0];
        nvme_admin(medium.file(), NvmeCommand { opcode: 0x84, namespace: 0, dwords, timeout: SHORT }, &mut [])
    }

    fn sanitize_state(&mut self, medium: &Medium) -> io::Result<SanitizeState> {
        let mut log = [0; 512];
        // Log page 81h, the number of dwords less one above it.
        let dwords = [0x81 | 127 << 16, 0];
        let command = NvmeCommand { opcode: 0x02, namespace: u32::MAX, dwords, timeout: SHORT };
        nvme_admin(medium.file(), command, &mut log)?;
        Ok(state_of(&log))
    }

    fn format(&mut self, medium: &Medium, erase: SecureErase, patience: Duration) -> io::Result<()> {
        let namespace = self.namespace.ok_or(io::ErrorKind::Unsupported)?;
        let dwords = [format_dword(nvme::formatted_size(medium.file(), namespace)?, erase), 0];
        nvme_admin(medium.file(), NvmeCommand { opcode: 0x80, namespace, dwords, timeout: patience }, &mut [])
    }

    fn ata_erase(&mut self, medium: &Medium, enhanced: bool, patience: Duration) -> io::Result<()> {
        let before = security(medium)?;
        let minutes = u64::from(if enhanced { before.enhanced_minutes } else { before.minutes });
        // 508 minutes stand for "more than that".
        let needed = if minutes == 0 || minutes >= 508 { patience } else { Duration::from_secs(minutes * 120 + 600) };
        if before.locked {
            ata_out(medium, ata::UNLOCK, 0)?;
        } else if !before.enabled {
            ata_out(medium, ata::SET_PASSWORD, 0)?;
        }
        let erased = ata_command(medium, ata::ERASE_PREPARE, ScsiDirection::None, &mut [], SHORT)
            .and_then(|()| ata_payload(medium, ata::ERASE_UNIT, u8::from(enhanced) << 1, needed.min(patience)));
        // The erasure takes the password off; what failed must not leave a locked disk behind.
        if security(medium)?.enabled {
            ata_out(medium, ata::DISABLE_PASSWORD, 0)?;
        }
        erased
    }

    fn discard(&mut self, medium: &Medium, range: Range<u64>) -> io::Result<()> {
        if ioctl::secure_discard(medium.file(), range.clone()).is_ok() {
            return Ok(());
        }
        ioctl::discard(medium.file(), range)
    }

    fn zero_out(&mut self, medium: &Medium, range: Range<u64>) -> io::Result<()> {
        if medium.is_device() { ioctl::zero_out(medium.file(), range) } else { medium.zero(range) }
    }
}

/// Sanitize Status log page: progress, then status, whose low three bits say how the last one ended.
fn state_of(log: &[u8]) -> SanitizeState {
    let word = |at: usize| log.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map_or(0, u16::from_le_bytes);
    match word(2) & 7 {
        1 | 4 => SanitizeState::Done,
        2 => SanitizeState::Running(word(0)),
        3 => SanitizeState::Failed,
        _ => SanitizeState::Never,
    }
}

/// Command dword 10 of Format NVM: the format that FLBAS says is in use, and how to erase.
fn format_dword(flbas: u8, erase: SecureErase) -> u32 {
    let flbas = u32::from(flbas);
    flbas & 0xf | (flbas >> 4 & 1) << 4 | (erase as u32) << 9 | (flbas >> 5 & 3) << 12
}

fn security(medium: &Medium) -> io::Result<AtaSecurity> {
    let mut identify = [0; 512];
    ata_command(medium, ata::IDENTIFY, ScsiDirection::In, &mut identify, SHORT)?;
    Ok(security_of(&identify))
}

fn security_of(identify: &[u8; 512]) -> AtaSecurity {
    let word = |number: usize| {
        identify.get(number * 2..number * 2 + 2).and_then(|bytes| bytes.try_into().ok()).map_or(0, u16::from_le_bytes)
    };
    let status = word(128);
    // The upper bit says that the time has fifteen bits, not eight.
    let minutes = |word: u16| if word & 0x8000 == 0 { (word & 0xff) * 2 } else { (word & 0x7fff).saturating_mul(2) };
    AtaSecurity {
        supported: status & 1 != 0,
        enabled: status & 2 != 0,
        locked: status & 4 != 0,
        frozen: status & 8 != 0,
        enhanced: status & 0x20 != 0,
        minutes: minutes(word(89)),
        enhanced_minutes: minutes(word(90)),
    }
}

fn ata_out(medium: &Medium, command: u8, control: u8) -> io::Result<()> {
    ata_payload(medium, command, control, SHORT)
}

/// A command with the user's password: a word of control bits, then 32 bytes.
fn ata_payload(medium: &Medium, command: u8, control: u8, patience: Duration) -> io::Result<()> {
    let mut payload = [0; 512];
    if let Some(first) = payload.first_mut() {
        *first = control;
    }
    if let Some(room) = payload.get_mut(2..2 + PASSWORD.len()) {
        room.copy_from_slice(PASSWORD);
    }
    ata_command(medium, command, ScsiDirection::Out, &mut payload, patience)
}

/// ATA PASS-THROUGH (16) of SAT-4 with one block of data or none.
fn ata_command(
    medium: &Medium,
    command: u8,
    direction: ScsiDirection,
    data: &mut [u8],
    patience: Duration,
) -> io::Result<()> {
    let (protocol, transfer): (u8, u8) = match direction {
        ScsiDirection::None => (3, 0),
        ScsiDirection::In => (4, 0x0e),
        ScsiDirection::Out => (5, 0x06),
    };
    let count = u8::from(direction != ScsiDirection::None);
    let block = [0x85, protocol << 1, transfer, 0, 0, 0, count, 0, 0, 0, 0, 0, 0, 0, command, 0];
    let sense = scsi(medium.file(), &block, direction, data, patience)?;
    match sense_key(&sense) {
        0 | 1 => Ok(()),
        key => Err(io::Error::other(format!("ATA command {command:#04x} failed with sense key {key:#x}"))),
    }
}

/// In descriptor or in fixed format; 0 when there is no sense.
fn sense_key(sense: &[u8]) -> u8 {
    let at = match sense.first().map(|code| code & 0x7f) {
        Some(0x72 | 0x73) => 1,
        _ => 2,
    };
    sense.get(at).map_or(0, |byte| byte & 0xf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_bits_are_where_the_specifications_put_them() {
        let mut log = [0; 512];
        assert_eq!(state_of(&log), SanitizeState::Never);
        log[..4].copy_from_slice(&[0x00, 0x80, 0x02, 0x01]);
        assert_eq!(state_of(&log), SanitizeState::Running(0x8000));
        log[2] = 4;
        assert_eq!(state_of(&log), SanitizeState::Done);
        log[2] = 3;
        assert_eq!(state_of(&log), SanitizeState::Failed);

        assert_eq!(format_dword(0, SecureErase::UserData), 1 << 9, "never without a secure erase setting");
        assert_eq!(format_dword(0x31, SecureErase::Crypto), 1 << 12 | 2 << 9 | 1 << 4 | 1);

        let mut identify = [0; 512];
        identify[256..258].copy_from_slice(&0x0029_u16.to_le_bytes());
        identify[178..180].copy_from_slice(&0x8010_u16.to_le_bytes());
        identify[180..182].copy_from_slice(&1_u16.to_le_bytes());
        let security = security_of(&identify);
        assert!(security.supported && security.frozen && security.enhanced && !security.enabled && !security.locked);
        assert_eq!((security.minutes, security.enhanced_minutes), (32, 2));

        assert_eq!([sense_key(&[]), sense_key(&[0x72, 0x0b]), sense_key(&[0x70, 0, 5])], [0, 0xb, 5]);
    }
}
