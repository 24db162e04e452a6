//! GUID partition tables: reading one out of the start of an image, and making both copies for a disk of another size.
//!
//! Source: UEFI 2.10, section 5.3. Arithmetic only; no file is touched here.

use crate::field::{array, le32, le64};
use crate::guid::Guid;

/// The EFI system partition.
pub const ESP: Guid = Guid::new(0xC12A_7328_F81F_11D2_BA4B_00A0_C93E_C93B);
/// Microsoft basic data, the type of FAT partitions.
pub const BASIC_DATA: Guid = Guid::new(0xEBD0_A0A2_B9E5_4433_87C0_68B6_B726_99C7);
/// Linux file system data.
pub const LINUX_DATA: Guid = Guid::new(0x0FC6_3DAF_8483_4772_8E79_3D69_D847_7DE4);
/// Linux root on x86-64 (Discoverable Partitions Specification).
pub const LINUX_ROOT_X86_64: Guid = Guid::new(0x4F68_BCE3_E8CD_4DB1_96E7_FBCA_F984_B709);
/// Linux root on 64-bit ARM (Discoverable Partitions Specification).
pub const LINUX_ROOT_ARM64: Guid = Guid::new(0xB921_B045_1DF0_41C3_AF44_4C6F_280D_3FAE);
/// Extended boot loader partition (Boot Loader Specification).
pub const XBOOTLDR: Guid = Guid::new(0xBC13_C2FF_59E6_4262_A352_B275_FD6F_7172);

const SIGNATURE: &[u8] = b"EFI PART";
const HEADER: usize = 92;
const ENTRY: usize = 128;
/// Most entries that are believed; the usual number is 128.
const MOST_ENTRIES: u32 = 1024;

/// Why there is no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GptError {
    /// Neither here nor for the other sector size.
    #[error("it has no GUID partition table")]
    Absent,
    /// It is there, for disks with other sectors.
    #[error("it was made for disks with sectors of {made_for} bytes, this disk has {disk}")]
    OtherSectors {
        /// In bytes.
        made_for: u64,
        /// In bytes.
        disk: u64,
    },
    /// A checksum is wrong or a number absurd.
    #[error("its partition table is broken: {0}")]
    Broken(String),
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// From 1.
    pub number: u32,
    /// What it holds.
    pub kind: Guid,
    /// Its own name for life.
    pub id: Guid,
    /// First sector.
    pub first: u64,
    /// Last sector.
    pub last: u64,
    /// Attribute bits.
    pub attributes: u64,
    /// At most 36 UTF-16 units.
    pub name: String,
}

/// A table, without a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Bytes of a sector.
    pub sector: u64,
    /// Name of the disk.
    pub disk: Guid,
    /// Number of entries, used or not.
    pub slots: u32,
    /// Where the entries of the first copy start, in sectors.
    pub entries_at: u64,
    /// First sector that partitions may use.
    pub first_usable: u64,
    /// In order of their numbers.
    pub partitions: Vec<Partition>,
}

fn broken<T>(why: impl Into<String>) -> Result<T, GptError> {
    Err(GptError::Broken(why.into()))
}

impl Table {
    /// An empty table of 128 entries.
    #[must_use]
    pub fn new(sector: u64, disk: Guid) -> Self {
        let first_usable = 2 + (128 * ENTRY as u64).div_ceil(sector);
        Self { sector, disk, slots: 128, entries_at: 2, first_usable, partitions: Vec::new() }
    }

