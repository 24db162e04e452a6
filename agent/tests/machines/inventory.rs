//! The golden inventory: what an inspection must say of the machine with all kinds of disks. `BESSEMER_UPDATE_GOLDEN=1` writes it anew; look
//! at what changed.

use bessemer_protocol::HardwareDetails;
use serde_json::{Value, json};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machines/inventory.json");

/// What differs between versions of QEMU, its firmware and the machine beneath.
const VOLATILE: &[&str] =
    &["/cpu/model", "/cpu/flags", "/cpu/clockMegahertz", "/firmware/version", "/firmware/date", "/systemVendor/family"];

pub fn compare(hardware: &HardwareDetails) {
    let mut found = serde_json::to_value(hardware).unwrap();
    for pointer in VOLATILE {
        if let Some(value) = found.pointer_mut(pointer) {
            *value = json!("varies");
        }
    }
    let storage = found["storage"].as_array_mut().unwrap();
    storage.sort_by_key(|disk| disk["serialNumber"].as_str().unwrap().to_owned());
    for disk in storage {
        // The version of QEMU.
        disk["firmware"] = json!("varies");
        // Which of two SCSI disks is the first is a race.
        if disk["name"].as_str().unwrap().starts_with("/dev/sd") {
            disk["name"] = json!("/dev/sd?");
        }
        let hctl = disk["hctl"].as_str().unwrap();
        if let Some((_, rest)) = hctl.split_once(':') {
            disk["hctl"] = json!(format!("?:{rest}"));
        }
    }
    // No switch speaks here; whether that is told by now depends on how long the machine has been up.
    found["unread"].as_array_mut().unwrap().retain(|unread| unread["source"] != "eth0: lldp");
    let text = serde_json::to_string_pretty(&found).unwrap() + "\n";
    if std::env::var_os("BESSEMER_UPDATE_GOLDEN").is_some() {
        std::fs::write(PATH, text).unwrap();
        return;
    }
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(PATH).unwrap()).unwrap();
    assert!(golden == found, "the inventory differs from {PATH}:\n{text}");
}
