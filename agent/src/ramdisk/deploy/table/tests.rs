//! Tables of images on disks of other sizes.

use super::*;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

fn mbr_image(entries: &[Entry], signature: u32) -> Vec<u8> {
    let mut head = vec![0; 1 << 20];
    head[440..444].copy_from_slice(&signature.to_le_bytes());
    head[510..512].copy_from_slice(&[0x55, 0xaa]);
    let mut table = Mbr::parse(&head).unwrap();
    entries.iter().for_each(|entry| table.set(*entry));
    table.write_into(&mut head);
    head
}

fn entry(number: u8, kind: u8, first: u32, sectors: u32) -> Entry {
    Entry { number, kind, active: number == 1, first, sectors }
}

fn planned(head: &[u8], size: u64, sector: u64) -> Result<(Plan, Vec<u8>), String> {
    let plan = plan(head, size, sector, "config-2")?;
    let mut head = head.to_vec();
    plan.put_into(&mut head);
    Ok((plan, head))
}

#[test]
fn c172_a_disk_signature_of_zero_stays() {
    let image = mbr_image(&[entry(1, LINUX, 2048, 100_000)], 0);
    let (plan, head) = planned(&image, GIB, 512).unwrap();
    assert_eq!(head[440..446], [0; 6]);
    let table = Mbr::parse(&head).unwrap();
    assert_eq!(table.used().next().unwrap().kind, LINUX);
    assert!(table.used().next().unwrap().active, "the flag that boots it stays");
    let seed = (GIB - SEED_BYTES) / 512;
    assert_eq!(
        plan.partitions(),
        [format!("1 type 83 2048-{}", seed - 1), format!("2 type 0e {seed}-{}", GIB / 512 - 1)]
    );
    assert_eq!(plan.partitions(), partitions(&head, &[0; 512], 512).unwrap());
    assert_eq!(seed_place(&head, 512, "config-2").unwrap(), (GIB - SEED_BYTES, SEED_BYTES));
    assert_eq!(plan.backup(), None);
}

#[test]
fn c179_on_a_disk_over_2_tib_everything_stays_below() {
    let image = mbr_image(&[entry(1, LINUX, 2048, 100_000)], 1);
    let (plan, head) = planned(&image, 3 * TIB, 512).unwrap();
    assert_eq!(plan.seed_start + SEED_BYTES, 2 * TIB);
    assert_eq!(plan.root.unwrap().start + plan.root.unwrap().length, plan.seed_start);
    assert_eq!(seed_place(&head, 512, "config-2").unwrap().0, plan.seed_start);
}

#[test]
fn c174_garbage_is_no_disk() {
    let mut state = 1u32;
    let garbage: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(1 << 20)
    .collect();
    assert_eq!(plan(&garbage, GIB, 512, "config-2").unwrap_err(), "it has no partition table");
}

#[test]
fn an_mbr_that_cannot_take_the_seed_says_why() {
    let four = [1, 2, 3, 4].map(|number| entry(number, LINUX, 2048 * u32::from(number), 2048));
    for (image, size, sector, expected) in [
        (mbr_image(&four, 1), GIB, 512, "all four entries"),
        (mbr_image(&four[..1], 1), GIB, 4096, "sectors of 512 bytes, this disk has 4096"),
        (mbr_image(&[entry(1, LINUX, 2048, 2_000_000)], 1), GIB, 512, "left for the seed"),
        (mbr_image(&[], 1), GIB, 512, "no partition table"),
    ] {
        assert!(plan(&image, size, sector, "config-2").unwrap_err().contains(expected), "{expected}");
    }
}

#[test]
fn a_logical_partition_at_the_end_stays_as_it_is() {
    let image = mbr_image(&[entry(1, LINUX, 2048, 4096), entry(2, 0x05, 8192, 8192)], 1);
    let (plan, _) = planned(&image, GIB, 512).unwrap();
    assert_eq!(plan.root, None);
    assert_eq!(plan.partitions()[1], "2 type 05 8192-16383");
}

fn gpt_image(sector: u64, last_kind: Guid) -> Vec<u8> {
    let mut table = Table::new(sector, Guid([1; 16]));
    let unit = MIB / sector;
    let part = |number: u32, kind, first: u64, last: u64, name: &str| Partition {
        number,
        kind,
        id: Guid([number as u8; 16]),
        first: first * unit,
        last: last * unit - 1,
        attributes: 4,
        name: name.into(),
    };
    table.partitions = vec![part(1, last_kind, 100, 300, "root"), part(15, gpt::ESP, 1, 100, "esp")];
    let sectors = 400 * unit;
    let mut head = vec![0; 1 << 20];
    head[..512].copy_from_slice(&gpt::protective_mbr(sectors));
    let (header, entries) = table.primary(sectors);
    let at = sector as usize;
    head[at..2 * at].copy_from_slice(&header);
    head[2 * at..2 * at + entries.len()].copy_from_slice(&entries);
    head
}

#[test]
fn the_backup_moves_to_the_end_and_the_root_grows_for_both_sector_sizes() {
    for sector in [512, 4096] {
        let (plan, head) = planned(&gpt_image(sector, gpt::LINUX_DATA), 10 * GIB, sector).unwrap();
        let (start, backup) = plan.backup().unwrap();
        assert_eq!(start + backup.len() as u64, 10 * GIB);
        let last = &backup[backup.len() - sector as usize..];
        let read = partitions(&head, last, sector).unwrap();
        assert_eq!(read, plan.partitions());
        assert_eq!(read.len(), 3, "{read:?}");
        let root = plan.root.unwrap();
        assert_eq!((root.number, root.start, root.start + root.length), (1, 100 * MIB, plan.seed_start));
        assert!(plan.seed_start % MIB == 0 && plan.seed_start + SEED_BYTES <= start);
        let covered = u32::from_le_bytes(head[458..462].try_into().unwrap());
        assert_eq!(u64::from(covered), 10 * GIB / sector - 1);
        assert!(partitions(&head, &vec![0; sector as usize], sector).is_err(), "without a backup");
    }
}

#[test]
fn a_table_for_other_sectors_is_refused_in_words() {
    for (made_for, disk) in [(512, 4096), (4096, 512)] {
        let why = plan(&gpt_image(made_for, gpt::LINUX_DATA), GIB, disk, "config-2").unwrap_err();
        assert_eq!(why, format!("it was made for disks with sectors of {made_for} bytes, this disk has {disk}"));
    }
}

#[test]
fn what_is_no_linux_root_does_not_grow() {
    let (plan, _) = planned(&gpt_image(512, gpt::BASIC_DATA), GIB, 512).unwrap();
    assert_eq!(plan.root, None);
    assert!(plan.partitions()[0].ends_with(&format!("-{}", 300 * MIB / 512 - 1)));
}
