//! Partition tables and superblocks. A GPT that is believed is the same after it was written again.

#![no_main]

use bessemer_image_formats::filesystem::FileSystem;
use bessemer_image_formats::gpt::Table;
use bessemer_image_formats::mbr::Mbr;
use bessemer_image_formats::signatures;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = FileSystem::detect(bytes);
    let found = signatures::find(bytes.len() as u64, |at, length| {
        Ok(bytes[at as usize..at as usize + length].to_vec())
    });
    assert!(found.expect("memory").iter().all(|found| found.at < bytes.len() as u64));
    if let Ok(table) = Mbr::parse(bytes) {
        let mut again = bytes.to_vec();
        table.write_into(&mut again);
        assert_eq!(Mbr::parse(&again).as_ref(), Ok(&table));
    }
    // Checksums would keep a fuzzer out: they are put right first.
    let mut bytes = bytes.to_vec();
    for sector in [512usize, 4096] {
        sign(&mut bytes, sector);
        let Ok(table) = Table::parse(&bytes, sector as u64) else { continue };
        let sectors = 1 << 40;
        let (start, backup) = table.backup(sectors);
        assert_eq!(start * table.sector + backup.len() as u64, sectors * table.sector);
        let (header, entries) = table.primary(sectors);
        let mut head = vec![0; 1 << 20];
        head[sector..2 * sector].copy_from_slice(&header);
        let at = (table.entries_at * table.sector) as usize;
        if let Some(place) = head.get_mut(at..at + entries.len()).filter(|_| at >= 2 * sector) {
            place.copy_from_slice(&entries);
            let mut again = Table::parse(&head, table.sector).expect("what was believed is believed again");
            for (again, first) in again.partitions.iter_mut().zip(&table.partitions) {
                // Names that are no UTF-16 lose that.
                again.name.clone_from(&first.name);
            }
            assert_eq!(again, table);
        }
    }
});

fn sign(bytes: &mut [u8], sector: usize) {
    let Some(header) = bytes.get(sector..sector + 92).map(<[u8]>::to_vec) else { return };
    let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    let at = u64::from_le_bytes(header[72..80].try_into().expect("eight bytes")).wrapping_mul(sector as u64);
    let length = u64::from(word(80)) * 128;
    let sum = usize::try_from(at).ok().and_then(|at| bytes.get(at..at.checked_add(length as usize)?)).map(crc32);
    bytes[sector..sector + 8].copy_from_slice(b"EFI PART");
    bytes[sector + 12..sector + 16].copy_from_slice(&92u32.to_le_bytes());
    bytes[sector + 16..sector + 20].fill(0);
    bytes[sector + 24..sector + 32].copy_from_slice(&1u64.to_le_bytes());
    bytes[sector + 88..sector + 92].copy_from_slice(&sum.unwrap_or(0).to_le_bytes());
    let sum = crc32(&bytes[sector..sector + 92]);
    bytes[sector + 16..sector + 20].copy_from_slice(&sum.to_le_bytes());
}

/// CRC-32 as zip has it, so that no further crate is needed.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 })
    })
}
