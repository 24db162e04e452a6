//! Inventories: the server's own, from who the host is, and a power supply's.

use crate::host::identity::Identity;

/// An inventory's bytes; none for a device that is not there.
pub(super) fn inventory(identity: &Identity, device: u8) -> Option<Vec<u8>> {
    match device {
        0 => Some(assemble(&[
            Some(area(&[0x17], &["CH-100", &identity.serial])),
            // 2024-02-01, 08:00 UTC, in minutes since the beginning of 1996.
            Some(area(&[25, 0x20, 0x67, 0xe1], &[&identity.manufacturer, "Mainboard", &identity.serial, "MB-1", ""])),
            Some(area(
                &[25],
                &[&identity.manufacturer, &identity.model, "FS-2", "1.0", &identity.serial, &identity.name, ""],
            )),
        ])),
        1 => {
            Some(assemble(&[None, None, Some(area(&[25], &["Acme", "PSU 800W", "PWR-800", "A1", "PSU-0001", "", ""]))]))
        }
        _ => None,
    }
}

/// The common header, then chassis, board and product areas, then room as in a real EEPROM.
fn assemble(areas: &[Option<Vec<u8>>]) -> Vec<u8> {
    const SIZE: usize = 512;
    let mut header = vec![1, 0];
    let mut body = Vec::new();
    for area in areas {
        let offset = area.as_ref().map_or(0, |_| 1 + body.len() / 8);
        header.push(u8::try_from(offset).unwrap_or_default());
        body.extend(area.iter().flatten());
    }
    header.resize(7, 0);
    header.push(complement(&header));
    let mut inventory = [header, body].concat();
    inventory.resize(SIZE, 0xff);
    inventory
}

fn area(fixed: &[u8], fields: &[&str]) -> Vec<u8> {
    let mut area = [&[1, 0], fixed].concat();
    for field in fields {
        area.push(0xc0 | u8::try_from(field.len()).unwrap_or_default());
        area.extend(field.bytes());
    }
    area.push(0xc1);
    area.resize((area.len() + 1).next_multiple_of(8) - 1, 0);
    let length = u8::try_from((area.len() + 1) / 8).unwrap_or_default();
    if let Some(place) = area.get_mut(1) {
        *place = length;
    }
    area.push(complement(&area));
    area
}

fn complement(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)).wrapping_neg()
}
