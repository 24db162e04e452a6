//! The disk's partition table: where the EFI system partition and the root go, and the bytes of
//! the two GPT copies. Arithmetic only; no file is touched here.
//!
//! Source: UEFI 2.10, chapter 5.

use uuid::Uuid;

use super::error::OsImageError;

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;
const MIB: u64 = 1 << 20;
/// Sectors of each copy of the partition entries: 128 entries of 128 bytes.
const ENTRY_SECTORS: u64 = 32;
const ENTRIES: u32 = 128;
const ENTRY_SIZE: u32 = 128;

/// Left free behind the root for the seed partition that is added when the image is written.
const SEED_MIB: u64 = 64;

const ESP_TYPE: Uuid = Uuid::from_u128(0xc12a7328_f81f_11d2_ba4b_00a0c93ec93b);
/// Root of x86-64, by the Discoverable Partitions Specification.
const ROOT_TYPE: Uuid = Uuid::from_u128(0x4f68bce3_e8cd_4db1_96e7_fbcaf984b709);

/// A disk with an EFI system partition, then the root, then free space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Name of the disk; the partitions' names follow from it.
    disk: Uuid,
    esp_mib: u64,
    root_mib: u64,
}

impl Layout {
    /// A layout with partitions of these lengths in MiB. Errors if one is nothing or too much.
    pub(super) fn new(disk: Uuid, esp_mib: u64, root_mib: u64) -> Result<Self, OsImageError> {
        let fits = |mib| (1..=1 << 20).contains(&mib);
        if !fits(esp_mib) || !fits(root_mib) {
            return Err(OsImageError::Layout(format!("partitions of {esp_mib} and {root_mib} MiB")));
        }
        Ok(Self { disk, esp_mib, root_mib })
    }

    /// Where the EFI system partition starts, in bytes.
    pub(super) fn esp_offset(&self) -> u64 {
        MIB
    }

    /// Where the root starts, in bytes.
    pub(super) fn root_offset(&self) -> u64 {
        MIB + self.esp_mib * MIB
    }

    /// Length of the root in MiB.
    pub(super) fn root_mib(&self) -> u64 {
        self.root_mib
    }

    /// Length of the disk in bytes. The last MiB has the backup table.
    pub(super) fn disk_size(&self) -> u64 {
        self.root_offset() + (self.root_mib + SEED_MIB + 1) * MIB
    }

    /// Name of the root partition, by which the kernel finds it.
    pub(super) fn root_id(&self) -> Uuid {
        self.partition_id(2)
    }

    fn partition_id(&self, number: u8) -> Uuid {
        let mut bytes = self.disk.into_bytes();
        if let Some(last) = bytes.last_mut() {
            *last ^= number;
        }
        Uuid::from_bytes(bytes)
    }

    /// What goes at the start of the disk: protective MBR, header, entries.
    pub(super) fn primary(&self) -> Vec<u8> {
        let mut bytes = self.protective_mbr();
        bytes.extend(self.header(1, self.last_sector(), 2));
        bytes.extend(self.entries());
        bytes
    }

    /// What goes at the end of the disk: entries, header.
    pub(super) fn backup(&self) -> Vec<u8> {
        let mut bytes = self.entries();
        bytes.extend(self.header(self.last_sector(), 1, self.last_sector() - ENTRY_SECTORS));
        bytes
    }

    fn last_sector(&self) -> u64 {
        self.disk_size() / SECTOR - 1
    }

    fn protective_mbr(&self) -> Vec<u8> {
        let mut mbr = vec![0; 446];
        let sectors = u32::try_from(self.last_sector()).unwrap_or(u32::MAX);
        mbr.extend([0x00, 0x00, 0x02, 0x00, 0xee, 0xff, 0xff, 0xff]);
        mbr.extend(1u32.to_le_bytes());
        mbr.extend(sectors.to_le_bytes());
        mbr.resize(510, 0);
        mbr.extend([0x55, 0xaa]);
        mbr
    }