    /// Reads the first copy in `head`, the start of an image; 1 MiB of it is enough for every usual table.
    ///
    /// # Errors
    /// There is none, it is for other sectors, or it is damaged.
    pub fn parse(head: &[u8], sector: u64) -> Result<Self, GptError> {
        let signed = |at: u64| {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            head.get(at..).is_some_and(|rest| rest.starts_with(SIGNATURE))
        };
        if !signed(sector) {
            let other = if sector == 512 { 4096 } else { 512 };
            return Err(if signed(other) {
                GptError::OtherSectors { made_for: other, disk: sector }
            } else {
                GptError::Absent
            });
        }
        let start = usize::try_from(sector).unwrap_or(usize::MAX);
        let header = head.get(start..start.saturating_add(start)).unwrap_or_default();
        let fields = Fields::parse(header)?;
        if fields.own != 1 {
            return broken(format!("its first copy says that it is at sector {}", fields.own));
        }
        let entries_start = fields.entries_at.checked_mul(sector).and_then(|at| usize::try_from(at).ok());
        let length = fields.slots as usize * ENTRY;
        let entries = entries_start.and_then(|at| head.get(at..at.checked_add(length)?));
        let Some(entries) = entries else {
            return broken(format!("its entries are at sector {}, beyond the first MiB", fields.entries_at));
        };
        if crc32fast::hash(entries) != fields.entries_sum {
            return broken("checksum of its entries");
        }
        let mut partitions = Vec::new();
        for (entry, number) in entries.chunks_exact(ENTRY).zip(1..) {
            partitions.extend(Partition::parse(entry, number));
        }
        let table = Self {
            sector,
            disk: fields.disk,
            slots: fields.slots,
            entries_at: fields.entries_at,
            first_usable: fields.first_usable,
            partitions,
        };
        table.check()?;
        Ok(table)
    }

    fn check(&self) -> Result<(), GptError> {
        let mut spans: Vec<(u64, u64, u32)> =
            self.partitions.iter().map(|part| (part.first, part.last, part.number)).collect();
        spans.sort_unstable();
        let mut reached = 0;
        for (first, last, number) in spans {
            if last < first || first < self.first_usable.min(34) || last >= 1 << 52 {
                return broken(format!("partition {number} from sector {first} to {last}"));
            }
            if reached > first {
                return broken(format!("partition {number} overlaps another"));
            }
            reached = last + 1;
        }
        Ok(())
    }

    /// Sectors of one copy of the entries.
    #[must_use]
    pub fn entry_sectors(&self) -> u64 {
        (u64::from(self.slots) * ENTRY as u64).div_ceil(self.sector)
    }

    /// Last sector that partitions may use on a disk of `sectors`.
    #[must_use]
    pub fn last_usable(&self, sectors: u64) -> u64 {
        sectors.saturating_sub(2 + self.entry_sectors())
    }

    /// The lowest number that is free.
    #[must_use]
    pub fn free(&self) -> Option<u32> {
        (1..=self.slots).find(|number| self.partitions.iter().all(|part| part.number != *number))
    }

    /// Header of the first copy for a disk of `sectors`, one sector long, and the entries, to be put at [`Table::entries_at`].
    #[must_use]
    pub fn primary(&self, sectors: u64) -> (Vec<u8>, Vec<u8>) {
        let entries = self.entries();
        (self.header(1, sectors - 1, self.entries_at, sectors, &entries), entries)
    }

    /// The second copy for a disk of `sectors`, and the sector that it starts at; it goes to the disk's end.
    #[must_use]
    pub fn backup(&self, sectors: u64) -> (u64, Vec<u8>) {
        let start = sectors - 1 - self.entry_sectors();
        let mut bytes = self.entries();
        let header = self.header(sectors - 1, 1, start, sectors, &bytes);
        bytes.extend(header);
        (start, bytes)
    }

    /// Whether `last`, the last sector of a disk, is a second copy of this.
    #[must_use]
    pub fn is_backed_up_by(&self, last: &[u8]) -> bool {
        let sum = crc32fast::hash(&self.entries_unpadded());
        Fields::parse(last)
            .is_ok_and(|fields| fields.entries_sum == sum && fields.other == 1 && fields.disk == self.disk)
    }

    fn entries_unpadded(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.slots as usize * ENTRY];
        for partition in &self.partitions {
            let at = (partition.number.saturating_sub(1)) as usize * ENTRY;
            if let Some(place) = bytes.get_mut(at..at + ENTRY) {
                place.copy_from_slice(&partition.bytes());
            }
        }
        bytes
    }

    fn entries(&self) -> Vec<u8> {
        let mut bytes = self.entries_unpadded();
        bytes.resize(usize::try_from(self.entry_sectors() * self.sector).unwrap_or(0), 0);
        bytes
    }

    fn header(&self, own: u64, other: u64, entries_at: u64, sectors: u64, entries: &[u8]) -> Vec<u8> {
        let entries = entries.get(..self.slots as usize * ENTRY).unwrap_or_default();
        let with_sum = |sum: u32| {
            let mut header = Vec::with_capacity(4096);
            header.extend(SIGNATURE);
            for word in [0x0001_0000, HEADER as u32, sum, 0] {
                header.extend(word.to_le_bytes());
            }
            for sector in [own, other, self.first_usable, self.last_usable(sectors)] {
                header.extend(sector.to_le_bytes());
            }
            header.extend(self.disk.0);
            header.extend(entries_at.to_le_bytes());
            for word in [self.slots, ENTRY as u32, crc32fast::hash(entries)] {
                header.extend(word.to_le_bytes());
            }
            header
        };
        let mut header = with_sum(crc32fast::hash(&with_sum(0)));
        header.resize(usize::try_from(self.sector).unwrap_or(512), 0);
        header
    }
}

