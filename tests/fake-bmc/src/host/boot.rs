//! The boot override as both protocols see it, and what it makes a start boot from.

use super::media::Media;
use crate::machine::{Boot, BootSource};

/// How long the override holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Persistence {
    /// Not at all.
    #[default]
    Disabled,
    /// For the next start.
    Once,
    /// Until it is taken away.
    Continuous,
}

impl Persistence {
    /// As Redfish spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Disabled => "Disabled",
            Self::Once => "Once",
            Self::Continuous => "Continuous",
        }
    }

    /// Of Redfish's spelling.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Disabled, Self::Once, Self::Continuous].into_iter().find(|value| value.name() == name)
    }
}

/// By which firmware interface the machine starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BootMode {
    /// BIOS.
    Legacy,
    /// UEFI.
    #[default]
    Uefi,
}

impl BootMode {
    /// As Redfish spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Legacy => "Legacy",
            Self::Uefi => "UEFI",
        }
    }

    /// Of Redfish's spelling.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Legacy, Self::Uefi].into_iter().find(|value| value.name() == name)
    }
}

/// What a controller was told to start the machine from. `target` is Redfish's word: `Pxe`, `Hdd`, `Cd`, `Usb`,
/// `UefiHttp`, `BiosSetup`, or a vendor's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootOverride {
    /// How long it holds.
    pub enabled: Persistence,
    /// From what; `None` (the word) for the usual order.
    pub target: String,
    /// By which interface.
    pub mode: BootMode,
    /// For `UefiHttp`.
    pub http_uri: Option<String>,
    /// For `UefiTarget` and `UefiBootNext`.
    pub uefi_target: Option<String>,
}

impl Default for BootOverride {
    fn default() -> Self {
        Self {
            enabled: Persistence::Disabled,
            target: "None".to_owned(),
            mode: BootMode::Uefi,
            http_uri: None,
            uefi_target: None,
        }
    }
}

impl BootOverride {
    /// An override with that target.
    #[must_use]
    pub fn new(enabled: Persistence, target: &str, mode: BootMode) -> Self {
        Self { enabled, target: target.to_owned(), mode, ..Self::default() }
    }

    /// What a start boots from now. An override for once is used up by it.
    pub(super) fn take(&mut self, media: &Media) -> Boot {
        let source = match (self.enabled, self.target.as_str()) {
            (Persistence::Disabled, _) | (_, "None" | "Hdd") => BootSource::Disk,
            (_, "Pxe" | "UefiPxe") => BootSource::Pxe,
            (_, "UefiHttp") => BootSource::Http { url: self.http_uri.clone() },
            (_, "Cd" | "UsbCd" | "UefiCd" | "CD/DVD") => BootSource::Cd { image: media.image("CD") },
            (_, "Usb" | "Floppy" | "UsbKey") => BootSource::Usb { image: media.image("USBStick") },
            (_, other) => BootSource::Other(other.to_owned()),
        };
        if self.enabled == Persistence::Once {
            self.enabled = Persistence::Disabled;
            "None".clone_into(&mut self.target);
        }
        Boot { source, mode: self.mode }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_is_used_up_and_continuous_is_not() {
        let media = Media::default();
        let mut once = BootOverride::new(Persistence::Once, "Pxe", BootMode::Uefi);
        assert_eq!(once.take(&media).source, BootSource::Pxe);
        assert_eq!((once.enabled, once.target.as_str()), (Persistence::Disabled, "None"));
        assert_eq!(once.take(&media).source, BootSource::Disk);
        let mut always = BootOverride::new(Persistence::Continuous, "Pxe", BootMode::Legacy);
        for _ in 0..2 {
            assert_eq!(always.take(&media), Boot { source: BootSource::Pxe, mode: BootMode::Legacy });
        }
        let mut off = BootOverride::new(Persistence::Disabled, "Pxe", BootMode::Uefi);
        assert_eq!(off.take(&media).source, BootSource::Disk);
    }
}
