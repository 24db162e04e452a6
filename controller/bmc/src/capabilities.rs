//! What one BMC can do, found out rather than assumed.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

/// Something a BMC may be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Capability {
    /// [`crate::PowerAction::On`].
    PowerOn,
    /// [`crate::PowerAction::ForceOff`].
    ForceOff,
    /// [`crate::PowerAction::GracefulOff`].
    GracefulOff,
    /// [`crate::PowerAction::Reset`].
    Reset,
    /// [`crate::PowerAction::Cycle`].
    Cycle,
    /// [`crate::BootDevice::Pxe`].
    BootPxe,
    /// [`crate::BootDevice::UefiHttp`], from an address that DHCP gives.
    BootUefiHttp,
    /// [`crate::BootDevice::UefiHttp`], from an address that is told to the BMC.
    BootHttpUri,
    /// [`crate::BootDevice::Cd`].
    BootCd,
    /// [`crate::BootDevice::Disk`].
    BootDisk,
    /// [`crate::BootLifetime::Persistent`].
    BootPersistent,
    /// Choosing between UEFI and legacy BIOS together with the boot device.
    BootMode,
    /// A slot that takes a [`crate::MediaKind::Cd`].
    VirtualCd,
    /// [`crate::Bmc::inventory`].
    Inventory,
    /// [`crate::Bmc::sensors`].
    Sensors,
    /// [`crate::Bmc::secure_boot`] and [`crate::Bmc::set_secure_boot`].
    SecureBoot,
    /// [`crate::Bmc::bios`] and [`crate::Bmc::set_bios`].
    Bios,
    /// [`crate::Bmc::start_firmware_update`] or [`crate::Bmc::push_firmware_update`]: [`crate::Bmc::firmware_ways`] tells.
    FirmwareUpdate,
    /// [`crate::Bmc::subscribe`].
    Events,
    /// [`crate::Bmc::log_entries`].
    Log,
    /// [`crate::Bmc::open_console`].
    Console,
}

/// Whether a BMC can do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// It says it can.
    Yes,
    /// It cannot; the reason is for people.
    No(String),
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.write_str("yes"),
            Self::No(why) => write!(f, "no: {why}"),
        }
    }
}

impl Serialize for Support {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What one BMC can do. What is not listed was not found out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Capabilities(pub BTreeMap<Capability, Support>);

impl Capabilities {
    /// Whether it is known to be able to.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.0.get(&capability) == Some(&Support::Yes)
    }
}

impl FromIterator<(Capability, Result<(), String>)> for Capabilities {
    fn from_iter<I: IntoIterator<Item = (Capability, Result<(), String>)>>(found: I) -> Self {
        let support = |can: Result<(), String>| can.map_or_else(Support::No, |()| Support::Yes);
        Self(found.into_iter().map(|(capability, can)| (capability, support(can))).collect())
    }
}