/// The fields of a header that are of use, with its checksum verified.
struct Fields {
    own: u64,
    other: u64,
    first_usable: u64,
    disk: Guid,
    entries_at: u64,
    slots: u32,
    entries_sum: u32,
}

impl Fields {
    fn parse(header: &[u8]) -> Result<Self, GptError> {
        let word = |offset| le32(header, offset).unwrap_or(0);
        let long = |offset| le64(header, offset).unwrap_or(0);
        let length = word(12) as usize;
        let Some(covered) = header.get(..length).filter(|_| header.starts_with(SIGNATURE) && length >= HEADER) else {
            return broken(format!("header of {length} bytes"));
        };
        let mut covered = covered.to_vec();
        if let Some(sum) = covered.get_mut(16..20) {
            sum.fill(0);
        }
        if crc32fast::hash(&covered) != word(16) {
            return broken("checksum of its header");
        }
        let (slots, entry) = (word(80), word(84));
        if slots == 0 || slots > MOST_ENTRIES || entry as usize != ENTRY {
            return broken(format!("{slots} entries of {entry} bytes"));
        }
        Ok(Self {
            own: long(24),
            other: long(32),
            first_usable: long(40),
            disk: Guid(array(header, 56).unwrap_or_default()),
            entries_at: long(72),
            slots,
            entries_sum: word(88),
        })
    }
}

impl Partition {
    fn parse(entry: &[u8], number: u32) -> Option<Self> {
        let kind = Guid(array(entry, 0)?);
        let units = entry.get(56..)?.chunks_exact(2).map(|unit| unit.try_into().map_or(0, u16::from_le_bytes));
        let name = char::decode_utf16(units.take_while(|unit| *unit != 0)).map(|c| c.unwrap_or('\u{fffd}')).collect();
        (!kind.is_nil()).then_some(())?;
        Some(Self {
            number,
            kind,
            id: Guid(array(entry, 16)?),
            first: le64(entry, 32)?,
            last: le64(entry, 40)?,
            attributes: le64(entry, 48)?,
            name,
        })
    }

    fn bytes(&self) -> [u8; ENTRY] {
        let numbers = [self.first, self.last, self.attributes].into_iter().flat_map(u64::to_le_bytes);
        let name = self.name.encode_utf16().take(36).flat_map(u16::to_le_bytes);
        let all = self.kind.0.into_iter().chain(self.id.0).chain(numbers).chain(name);
        let mut bytes = [0; ENTRY];
        bytes.iter_mut().zip(all).for_each(|(to, from)| *to = from);
        bytes
    }

    /// Whether it is of a type that a Linux root has.
    #[must_use]
    pub fn may_be_root(&self) -> bool {
        [LINUX_DATA, LINUX_ROOT_X86_64, LINUX_ROOT_ARM64].contains(&self.kind)
    }
}

/// The protective MBR of a disk of `sectors`: 512 bytes with nothing to start.
#[must_use]
pub fn protective_mbr(sectors: u64) -> Vec<u8> {
    let mut mbr = vec![0; 446];
    mbr.extend([0x00, 0x00, 0x02, 0x00, crate::mbr::PROTECTIVE, 0xff, 0xff, 0xff]);
    mbr.extend(1u32.to_le_bytes());
    mbr.extend(u32::try_from(sectors.saturating_sub(1)).unwrap_or(u32::MAX).to_le_bytes());
    mbr.resize(510, 0);
    mbr.extend([0x55, 0xaa]);
    mbr
}

#[cfg(test)]
mod tests;
