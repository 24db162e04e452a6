//! Who a BMC says it is, and whose.

use std::fmt;

use serde::Serialize;

use crate::{BootFirmware, MacAddress, PowerState};

/// What a BMC tells about itself and its system. All of it is optional: there is no part that every BMC tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Manufacturer, as the BMC writes it, or its IANA enterprise number (`IANA 674`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Model of the system, or the manufacturer's number of the product.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Firmware revision of the BMC, as in `2.18`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Version of the server's own firmware (BIOS, UEFI).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bios_version: Option<String>,
    /// What the BMC calls the system: a Redfish path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_id: Option<String>,
    /// Serial number of the system; Dell's service tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// UUID of the system in lower case, its bytes in the order in which the BMC writes them: BMCs disagree on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Whether the server is powered; none when the BMC does not say, or it is in between.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerState>,
    /// The firmware interface that the server boots by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_mode: Option<BootFirmware>,
    /// Whether signatures were checked at the last boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secure_boot: Option<bool>,
    /// Addresses of the server's network interfaces, in order, each once. Addresses that were made up (locally
    /// administered) are left out where there are others: whole series of machines have the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub macs: Vec<MacAddress>,
    /// What whoever runs the servers should know of how the BMC answered, as that it fell back to weaker encryption.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.vendor.as_deref().unwrap_or("unknown manufacturer"))?;
        for (name, value) in [("", &self.model), ("firmware ", &self.firmware), ("serial ", &self.serial)] {
            if let Some(value) = value {
                write!(f, " · {name}{value}")?;
            }
        }
        Ok(())
    }
}
