//! Against sfdisk where it is, and against tables that lie.

use std::os::unix::fs::FileExt;
use std::process::Command;

use proptest::prelude::*;

use super::*;

const SECTORS: u64 = 1 << 17;

fn table(sector: u64) -> Table {
    let mut table = Table::new(sector, Guid::new(0x1111_1111_2222_4333_8444_5555_5555_5555));
    let part = |number, kind, first, last, name: &str| Partition {
        number,
        kind,
        id: Guid([number as u8; 16]),
        first,
        last,
        attributes: 0,
        name: name.to_owned(),
    };
    table.partitions = vec![part(1, ESP, 2048, 4095, "EFI"), part(14, LINUX_ROOT_X86_64, 4096, 99_999, "wurzel ü")];
    table
}

fn head(table: &Table) -> Vec<u8> {
    let mut head = vec![0; 1 << 20];
    let (header, entries) = table.primary(SECTORS);
    let sector = table.sector as usize;
    head[..512].copy_from_slice(&protective_mbr(SECTORS));
    head[sector..2 * sector].copy_from_slice(&header);
    head[2 * sector..2 * sector + entries.len()].copy_from_slice(&entries);
    head
}

#[test]
fn what_is_written_is_read_for_both_sector_sizes() {
    for sector in [512, 4096] {
        let table = table(sector);
        let head = head(&table);
        assert_eq!(Table::parse(&head, sector).unwrap(), table);
        let other = 512 + 4096 - sector;
        assert_eq!(Table::parse(&head, other), Err(GptError::OtherSectors { made_for: sector, disk: other }));
        let (start, backup) = table.backup(SECTORS);
        assert_eq!(start * sector + backup.len() as u64, SECTORS * sector, "to the disk's end");
        assert!(table.is_backed_up_by(&backup[backup.len() - sector as usize..]));
        assert_eq!(table.free(), Some(2));
    }
}

#[test]
fn sfdisk_finds_no_fault() {
    let table = table(512);
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(SECTORS * 512).unwrap();
    let (start, backup) = table.backup(SECTORS);
    file.as_file().write_all_at(&head(&table), 0).unwrap();
    file.as_file().write_all_at(&backup, start * 512).unwrap();
    let Ok(output) = Command::new("sfdisk").arg("-V").arg(file.path()).output() else {
        println!("SKIP no sfdisk");
        return;
    };
    let words = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.contains("No errors detected"), "{words}");
}

#[test]
fn a_damaged_table_is_named() {
    let good = head(&table(512));
    for (at, expected) in
        [(512, "no GUID"), (512 + 24, "checksum of its header"), (1024 + 60, "checksum of its entries")]
    {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let error = Table::parse(&bad, 512).unwrap_err().to_string();
        assert!(error.contains(expected), "{at}: {error}");
    }
    let mut twisted = table(512);
    twisted.partitions[1].first = 3000;
    assert!(Table::parse(&head(&twisted), 512).unwrap_err().to_string().contains("overlaps"));
    twisted.partitions[1].last = 10;
    assert!(Table::parse(&head(&twisted), 512).unwrap_err().to_string().contains("partition 14"));
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..3000), sign: bool) {
        let mut bytes = bytes;
        if sign && bytes.len() > 600 {
            bytes[512..520].copy_from_slice(b"EFI PART");
            let sum = { bytes[528..532].fill(0); bytes[524..528].copy_from_slice(&92u32.to_le_bytes()); crc32fast::hash(&bytes[512..604.min(bytes.len())]) };
            bytes[528..532].copy_from_slice(&sum.to_le_bytes());
        }
        let _ = Table::parse(&bytes, 512);
        let _ = Table::parse(&bytes, 4096);
    }
}
