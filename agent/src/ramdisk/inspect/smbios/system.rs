//! Types 0 to 4 and 43: firmware, system, board, case, processors, TPM.

use bessemer_protocol::{Enclosure, Firmware, SystemVendor, Tpm};

use super::table::Structure;

/// Type 0.
pub(super) fn bios(structure: &Structure<'_>) -> Firmware {
    Firmware { vendor: structure.text(4), version: structure.text(5), date: structure.text(8), ..Firmware::default() }
}

/// Type 1.
pub(super) fn system(structure: &Structure<'_>, version: (u8, u8)) -> SystemVendor {
    let stored: Option<[u8; 16]> = structure.bytes(8);
    let as_stored = stored.map(|bytes| uuid::Uuid::from_bytes(bytes).to_string()).unwrap_or_default();
    // Since 2.6 the first three fields are little-endian.
    let uuid = match stored {
        Some(bytes) if version >= (2, 6) => uuid::Uuid::from_bytes_le(bytes).to_string(),
        _ => as_stored.clone(),
    };
    let serial_number = structure.text(7);
    SystemVendor {
        manufacturer: structure.text(4),
        product_name: structure.text(5),
        sku: structure.text(25),
        family: structure.text(26),
        uuid_is_junk: is_junk_uuid(&uuid) || is_junk_uuid(&as_stored),
        serial_number_is_junk: is_junk_serial(&serial_number),
        serial_number,
        uuid_as_stored: as_stored,
        uuid,
    }
}

/// Type 2.
pub(super) fn board(structure: &Structure<'_>, enclosure: &mut Enclosure) {
    enclosure.board_manufacturer = structure.text(4);
    enclosure.board_product = structure.text(5);
    enclosure.board_serial_number = structure.text(7);
}

/// Type 3. The upper bit of the kind says that the case has a lock.
pub(super) fn chassis(structure: &Structure<'_>, enclosure: &mut Enclosure) {
    enclosure.chassis_manufacturer = structure.text(4);
    enclosure.chassis_type = structure.byte(5).unwrap_or(0) & 0x7f;
    enclosure.chassis_serial_number = structure.text(7);
    enclosure.asset_tag = structure.text(8);
}

/// Type 4: model and cores of a socket that has a processor in it.
pub(super) fn processor(structure: &Structure<'_>) -> Option<(String, u32)> {
    const CENTRAL: u8 = 3;
    let is_populated = structure.byte(24)? & 0x40 != 0;
    if !is_populated || structure.byte(5)? != CENTRAL {
        return None;
    }
    // 255 cores and more stand in a word of their own.
    let cores = match structure.byte(35) {
        Some(u8::MAX) => structure.word(42).map(u32::from),
        cores => cores.map(u32::from),
    };
    Some((structure.text(16), cores.unwrap_or(0)))
}

/// Type 43.
pub(super) fn tpm(structure: &Structure<'_>) -> Tpm {
    let vendor: [u8; 4] = structure.bytes(4).unwrap_or_default();
    let (major, minor) = (structure.byte(8).unwrap_or(0), structure.byte(9).unwrap_or(0));
    let firmware = structure.double(10).unwrap_or(0);
    let letters: String = vendor.iter().filter(|byte| byte.is_ascii_graphic()).map(|byte| char::from(*byte)).collect();
    Tpm {
        version: if major == 0 { String::new() } else { format!("{major}.{minor}") },
        vendor: letters,
        firmware: match major {
            2 => format!("{}.{}", firmware >> 16, firmware & 0xffff),
            _ => String::new(),
        },
        usable: false,
    }
}

/// UUIDs that many machines share.
fn is_junk_uuid(uuid: &str) -> bool {
    const SHARED: [&str; 6] = [
        "03000200-0400-0500-0006-000700080009",
        "00020003-0004-0005-0006-000700080009",
        "01020304-0506-0708-090a-0b0c0d0e0f10",
        "12345678-1234-5678-90ab-cddeefaabbcc",
        "4c4c4544-0000-2010-8020-80c04f202020",
        "44454c4c-0000-1020-8020-80c04f202020",
    ];
    let mut digits = uuid.chars().filter(|c| *c != '-');
    let first = digits.next();
    first.is_none() || digits.all(|digit| Some(digit) == first) || SHARED.contains(&uuid)
}

/// What firmware says when nobody wrote a number into it.
fn is_junk_serial(serial: &str) -> bool {
    const SAID: [&str; 16] = [
        "default string",
        "to be filled by o.e.m.",
        "to be filled by o.e.m",
        "system serial number",
        "not specified",
        "not applicable",
        "none",
        "n/a",
        "na",
        "empty",
        "invalid",
        "unknown",
        "oem",
        "0123456789",
        "1234567890",
        "123456789",
    ];
    let lower = serial.trim().to_lowercase();
    let first = lower.chars().next();
    lower.chars().all(|letter| Some(letter) == first && !letter.is_ascii_alphanumeric())
        || lower.chars().all(|letter| letter == '0')
        || lower.chars().all(|letter| letter == 'x')
        || SAID.contains(&lower.as_str())
}
