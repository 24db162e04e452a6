//! System boot options 0 to 7 (§28.12, §28.13). The override itself is the host's, so that Redfish sees it too; what IPMI
//! alone knows of it is kept here.

use std::time::Duration;

use tokio::time::Instant;

use super::message::Outcome;
use crate::host::Host;
use crate::host::boot::{BootMode, BootOverride, Persistence};

const VALID: u8 = 0x80;
const PERSISTENT: u8 = 0x40;
const EFI: u8 = 0x20;
const NOT_SUPPORTED: u8 = 0x80;
const IN_PROGRESS: u8 = 0x81;
const BAD_LENGTH: u8 = 0xc7;

/// Selectors of table 28-14 and Redfish's words for them.
const DEVICES: [(u8, &str); 9] = [
    (0, "None"),
    (1, "Pxe"),
    (2, "Hdd"),
    (4, "Diags"),
    (5, "Cd"),
    (6, "BiosSetup"),
    (8, "Cd"),
    (11, "Hdd"),
    (15, "Floppy"),
];

/// The parameters.
pub(super) struct BootOptions {
    /// How long flags hold that nobody asked to keep.
    timeout: Duration,
    in_progress: u8,
    keep: u8,
    acknowledged: u8,
    others: [Vec<u8>; 8],
    invalid: [bool; 8],
    /// Flags as they were written, what they made of the host's override, and when they are forgotten.
    written: Option<Written>,
}

struct Written {
    flags: [u8; 5],
    boot: BootOverride,
    forgotten_at: Option<Instant>,
}

impl BootOptions {
    pub(super) fn new(timeout: Duration) -> Self {
        let mut others: [Vec<u8>; 8] = Default::default();
        for (number, length) in [(1, 1), (2, 1), (6, 9), (7, 17)] {
            if let Some(parameter) = others.get_mut::<usize>(number) {
                *parameter = vec![0; length];
            }
        }
        Self { timeout, in_progress: 0, keep: 0, acknowledged: 0, others, invalid: [false; 8], written: None }
    }

