//! What a server boots from next, and how sure the BMC lets us be of it.

use std::fmt;

/// Where firmware looks for its boot program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BootDevice {
    /// No override: firmware's own boot order.
    None,
    /// The network (PXE).
    Pxe,
    /// The default hard disk.
    Disk,
}

impl fmt::Display for BootDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no override",
            Self::Pxe => "pxe",
            Self::Disk => "disk",
        })
    }
}

/// How long a boot override holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BootLifetime {
    /// For the next boot only.
    Once,
    /// Until it is changed.
    Persistent,
}

/// The firmware interface an override is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BootFirmware {
    /// UEFI.
    Uefi,
    /// Legacy BIOS.
    Legacy,
}

/// What to boot from next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BootOverride {
    /// Boot source.
    pub device: BootDevice,
    /// For how long.
    pub lifetime: BootLifetime,
    /// For which firmware interface.
    pub firmware: BootFirmware,
}

impl BootOverride {
    /// `device`, for the next boot only, under UEFI.
    #[must_use]
    pub const fn once(device: BootDevice) -> Self {
        Self { device, lifetime: BootLifetime::Once, firmware: BootFirmware::Uefi }
    }
}

impl fmt::Display for BootOverride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lifetime = match self.lifetime {
            BootLifetime::Once => "once",
            BootLifetime::Persistent => "persistent",
        };
        let firmware = match self.firmware {
            BootFirmware::Uefi => "uefi",
            BootFirmware::Legacy => "legacy",
        };
        write!(f, "{} ({lifetime}, {firmware})", self.device)
    }
}

/// What reading a write back showed. A contradiction is an error, not an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum ReadBack {
    /// The BMC reports exactly what was written.
    Confirmed,
    /// The BMC holds it for the next boot, as it says itself; the reason is for people.
    Pending(String),
    /// This BMC reports too little to tell; the reason is for people.
    Unverifiable(String),
}
