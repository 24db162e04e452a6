//! What a server boots from next, and how sure the BMC lets us be of it.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::media;

/// Where firmware looks for its boot program.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum BootDevice {
    /// No override: firmware's own boot order.
    None,
    /// The network (PXE).
    Pxe,
    /// The default hard disk.
    Disk,
    /// An optical drive: the one that virtual media are inserted into, where the BMC tells them apart.
    Cd,
    /// A program over HTTP(S) by UEFI's own boot client: at this address where the BMC can be told one, else, or
    /// without one, at the address that DHCP gives.
    UefiHttp(#[serde(serialize_with = "without_secrets")] Option<String>),
}

/// What is written out is for people: an address may hold a user, a password or a token.
#[expect(clippy::ref_option, reason = "serde gives the field as it is")]
fn without_secrets<S: Serializer>(address: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    address.as_deref().map(media::shown).serialize(to)
}

impl fmt::Debug for BootDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Pxe => f.write_str("Pxe"),
            Self::Disk => f.write_str("Disk"),
            Self::Cd => f.write_str("Cd"),
            Self::UefiHttp(address) => f.debug_tuple("UefiHttp").field(&address.as_deref().map(media::shown)).finish(),
        }
    }
}

impl fmt::Display for BootDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no override"),
            Self::Pxe => f.write_str("pxe"),
            Self::Disk => f.write_str("disk"),
            Self::Cd => f.write_str("cd"),
            Self::UefiHttp(None) => f.write_str("uefi http"),
            Self::UefiHttp(Some(uri)) => write!(f, "uefi http from {}", media::shown(uri)),
        }
    }
}

/// How long a boot override holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum BootLifetime {
    /// For the next boot only.
    Once,
    /// Until it is changed.
    Persistent,
}

/// The firmware interface an override is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum BootFirmware {
    /// UEFI.
    Uefi,
    /// Legacy BIOS.
    Legacy,
}

/// What to boot from next.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_an_address_is_shown_or_written_out() {
        let device = BootDevice::UefiHttp(Some("http://bob:s3cr3t@192.0.2.1/boot.efi?token=s3cr3t".to_owned()));
        let wanted = BootOverride::once(device);
        let shown = format!("{wanted} {wanted:?} {}", serde_json::to_string(&wanted).unwrap());
        assert_eq!(shown.matches("http://192.0.2.1/boot.efi").count(), 3, "{shown}");
        assert!(!shown.contains("s3cr3t"), "{shown}");
    }
}
