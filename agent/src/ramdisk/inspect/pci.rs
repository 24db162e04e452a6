//! What sits on PCI.

use std::fs;
use std::path::Path;

use bessemer_protocol::PciDevice;

use crate::files;

/// Devices that are reported; a server has about a hundred.
pub(super) const MOST: usize = 1024;

/// Every function but bridges, by address.
pub(super) fn devices(sys: &Path) -> Vec<PciDevice> {
    let found = files::entries(sys.join("bus/pci/devices"));
    found
        .iter()
        .filter_map(|folder| describe(folder))
        .filter(|device| !device.class.starts_with("06"))
        .take(MOST)
        .collect()
}

fn describe(folder: &Path) -> Option<PciDevice> {
    let digits = |name: &str| files::line(folder.join(name)).map(|text| text.trim_start_matches("0x").to_owned());
    let subsystem = digits("subsystem_vendor").zip(digits("subsystem_device"));
    Some(PciDevice {
        address: files::name(folder),
        vendor: digits("vendor")?,
        device: digits("device")?,
        class: digits("class")?,
        subsystem: subsystem.map(|(vendor, device)| format!("{vendor}:{device}")).unwrap_or_default(),
        driver: fs::canonicalize(folder.join("driver")).map(|path| files::name(&path)).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::super::fixture::{Sys, data};
    use super::*;

    /// A tree as the kernel showed it where `lspci -nmm` said this.
    #[test]
    fn what_lspci_says_is_what_we_say() {
        let Some(bytes) = data("host-tools/jc/ubuntu-20.10__lspci-nmmv.json") else { return };
        let said: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
        let sys = Sys::new();
        let text = |said: &Value, key: &str| said[key].as_str().unwrap_or_default().to_lowercase();
        let mut expected = BTreeMap::new();
        for said in &said {
            let address = format!("0000:{}", text(said, "slot"));
            let folder = format!("bus/pci/devices/{address}");
            let interface =
                said.get("progif").map(|_| text(said, "progif")).filter(|text| !text.is_empty()).unwrap_or("00".into());
            let class = format!("{}{interface}", text(said, "class_id"));
            for (file, value) in
                [("vendor", text(said, "vendor_id")), ("device", text(said, "device_id")), ("class", class.clone())]
            {
                sys.file(&format!("{folder}/{file}"), format!("0x{value}\n"));
            }
            if !text(said, "svendor_id").is_empty() {
                sys.file(&format!("{folder}/subsystem_vendor"), format!("0x{}\n", text(said, "svendor_id")));
                sys.file(&format!("{folder}/subsystem_device"), format!("0x{}\n", text(said, "sdevice_id")));
            }
            if !class.starts_with("06") {
                expected.insert(address, (text(said, "vendor_id"), text(said, "device_id"), class));
            }
        }
        let found = devices(sys.path());
        assert!(found.len() >= 5, "{found:?}");
        let found: BTreeMap<_, _> = found.into_iter().map(|d| (d.address, (d.vendor, d.device, d.class))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn gpus_are_told_by_their_class() {
        let sys = Sys::new();
        for (address, class) in [
            ("0000:c2:00.0", "0x030000"),
            ("0000:17:00.0", "0x030200"),
            ("0000:18:00.0", "0x120000"),
            ("0000:01:00.0", "0x010700"),
        ] {
            let folder = format!("bus/pci/devices/{address}");
            sys.file(&format!("{folder}/vendor"), "0x10de\n").file(&format!("{folder}/device"), "0x2330\n");
            sys.file(&format!("{folder}/class"), format!("{class}\n"));
        }
        sys.link("bus/pci/devices/0000:01:00.0/driver", "bus/pci/drivers/mpt3sas");
        let found = devices(sys.path());
        assert_eq!(found.iter().map(PciDevice::is_gpu).collect::<Vec<_>>(), [false, true, true, true]);
        assert_eq!(found[0].driver, "mpt3sas");
    }
}
