//! The partition table of the PC BIOS in the first sector of a disk.
//!
//! Source: UEFI 2.10, section 5.2. Logical partitions are left alone: their table lies inside an extended one and moves with nothing.

use crate::field::{array, le16, le32};

/// Offset of the four entries.
const ENTRIES: usize = 446;
const ENTRY: usize = 16;

/// Type of the partition that stands for a GPT.
pub const PROTECTIVE: u8 = 0xee;
/// Linux data.
pub const LINUX: u8 = 0x83;
/// FAT with 32-bit sector numbers; what a config drive is.
pub const FAT_LBA: u8 = 0x0e;

/// Why there is no table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MbrError {
    /// No 55 AA at the end, or less than a sector.
    #[error("the first sector has no boot signature")]
    NoSignature,
    /// A boot sector of a file system has the same signature.
    #[error("entry {0} of the MBR is no partition")]
    BadEntry(u8),
}

/// One of the four entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// 1 to 4.
    pub number: u8,
    /// What it holds.
    pub kind: u8,
    /// Whether the BIOS shall start it.
    pub active: bool,
    /// First sector.
    pub first: u32,
    /// Length in sectors.
    pub sectors: u32,
}

impl Entry {
    /// Last sector.
    #[must_use]
    pub fn last(&self) -> u64 {
        u64::from(self.first) + u64::from(self.sectors) - 1
    }

    /// Whether it holds logical partitions.
    #[must_use]
    pub fn is_extended(&self) -> bool {
        matches!(self.kind, 0x05 | 0x0f | 0x85)
    }
}

/// The first sector's table, with the rest of the sector as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mbr {
    entries: [Option<Entry>; 4],
    /// Disk signature at offset 440; boot configurations refer to it, even when it is zero.
    pub signature: u32,
}

impl Mbr {
    /// Reads the table in the first 512 bytes of `head`.
    ///
    /// # Errors
    /// No signature, or entries that a partition table never has.
    pub fn parse(head: &[u8]) -> Result<Self, MbrError> {
        if le16(head, 510) != Some(0xaa55) {
            return Err(MbrError::NoSignature);
        }
        let mut entries = [None; 4];
        for (slot, number) in entries.iter_mut().zip(1u8..) {
            let at = ENTRIES + ENTRY * usize::from(number - 1);
            let [status, _, _, _, kind, ..] = array::<16>(head, at).unwrap_or_default();
            let (first, sectors) = (le32(head, at + 8).unwrap_or(0), le32(head, at + 12).unwrap_or(0));
            if kind == 0 {
                continue;
            }
            if status & 0x7f != 0 || first == 0 || sectors == 0 {
                return Err(MbrError::BadEntry(number));
            }
            *slot = Some(Entry { number, kind, active: status & 0x80 != 0, first, sectors });
        }
        Ok(Self { entries, signature: le32(head, 440).unwrap_or(0) })
    }

    /// The entries in use.
    pub fn used(&self) -> impl Iterator<Item = Entry> {
        self.entries.iter().copied().flatten()
    }

    /// Whether it only protects a GPT.
    #[must_use]
    pub fn is_protective(&self) -> bool {
        self.used().any(|entry| entry.kind == PROTECTIVE)
    }

    /// The lowest number that is free.
    #[must_use]
    pub fn free(&self) -> Option<u8> {
        self.entries.iter().zip(1..).find(|(entry, _)| entry.is_none()).map(|(_, number)| number)
    }

    /// Puts an entry in the place that its number says.
    pub fn set(&mut self, entry: Entry) {
        if let Some(slot) = self.entries.get_mut(usize::from(entry.number.saturating_sub(1))) {
            *slot = Some(entry);
        }
    }

    /// Writes the entries into the first sector in `head`. Nothing else of it changes, the disk signature least of all.
    pub fn write_into(&self, head: &mut [u8]) {
        for (entry, index) in self.entries.iter().zip(0..) {
            let at = ENTRIES + ENTRY * index;
            let Some(place) = head.get_mut(at..at + ENTRY) else { return };
            let mut bytes = [0; ENTRY];
            if let Some(entry) = entry {
                // CHS addresses that say "beyond what CHS can say".
                let fixed = [if entry.active { 0x80 } else { 0 }, 0xfe, 0xff, 0xff, entry.kind, 0xfe, 0xff, 0xff];
                let numbers = [entry.first.to_le_bytes(), entry.sectors.to_le_bytes()];
                let all = fixed.into_iter().chain(numbers.into_iter().flatten());
                bytes.iter_mut().zip(all).for_each(|(to, from)| *to = from);
            }
            if entry.is_some() || place.iter().any(|byte| *byte != 0) {
                place.copy_from_slice(&bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sector(entries: &[Entry]) -> Vec<u8> {
        let mut bytes = vec![0x90; 512];
        bytes[440..446].fill(0);
        bytes[446..510].fill(0);
        bytes[510..].copy_from_slice(&[0x55, 0xaa]);
        let mut table = Mbr::parse(&bytes).unwrap();
        entries.iter().for_each(|entry| table.set(*entry));
        table.write_into(&mut bytes);
        bytes
    }

    #[test]
    fn what_is_written_is_read_and_the_code_stays() {
        let root = Entry { number: 1, kind: LINUX, active: true, first: 2048, sectors: 4096 };
        let seed = Entry { number: 3, kind: FAT_LBA, active: false, first: 8192, sectors: 131_072 };
        let bytes = sector(&[root, seed]);
        let table = Mbr::parse(&bytes).unwrap();
        assert_eq!(table.used().collect::<Vec<_>>(), [root, seed]);
        assert_eq!((table.free(), table.signature, root.last()), (Some(2), 0, 6143));
        assert!(bytes[..440].iter().all(|byte| *byte == 0x90));
        assert!(!table.is_protective());
    }

    #[test]
    fn a_boot_sector_of_a_file_system_is_no_table() {
        let mut bytes = vec![0x41; 512];
        bytes[510..].copy_from_slice(&[0x55, 0xaa]);
        assert_eq!(Mbr::parse(&bytes), Err(MbrError::BadEntry(1)));
        assert_eq!(Mbr::parse(&[0; 512]), Err(MbrError::NoSignature));
        assert_eq!(Mbr::parse(&[0; 5]), Err(MbrError::NoSignature));
    }
}
