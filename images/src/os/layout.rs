//! Where the partitions of an image are, and the bytes of its partition table. Arithmetic only; no file is touched here.
//!
//! Source of the protective MBR: UEFI 2.10, section 5.2.

use bessemer_image_formats::gpt::{self, Partition, Table};
use bessemer_image_formats::guid::Guid;
use uuid::Uuid;

use super::error::OsImageError;

const MIB: u64 = 1 << 20;

/// Left free behind the root for the seed partition that is added when the image is written.
const SEED_MIB: u64 = 64;

/// Where GRUB has its second stage for a BIOS, which a GPT leaves no other room for.
const BIOS_BOOT: Guid = Guid::new(0x2168_6148_6449_6E6F_744E_6565_6445_4649);

/// Sizes of disks' sectors that there are images for, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sector {
    /// All disks but 4Kn ones; boots under BIOS and UEFI.
    Bytes512,
    /// 4Kn disks; no BIOS boots from them.
    Bytes4096,
}

impl Sector {
    /// In bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bytes512 => 512,
            Self::Bytes4096 => 4096,
        }
    }

    /// FAT32 has no fewer clusters than 65,525, and a cluster is no smaller than a sector.
    fn esp_mib(self) -> u64 {
        match self {
            Self::Bytes512 => 96,
            Self::Bytes4096 => 264,
        }
    }
}

/// A disk: GRUB's partition (not on 4Kn), the EFI system partition, the root, free space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Name of the disk; the partitions' names follow from it.
    disk: Uuid,
    sector: Sector,
    root_mib: u64,
}

/// Where the number of a partition is part of something else: GRUB's prefix.
pub(super) const ESP_NUMBER: u32 = 2;
const ROOT_NUMBER: u32 = 3;

impl Layout {
    /// A layout with a root of this length in MiB. Errors if that is nothing or too much.
    pub(super) fn new(disk: Uuid, sector: Sector, root_mib: u64) -> Result<Self, OsImageError> {
        if !(1..=1 << 20).contains(&root_mib) {
            return Err(OsImageError::Layout(format!("a root of {root_mib} MiB")));
        }
        Ok(Self { disk, sector, root_mib })
    }

    /// GRUB's partition in bytes: offset and length. The BIOS of a 4Kn disk would not get as far.
    pub(super) fn bios(&self) -> Option<(u64, u64)> {
        (self.sector == Sector::Bytes512).then_some((MIB, MIB))
    }

    /// The EFI system partition in bytes: offset and length.
    pub(super) fn esp(&self) -> (u64, u64) {
        (2 * MIB, self.sector.esp_mib() * MIB)
    }

    /// Where the root starts, in bytes.
    pub(super) fn root_offset(&self) -> u64 {
        let (offset, length) = self.esp();
        offset + length
    }

    /// Length of the disk in bytes. The last MiB has the backup table.
    pub(super) fn disk_size(&self) -> u64 {
        self.root_offset() + (self.root_mib + SEED_MIB + 1) * MIB
    }

    fn sectors(&self) -> u64 {
        self.disk_size() / self.sector.bytes()
    }

    fn table(&self) -> Table {
        let partition = |number: u32, kind, (offset, length): (u64, u64), name: &str| Partition {
            number,
            kind,
            id: Guid(partition_id(self.disk, number).to_bytes_le()),
            first: offset / self.sector.bytes(),
            last: (offset + length) / self.sector.bytes() - 1,
            attributes: 0,
            name: name.to_owned(),
        };
        let mut table = Table::new(self.sector.bytes(), Guid(self.disk.to_bytes_le()));
        table.partitions.extend(self.bios().map(|place| partition(1, BIOS_BOOT, place, "bios")));
        table.partitions.push(partition(ESP_NUMBER, gpt::ESP, self.esp(), "esp"));
        let root = (self.root_offset(), self.root_mib * MIB);
        table.partitions.push(partition(ROOT_NUMBER, gpt::LINUX_ROOT_X86_64, root, "root"));
        table
    }

    /// What goes at the start of the disk: protective MBR, header, entries. `active` sets the flag without which some BIOSes do not
    /// start a disk; some UEFI firmwares take a table with it for no GPT.
    pub(super) fn primary(&self, active: bool) -> Vec<u8> {
        let table = self.table();
        let mut bytes = self.protective_mbr(active);
        let (header, entries) = table.primary(self.sectors());
        bytes.extend(header);
        bytes.extend(entries);
        bytes
    }

