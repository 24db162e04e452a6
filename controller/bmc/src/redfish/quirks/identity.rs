//! Makers' own ways to say who a server is, and what it seems to have.

/// Makers of the BMC's firmware for other makers' servers, as their services write themselves.
const FIRMWARE_MAKERS: &[&str] = &["ami", "american megatrends", "insyde", "aspeed", "openbmc"];

/// How the names begin of makers whose `SKU` is what people know a server by. Dell's is the service tag, and its
/// `SerialNumber` that of the board (iDRAC Redfish API guide, `ComputerSystem`).
const KNOWN_BY_SKU: &[&str] = &["dell"];

/// Where firmware's settings say how the server boots: Dell, HPE and others, then Lenovo (XCC).
const BOOT_MODES: &[&str] = &["BootMode", "BootModes_SystemBootMode"];

/// Models of the drives that AMI's BMCs show to their server: virtual media, whether there is one in or not.
const VIRTUAL_DRIVES: &[&str] = &["Virtual Cdrom Device", "Virtual HDisk Device", "Virtual Floppy Device"];

/// Whether `vendor` makes firmware of BMCs and not the servers that they are in.
pub(crate) fn makes_only_firmware(vendor: &str) -> bool {
    FIRMWARE_MAKERS.iter().any(|maker| vendor.eq_ignore_ascii_case(maker))
}

/// Whether the serial number that people know a server of `vendor` by is its `SKU`.
pub(crate) fn is_known_by_sku(vendor: &str) -> bool {
    let vendor = vendor.to_ascii_lowercase();
    KNOWN_BY_SKU.iter().any(|maker| vendor.starts_with(maker))
}

/// The settings of firmware that may say how the server boots, the first that is there counts.
pub(crate) const fn boot_mode_settings() -> &'static [&'static str] {
    BOOT_MODES
}

/// Whether a drive of this model is what the BMC itself shows to its server.
pub(crate) fn is_virtual_drive(model: &str) -> bool {
    VIRTUAL_DRIVES.contains(&model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makers_are_known_however_they_are_written() {
        assert!(makes_only_firmware("AMI") && makes_only_firmware("American Megatrends"));
        assert!(!makes_only_firmware("NVIDIA") && !makes_only_firmware(""));
        assert!(is_known_by_sku("Dell Inc.") && is_known_by_sku("DELL") && !is_known_by_sku("HPE"));
        assert!(is_virtual_drive("Virtual Cdrom Device") && !is_virtual_drive("PM1733"));
    }
}
