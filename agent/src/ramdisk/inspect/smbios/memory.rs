//! Type 17: memory modules.

use bessemer_protocol::Dimm;

use super::table::Structure;

/// What is in one socket; none when it is empty.
pub(super) fn dimm(structure: &Structure<'_>) -> Option<Dimm> {
    let size = structure.word(12)?;
    let size_mebibytes = match size {
        0 => return None,
        // More than a word can say.
        0x7fff => u64::from(structure.double(28)? & 0x7fff_ffff),
        // Something is there, and nobody knows how large.
        0xffff => 0,
        kibibytes if kibibytes & 0x8000 != 0 => u64::from(kibibytes & 0x7fff) / 1024,
        mebibytes => u64::from(mebibytes),
    };
    Some(Dimm {
        locator: structure.text(16),
        bank: structure.text(17),
        size_mebibytes,
        kind: kind(structure.byte(18).unwrap_or(2)),
        speed_megatransfers: speed(structure, 21, 84),
        configured_megatransfers: speed(structure, 32, 88),
        manufacturer: structure.text(23),
        serial_number: structure.text(24),
        part_number: structure.text(26),
    })
}

/// A word, or a double word elsewhere when it has all ones.
fn speed(structure: &Structure<'_>, at: usize, extended: usize) -> u32 {
    match structure.word(at) {
        Some(0xffff) => structure.double(extended).unwrap_or(0) & 0x7fff_ffff,
        speed => speed.map_or(0, u32::from),
    }
}

/// DSP0134, table 78.
fn kind(number: u8) -> String {
    let word = match number {
        0x01 => "other",
        0x02 => "unknown",
        0x03 => "DRAM",
        0x07 => "RAM",
        0x09 => "Flash",
        0x0f => "SDRAM",
        0x12 => "DDR",
        0x13 => "DDR2",
        0x14 => "DDR2 FB-DIMM",
        0x18 => "DDR3",
        0x19 => "FBD2",
        0x1a => "DDR4",
        0x1b => "LPDDR",
        0x1c => "LPDDR2",
        0x1d => "LPDDR3",
        0x1e => "LPDDR4",
        0x1f => "non-volatile",
        0x20 => "HBM",
        0x21 => "HBM2",
        0x22 => "DDR5",
        0x23 => "LPDDR5",
        0x24 => "HBM3",
        other => return format!("type {other:#04x}"),
    };
    word.to_owned()
}