    fn header(&self, own: u64, other: u64, entries: u64) -> Vec<u8> {
        let with_sum = |sum: u32| {
            let mut header = Vec::with_capacity(SECTOR as usize);
            header.extend(b"EFI PART");
            header.extend(0x0001_0000u32.to_le_bytes());
            header.extend(92u32.to_le_bytes());
            header.extend(sum.to_le_bytes());
            header.extend(0u32.to_le_bytes());
            let first_usable = 2 + ENTRY_SECTORS;
            let last_usable = self.last_sector() - ENTRY_SECTORS - 1;
            for sector in [own, other, first_usable, last_usable] {
                header.extend(sector.to_le_bytes());
            }
            header.extend(self.disk.to_bytes_le());
            header.extend(entries.to_le_bytes());
            header.extend(ENTRIES.to_le_bytes());
            header.extend(ENTRY_SIZE.to_le_bytes());
            header.extend(crc32fast::hash(&self.entries()).to_le_bytes());
            header
        };
        let mut header = with_sum(crc32fast::hash(&with_sum(0)));
        header.resize(SECTOR as usize, 0);
        header
    }

    fn entries(&self) -> Vec<u8> {
        let partitions = [
            (1, ESP_TYPE, self.esp_offset(), self.esp_mib, "esp"),
            (2, ROOT_TYPE, self.root_offset(), self.root_mib, "root"),
        ];
        let mut bytes = Vec::new();
        for (number, kind, offset, mib, name) in partitions {
            let first = offset / SECTOR;
            let mut entry = Vec::with_capacity(ENTRY_SIZE as usize);
            entry.extend(kind.to_bytes_le());
            entry.extend(self.partition_id(number).to_bytes_le());
            entry.extend(first.to_le_bytes());
            entry.extend((first + mib * MIB / SECTOR - 1).to_le_bytes());
            entry.extend(0u64.to_le_bytes());
            entry.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
            entry.resize(ENTRY_SIZE as usize, 0);
            bytes.extend(entry);
        }
        bytes.resize((ENTRY_SECTORS * SECTOR) as usize, 0);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::process::Command;

    use super::*;

    fn layout() -> Layout {
        Layout::new(Uuid::from_u128(0x11111111_2222_4333_8444_555555555555), 64, 1024).unwrap()
    }

    #[test]
    fn partitions_follow_each_other_and_leave_room_for_the_seed() {
        let layout = layout();
        assert_eq!(layout.esp_offset(), MIB);
        assert_eq!(layout.root_offset(), 65 * MIB);
        assert_eq!(layout.disk_size(), (1 + 64 + 1024 + 64 + 1) * MIB);
        assert_eq!(layout.primary().len() as u64, (2 + ENTRY_SECTORS) * SECTOR);
        assert_eq!(layout.backup().len() as u64, (1 + ENTRY_SECTORS) * SECTOR);
        assert!(Layout::new(Uuid::nil(), 64, 0).is_err());
    }

    /// sfdisk checks both headers' sums when it reads a table.
    #[test]
    fn sfdisk_reads_the_table() {
        let layout = layout();
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(layout.disk_size()).unwrap();
        let backup = layout.backup();
        file.as_file().write_all_at(&layout.primary(), 0).unwrap();
        file.as_file().write_all_at(&backup, layout.disk_size() - backup.len() as u64).unwrap();
        let Ok(output) = Command::new("/sbin/sfdisk").arg("--json").arg(file.path()).output() else {
            return; // no sfdisk on this machine
        };
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let table: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let table = &table["partitiontable"];
        assert_eq!(table["id"], "11111111-2222-4333-8444-555555555555");
        assert_eq!(table["partitions"][0]["size"], 64 * 2048);
        assert_eq!(table["partitions"][1]["start"], 65 * 2048);
        assert_eq!(table["partitions"][1]["size"], 1024 * 2048);
        assert_eq!(table["partitions"][1]["uuid"], layout.root_id().to_string().to_uppercase());
        assert_eq!(table["lastlba"], layout.disk_size() / SECTOR - 34);
    }
}
