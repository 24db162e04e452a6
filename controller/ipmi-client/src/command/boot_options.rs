//! System boot options (§28.12, §28.13): the parameters that choose the next boot.

use super::{CHASSIS, Command};
use crate::Malformed;
use crate::bytes::Reader;

const SET: u8 = 0x08;
const GET: u8 = 0x09;
/// Parameter 3: when the BMC forgets the boot flags.
const VALID_BIT_CLEARING: u8 = 3;
/// Parameter 5: the boot flags.
const BOOT_FLAGS: u8 = 5;

const VALID: u8 = 0x80;
const PERSISTENT: u8 = 0x40;
const EFI: u8 = 0x20;

/// Boot device selector of the boot flags (table 28-14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootDevice {
    /// No override.
    None,
    /// Network.
    Pxe,
    /// Default hard drive.
    HardDrive,
    /// Default CD or DVD.
    Optical,
    /// The firmware's setup.
    Setup,
    /// A CD or DVD that the BMC itself presents, as virtual media.
    RemoteOptical,
    /// Another selector, by number.
    Other(u8),
}

impl BootDevice {
    const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Pxe => 1,
            Self::HardDrive => 2,
            Self::Optical => 5,
            Self::Setup => 6,
            Self::RemoteOptical => 8,
            Self::Other(number) => number & 0x0f,
        }
    }

    const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Pxe,
            2 => Self::HardDrive,
            5 => Self::Optical,
            6 => Self::Setup,
            8 => Self::RemoteOptical,
            number => Self::Other(number),
        }
    }
}

/// The boot flags that matter here; the others are written as zero, "as configured".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootFlags {
    /// Whether the flags are to be heeded at all.
    pub valid: bool,
    /// For every boot to come, rather than the next.
    pub persistent: bool,
    /// For a UEFI boot, rather than a legacy one.
    pub efi: bool,
    /// What to boot from.
    pub device: BootDevice,
}

/// Set System Boot Options, boot flags: all bits in one write, since two writes overwrite one another.
#[derive(Clone, Copy, Debug)]
pub struct SetBootFlags(pub BootFlags);

impl Command for SetBootFlags {
    type Answer = ();
    const NAME: &'static str = "set system boot options (boot flags)";
    const NETWORK_FUNCTION: u8 = CHASSIS;
    const NUMBER: u8 = SET;

    fn data(&self) -> Vec<u8> {
        let flags = self.0;
        let bit = |set, bit| if set { bit } else { 0 };
        let first = bit(flags.valid, VALID) | bit(flags.persistent, PERSISTENT) | bit(flags.efi, EFI);
        vec![BOOT_FLAGS, first, flags.device.number() << 2, 0, 0, 0]
    }

    fn parse(_: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }
}

/// Get System Boot Options, boot flags.
#[derive(Clone, Copy, Debug)]
pub struct GetBootFlags;

/// The boot flags as the BMC reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootFlagsReport {
    /// The flags.
    pub flags: BootFlags,
    /// Whether the BMC marks the whole parameter as invalid or locked.
    pub parameter_invalid: bool,
}

impl Command for GetBootFlags {
    type Answer = BootFlagsReport;
    const NAME: &'static str = "get system boot options (boot flags)";
    const NETWORK_FUNCTION: u8 = CHASSIS;
    const NUMBER: u8 = GET;

    fn data(&self) -> Vec<u8> {
        vec![BOOT_FLAGS, 0, 0]
    }

    fn parse(data: &[u8]) -> Result<BootFlagsReport, Malformed> {
        let mut reader = Reader::new("get system boot options response", data);
        let [_version, parameter, first, second] = reader.array()?;
        if parameter & 0x7f != BOOT_FLAGS {
            return reader.fail("is about another parameter");
        }
        Ok(BootFlagsReport {
            flags: BootFlags {
                valid: first & VALID != 0,
                persistent: first & PERSISTENT != 0,
                efi: first & EFI != 0,
                device: BootDevice::from_number((second >> 2) & 0x0f),
            },
            parameter_invalid: parameter & 0x80 != 0,
        })
    }
}

/// Set System Boot Options, set in progress (parameter 0): brackets the other writes where BMCs insist on it. Optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetInProgress {
    /// Writes follow; refused with `0x81` while another console is writing.
    Begin,
    /// All is written.
    Complete,
}

impl Command for SetInProgress {
    type Answer = ();
    const NAME: &'static str = "set system boot options (set in progress)";
    const NETWORK_FUNCTION: u8 = CHASSIS;
    const NUMBER: u8 = SET;

    fn data(&self) -> Vec<u8> {
        const PARAMETER: u8 = 0;
        vec![PARAMETER, u8::from(*self == Self::Begin)]
    }

    fn parse(_: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }
}

/// Set System Boot Options, boot info acknowledge (parameter 4): marks the options as not yet seen by anyone, so that
/// firmware which handled earlier ones looks again. Optional.
#[derive(Clone, Copy, Debug)]
pub struct AcknowledgeBootInfo;

impl Command for AcknowledgeBootInfo {
    type Answer = ();
    const NAME: &'static str = "set system boot options (boot info acknowledge)";
    const NETWORK_FUNCTION: u8 = CHASSIS;
    const NUMBER: u8 = SET;

    fn data(&self) -> Vec<u8> {
        const PARAMETER: u8 = 4;
        const FIRMWARE: u8 = 0x01;
        // Write mask, then the bit that firmware clears when it takes note.
        vec![PARAMETER, FIRMWARE, FIRMWARE]
    }

    fn parse(_: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }
}

/// Set System Boot Options, valid bit clearing: keep the boot flags until a boot uses them. Without it a BMC forgets
/// them 60 s after they were written (§28.12, parameter 3, bit 3). Many BMCs do not know the parameter.
#[derive(Clone, Copy, Debug)]
pub struct KeepBootFlagsValid;

impl Command for KeepBootFlagsValid {
    type Answer = ();
    const NAME: &'static str = "set system boot options (valid bit clearing)";
    const NETWORK_FUNCTION: u8 = CHASSIS;
    const NUMBER: u8 = SET;

    fn data(&self) -> Vec<u8> {
        const NOT_ON_TIMEOUT: u8 = 0x08;
        vec![VALID_BIT_CLEARING, NOT_ON_TIMEOUT]
    }

    fn parse(_: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_as_the_specification_numbers_them() {
        for (valid, persistent, efi, device, bytes) in [
            (true, false, true, BootDevice::Pxe, [0xa0, 0x04]),
            (true, true, true, BootDevice::HardDrive, [0xe0, 0x08]),
            (true, false, false, BootDevice::Pxe, [0x80, 0x04]),
            (false, false, false, BootDevice::None, [0x00, 0x00]),
        ] {
            let flags = BootFlags { valid, persistent, efi, device };
            assert_eq!(SetBootFlags(flags).data(), [BOOT_FLAGS, bytes[0], bytes[1], 0, 0, 0]);
            let report = GetBootFlags::parse(&[1, BOOT_FLAGS, bytes[0], bytes[1], 0, 0, 0]).unwrap();
            assert_eq!(report, BootFlagsReport { flags, parameter_invalid: false });
        }
        assert!(GetBootFlags::parse(&[1, 0x85, 0, 0]).unwrap().parameter_invalid);
        assert!(GetBootFlags::parse(&[1, 4, 0, 0]).is_err());
        assert!(GetBootFlags::parse(&[1, 5, 0]).is_err());
    }
}