    /// What goes at the end of the disk, and the offset in bytes where.
    pub(super) fn backup(&self) -> (u64, Vec<u8>) {
        let (sector, bytes) = self.table().backup(self.sectors());
        (sector * self.sector.bytes(), bytes)
    }

    fn protective_mbr(&self, active: bool) -> Vec<u8> {
        let mut mbr = vec![0; 446];
        let sectors = u32::try_from(self.sectors() - 1).unwrap_or(u32::MAX);
        mbr.extend([if active { 0x80 } else { 0 }, 0x00, 0x02, 0x00, 0xee, 0xff, 0xff, 0xff]);
        mbr.extend(1u32.to_le_bytes());
        mbr.extend(sectors.to_le_bytes());
        mbr.resize(510, 0);
        mbr.extend([0x55, 0xaa]);
        mbr.resize(self.sector.bytes() as usize, 0);
        mbr
    }
}

/// Name of the root partition of `disk`, by which the kernel finds it.
pub(super) fn root_id(disk: Uuid) -> Uuid {
    partition_id(disk, ROOT_NUMBER)
}

fn partition_id(disk: Uuid, number: u32) -> Uuid {
    Uuid::from_u128(disk.as_u128() ^ u128::from(number))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::process::Command;

    use super::*;

    const DISK: Uuid = Uuid::from_u128(0x11111111_2222_4333_8444_555555555555);

    fn layout(sector: Sector) -> Layout {
        Layout::new(DISK, sector, 1024).unwrap()
    }

    #[test]
    fn partitions_follow_each_other_and_leave_room_for_the_seed() {
        let layout = layout(Sector::Bytes512);
        assert_eq!((layout.bios(), layout.esp()), (Some((MIB, MIB)), (2 * MIB, 96 * MIB)));
        assert_eq!(layout.root_offset(), 98 * MIB);
        assert_eq!(layout.disk_size(), (98 + 1024 + 64 + 1) * MIB);
        assert_eq!(layout.primary(false).len(), 34 * 512);
        assert!(Layout::new(Uuid::nil(), Sector::Bytes512, 0).is_err());
        assert_eq!(layout.primary(true)[446..448], [0x80, 0]);
        assert_eq!(layout.primary(false)[446..448], [0, 0]);
    }

    #[test]
    fn a_4kn_disk_has_nothing_for_a_bios() {
        let layout = layout(Sector::Bytes4096);
        let head = layout.primary(false);
        assert_eq!(head.len(), (2 + 4) * 4096);
        let table = Table::parse(&head, 4096).unwrap();
        let firsts: Vec<(u32, u64)> = table.partitions.iter().map(|part| (part.number, part.first * 4096)).collect();
        assert_eq!(firsts, [(2, 2 * MIB), (3, 266 * MIB)]);
        let (at, backup) = layout.backup();
        assert_eq!(at + backup.len() as u64, layout.disk_size());
    }

    /// sfdisk checks both headers' sums when it reads a table.
    #[test]
    fn sfdisk_reads_the_table() {
        let layout = layout(Sector::Bytes512);
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(layout.disk_size()).unwrap();
        let (at, backup) = layout.backup();
        file.as_file().write_all_at(&layout.primary(false), 0).unwrap();
        file.as_file().write_all_at(&backup, at).unwrap();
        let Ok(output) = Command::new("/sbin/sfdisk").arg("--json").arg(file.path()).output() else {
            println!("SKIP no sfdisk");
            return;
        };
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let table: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let table = &table["partitiontable"];
        assert_eq!(table["id"], "11111111-2222-4333-8444-555555555555");
        assert_eq!(table["partitions"][0]["type"], "21686148-6449-6E6F-744E-656564454649");
        assert_eq!(table["partitions"][1]["size"], 96 * 2048);
        assert_eq!(table["partitions"][2]["start"], 98 * 2048);
        assert_eq!(table["partitions"][2]["size"], 1024 * 2048);
        assert_eq!(table["partitions"][2]["uuid"], root_id(DISK).to_string().to_uppercase());
        assert_eq!(table["lastlba"], layout.disk_size() / 512 - 34);
    }
}