    /// When flags will be forgotten next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.written.as_ref()?.forgotten_at
    }

    /// Forgets flags whose time has come.
    pub(super) fn expire(&mut self, host: &Host) {
        let due = self.deadline().is_some_and(|at| Instant::now() >= at);
        if !due {
            return;
        }
        if let Some(written) = self.written.take()
            && host.boot_override() == written.boot
        {
            host.set_boot_override(BootOverride::default());
        }
    }

    /// A chassis control came in time: the flags hold for what it does.
    pub(super) fn on_chassis_control(&mut self) {
        if let Some(written) = &mut self.written {
            written.forgotten_at = None;
        }
    }

    pub(super) fn set(&mut self, host: &Host, data: &[u8]) -> Outcome {
        let (selector, value) = data.split_first().ok_or(BAD_LENGTH)?;
        let number = selector & 0x7f;
        let place = self.invalid.get_mut(usize::from(number)).ok_or(NOT_SUPPORTED)?;
        *place = selector & 0x80 != 0;
        match (number, value) {
            // Only the mark was to be changed.
            (_, []) => {}
            (0, [1]) if self.in_progress == 1 => return Err(IN_PROGRESS),
            (0, [state]) => self.in_progress = state & 3,
            (3, [keep]) => self.keep = keep & 0x1f,
            (4, [mask, bits]) => self.acknowledged = self.acknowledged & !mask | bits & mask,
            (5, [a, b, c, d, e]) => self.write_flags(host, [*a, *b, *c, *d, *e]),
            (1 | 2 | 6 | 7, value) => {
                let kept = self.others.get_mut(usize::from(number)).ok_or(NOT_SUPPORTED)?;
                if kept.len() != value.len() {
                    return Err(BAD_LENGTH);
                }
                kept.copy_from_slice(value);
            }
            _ => return Err(BAD_LENGTH),
        }
        Ok(Vec::new())
    }

    pub(super) fn get(&self, host: &Host, data: &[u8]) -> Outcome {
        let [selector, _set, _block] = data else { return Err(BAD_LENGTH) };
        let number = selector & 0x7f;
        let invalid = *self.invalid.get(usize::from(number)).ok_or(NOT_SUPPORTED)?;
        let value = match number {
            0 => vec![self.in_progress],
            3 => vec![self.keep],
            4 => vec![0, self.acknowledged],
            5 => self.read_flags(host).to_vec(),
            other => self.others.get(usize::from(other)).cloned().ok_or(NOT_SUPPORTED)?,
        };
        Ok([&[1, number | u8::from(invalid) << 7][..], &value].concat())
    }

    fn write_flags(&mut self, host: &Host, flags: [u8; 5]) {
        const KEEP_PAST_TIMEOUT: u8 = 0x08;
        let [first, second, ..] = flags;
        let device = second >> 2 & 0x0f;
        let target = DEVICES.iter().find(|(number, _)| *number == device).map_or("VendorDefined", |(_, word)| *word);
        let enabled = match (first & VALID != 0 && device != 0, first & PERSISTENT != 0) {
            (false, _) => Persistence::Disabled,
            (true, false) => Persistence::Once,
            (true, true) => Persistence::Continuous,
        };
        let target = if enabled == Persistence::Disabled { "None" } else { target };
        let mode = if first & EFI != 0 { BootMode::Uefi } else { BootMode::Legacy };
        let boot = BootOverride::new(enabled, target, mode);
        host.set_boot_override(boot.clone());
        let counts = first & VALID != 0 && self.keep & KEEP_PAST_TIMEOUT == 0;
        let forgotten_at = counts.then(|| Instant::now() + self.timeout);
        self.written = Some(Written { flags, boot, forgotten_at });
    }

    fn read_flags(&self, host: &Host) -> [u8; 5] {
        let boot = host.boot_override();
        if let Some(written) = &self.written
            && written.boot == boot
        {
            return written.flags;
        }
        // Written by Redfish, or used up.
        let first = match boot.enabled {
            Persistence::Disabled => 0,
            Persistence::Once => VALID,
            Persistence::Continuous => VALID | PERSISTENT,
        };
        let efi = if boot.mode == BootMode::Uefi && first != 0 { EFI } else { 0 };
        let device = DEVICES.iter().find(|(_, word)| *word == boot.target).map_or(0, |(number, _)| *number);
        [first | efi, device << 2, 0, 0, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostOptions;

    #[tokio::test(start_paused = true)]
    async fn flags_are_forgotten_unless_kept_or_used() {
        for (keep, control, forgotten) in [(0, false, true), (8, false, false), (0, true, false)] {
            let host = Host::new(HostOptions::numbered(0));
            let mut options = BootOptions::new(Duration::from_secs(60));
            options.set(&host, &[3, keep]).unwrap();
            options.set(&host, &[5, 0xe0, 4, 0, 0, 0]).unwrap();
            if control {
                options.on_chassis_control();
            }
            tokio::time::advance(Duration::from_secs(59)).await;
            options.expire(&host);
            assert_eq!(options.get(&host, &[5, 0, 0]).unwrap(), [1, 5, 0xe0, 4, 0, 0, 0]);
            tokio::time::advance(Duration::from_secs(2)).await;
            options.expire(&host);
            assert_eq!(options.get(&host, &[5, 0, 0]).unwrap()[2] == 0, forgotten, "keep {keep}, control {control}");
            assert_eq!(host.boot_override().enabled == Persistence::Disabled, forgotten);
        }
    }

    #[test]
    fn what_redfish_wrote_is_read() {
        let host = Host::new(HostOptions::numbered(0));
        let mut options = BootOptions::new(Duration::MAX);
        host.set_boot_override(BootOverride::new(Persistence::Once, "Cd", BootMode::Uefi));
        assert_eq!(options.get(&host, &[5, 0, 0]).unwrap(), [1, 5, 0xa0, 0x14, 0, 0, 0]);
        assert_eq!(options.set(&host, &[0, 1]), Ok(Vec::new()));
        assert_eq!(options.set(&host, &[0, 1]), Err(IN_PROGRESS));
        assert_eq!(options.get(&host, &[9, 0, 0]), Err(NOT_SUPPORTED));
        assert_eq!(options.set(&host, &[5, 0x80]), Err(BAD_LENGTH));
    }
}
