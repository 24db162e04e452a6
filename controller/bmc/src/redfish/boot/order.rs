//! Booting by order: what to do with a BMC that has a boot order and no override (HPE Cray EX). Pure.

use redfish_client::Resource;

use crate::BootDevice;

/// What an entry of the order is known by: some write its name behind it (`Boot0019: ubuntu`).
pub(crate) fn key(entry: &str) -> &str {
    entry.split(':').next().unwrap_or_default().trim()
}

/// The keys of all entries, in order.
pub(crate) fn keys(entries: &[String]) -> Vec<&str> {
    entries.iter().map(|entry| key(entry)).collect()
}

/// The order with the entries for `device` before all others, nothing added and nothing left out: a list of another
/// length is refused (HPE). `options` are the `BootOption`s that are known; an entry without one is judged by its name.
///
/// # Errors
/// When no entry is for `device`; says what there is.
pub(crate) fn reordered(device: &BootDevice, order: &[String], options: &[Resource]) -> Result<Vec<String>, String> {
    let is_for = |entry: &str| {
        let option = options.iter().find(|option| option.text("BootOptionReference").map(key) == Some(key(entry)));
        leads_to(device, key(entry), option)
    };
    let (mut first, rest): (Vec<String>, Vec<String>) = order.iter().cloned().partition(|entry| is_for(entry));
    if first.is_empty() {
        return Err(format!("its boot order has no {device}: {}", order.join(", ")));
    }
    first.extend(rest);
    Ok(first.iter().map(|entry| key(entry).to_owned()).collect())
}

/// Whether a boot option leads to `device`, by its alias, its device path (UEFI specification, 10.3) or its name.
fn leads_to(device: &BootDevice, reference: &str, option: Option<&Resource>) -> bool {
    let alias = option.and_then(|option| option.text("Alias")).filter(|alias| *alias != "None");
    if let Some(alias) = alias {
        return match device {
            BootDevice::Pxe => alias == "Pxe",
            BootDevice::Disk => alias == "Hdd",
            BootDevice::Cd => matches!(alias, "Cd" | "UsbCd"),
            BootDevice::UefiHttp(_) => alias == "UefiHttp",
            BootDevice::None => false,
        };
    }
    if let Some(path) = option.and_then(|option| option.text("UefiDevicePath")) {
        let has = |parts: &[&str]| parts.iter().any(|part| path.contains(part));
        return match device {
            BootDevice::Pxe => has(&["MAC("]) && !has(&["Uri("]),
            BootDevice::UefiHttp(_) => has(&["Uri("]),
            BootDevice::Cd => has(&["CDROM("]),
            BootDevice::Disk => has(&["HD(", "NVMe(", "Sata(", "Scsi(", "SAS("]) && !has(&["CDROM("]),
            BootDevice::None => false,
        };
    }
    let name = option.and_then(|option| option.text("DisplayName")).unwrap_or(reference).to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    match device {
        BootDevice::Pxe => has(&["pxe"]),
        BootDevice::UefiHttp(_) => has(&["http"]),
        BootDevice::Cd => has(&["cd-rom", "cdrom", "dvd"]),
        BootDevice::Disk => has(&["hard d", "hdd", "nvme", "ssd"]),
        BootDevice::None => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use redfish_client::Reference;
    use serde_json::json;

    use super::*;

    fn option(reference: &str, path: &str) -> Resource {
        let body = json!({"BootOptionReference": reference, "Alias": "None", "UefiDevicePath": path});
        Resource::new(Reference::root(), None, body)
    }

    fn texts(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|&entry| entry.to_owned()).collect()
    }

    #[test]
    fn q42_the_network_comes_first_in_the_order_it_had() {
        let order = texts(&["Boot0007", "ME0-PXE-IP4", "Disk", "HSN0-PXE-IP6"]);
        let options = [
            option("ME0-PXE-IP4", "PciRoot(0x2)/Pci(0x1,0x4)/MAC(0040A696A681,0x1)/IPv4(0.0.0.0,0x0,DHCP)"),
            option("Disk", "HD(1,GPT,344826DE)/\\EFI\\BOOT\\BOOTX64.EFI"),
        ];
        let pxe = reordered(&BootDevice::Pxe, &order, &options).unwrap();
        assert_eq!(pxe, ["ME0-PXE-IP4", "HSN0-PXE-IP6", "Boot0007", "Disk"]);
        assert_eq!(reordered(&BootDevice::Disk, &order, &options).unwrap()[0], "Disk");
        let error = reordered(&BootDevice::Cd, &order, &options).unwrap_err();
        assert_eq!(error, "its boot order has no cd: Boot0007, ME0-PXE-IP4, Disk, HSN0-PXE-IP6");
    }

    #[test]
    fn q54_an_entry_ends_at_its_colon() {
        let order = texts(&["Boot0019: ubuntu", "Boot0003 : UEFI PXEv4 (MAC:0040A696A681)"]);
        let options = [option("Boot0019", "HD(1,GPT)"), option("Boot0003", "PciRoot(0x2)/MAC(0040A696A681,0x1)")];
        assert_eq!(reordered(&BootDevice::Pxe, &order, &options).unwrap(), ["Boot0003", "Boot0019"]);
        assert_eq!(keys(&order), ["Boot0019", "Boot0003"]);
    }

    proptest! {
        #[test]
        fn q53_an_order_keeps_its_entries(order in proptest::collection::vec("(PXE|HTTP|HDD|Boot)[0-9]{1,3}", 1..12)) {
            for device in [BootDevice::Pxe, BootDevice::Disk, BootDevice::UefiHttp(None), BootDevice::Cd] {
                if let Ok(mut changed) = reordered(&device, &order, &[]) {
                    let mut order = order.clone();
                    order.sort();
                    changed.sort();
                    prop_assert_eq!(changed, order);
                }
            }
        }
    }
}
