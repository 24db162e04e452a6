//! Boot entries as firmware keeps them: `EFI_LOAD_OPTION` with the device path of a file on a partition.
//!
//! Source: UEFI 2.10, sections 3.1.3 and 10.3.

use crate::field::{array, le16, le32, le64};
use crate::guid::Guid;

/// The entry may be started by itself.
pub const ACTIVE: u32 = 1;

const MEDIA: u8 = 4;
const HARD_DRIVE: u8 = 1;
const FILE_PATH: u8 = 4;
const END: u8 = 0x7f;
/// Most nodes that are looked at.
const MOST_NODES: usize = 64;

/// A partition in a device path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HardDrive {
    /// As the table counts.
    pub number: u32,
    /// First sector.
    pub first: u64,
    /// Length in sectors.
    pub sectors: u64,
    /// The partition's own name; only a GPT has one.
    pub id: Option<Guid>,
}

/// A boot entry, as far as it is understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadOption {
    /// See [`ACTIVE`].
    pub attributes: u32,
    /// For people.
    pub description: String,
    /// Where, if that is a partition.
    pub drive: Option<HardDrive>,
    /// What, with backslashes.
    pub file: Option<String>,
    bytes: Vec<u8>,
}

impl LoadOption {
    /// An active entry for `file` on the partition `drive`.
    #[must_use]
    pub fn new(description: &str, drive: HardDrive, file: &str) -> Self {
        let mut path = node(MEDIA, HARD_DRIVE, &{
            let mut data = Vec::with_capacity(38);
            data.extend(drive.number.to_le_bytes());
            data.extend(drive.first.to_le_bytes());
            data.extend(drive.sectors.to_le_bytes());
            data.extend(drive.id.unwrap_or_default().0);
            // GPT, signature is a GUID.
            data.extend([2, 2]);
            data
        });
        path.extend(node(MEDIA, FILE_PATH, &terminated(file)));
        path.extend(node(END, 0xff, &[]));
        let mut bytes = ACTIVE.to_le_bytes().to_vec();
        bytes.extend(u16::try_from(path.len()).unwrap_or_default().to_le_bytes());
        bytes.extend(terminated(description));
        bytes.extend(path);
        Self {
            attributes: ACTIVE,
            description: description.to_owned(),
            drive: Some(drive),
            file: Some(file.to_owned()),
            bytes,
        }
    }

    /// Reads an entry; none if it is damaged.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let attributes = le32(bytes, 0)?;
        let path_length = usize::from(le16(bytes, 4)?);
        let units = bytes.get(6..)?.chunks_exact(2).map(|unit| unit.try_into().map_or(0, u16::from_le_bytes));
        let description: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
        let start = 6 + 2 * (description.len() + 1);
        let mut path = bytes.get(start..start.checked_add(path_length)?)?;
        let (mut drive, mut file) = (None, None);
        for _ in 0..MOST_NODES {
            let (Some(kind), Some(subtype), Some(length)) = (path.first(), path.get(1), le16(path, 2)) else { break };
            let Some((node, rest)) = path.split_at_checked(usize::from(length)).filter(|(node, _)| node.len() >= 4)
            else {
                break;
            };
            match (*kind, *subtype) {
                (MEDIA, HARD_DRIVE) => drive = hard_drive(node),
                (MEDIA, FILE_PATH) => file = Some(text(node.get(4..).unwrap_or_default())),
                (END, _) => break,
                _ => {}
            }
            path = rest;
        }
        Some(Self {
            attributes,
            description: String::from_utf16_lossy(&description),
            drive,
            file,
            bytes: bytes.to_vec(),
        })
    }

    /// As the variable holds it. What was not understood of a parsed entry is kept.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same entry, which is not started by itself any more.
    #[must_use]
    pub fn inactive(&self) -> Self {
        let mut entry = self.clone();
        entry.attributes &= !ACTIVE;
        if let Some(place) = entry.bytes.get_mut(..4) {
            place.copy_from_slice(&entry.attributes.to_le_bytes());
        }
        entry
    }

    /// Whether it starts the same file as `other`.
    #[must_use]
    pub fn starts_the_same(&self, other: &Self) -> bool {
        let file = |entry: &Self| entry.file.as_ref().map(|file| file.to_lowercase());
        let id = |entry: &Self| entry.drive.and_then(|drive| drive.id);
        id(self).is_some() && id(self) == id(other) && file(self) == file(other)
    }
}

fn hard_drive(node: &[u8]) -> Option<HardDrive> {
    let is_guid = node.get(41) == Some(&2);
    Some(HardDrive {
        number: le32(node, 4)?,
        first: le64(node, 8)?,
        sectors: le64(node, 16)?,
        id: is_guid.then(|| array(node, 24).map(Guid)).flatten(),
    })
}

fn node(kind: u8, subtype: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, subtype];
    bytes.extend(u16::try_from(data.len() + 4).unwrap_or_default().to_le_bytes());
    bytes.extend(data);
    bytes
}

fn terminated(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

fn text(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|unit| unit.try_into().map_or(0, u16::from_le_bytes));
    char::decode_utf16(units.take_while(|unit| *unit != 0)).map(|c| c.unwrap_or('\u{fffd}')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> HardDrive {
        HardDrive { number: 1, first: 2048, sectors: 196_608, id: Some(Guid([7; 16])) }
    }

    #[test]
    fn what_is_made_is_read() {
        let made = LoadOption::new("Debian ü", drive(), r"\EFI\debian\shimx64.efi");
        assert_eq!(LoadOption::parse(made.bytes()).unwrap(), made);
        let asleep = LoadOption::parse(made.inactive().bytes()).unwrap();
        assert_eq!((asleep.attributes, asleep.drive), (0, Some(drive())));
        assert!(asleep.starts_the_same(&LoadOption::new("x", drive(), r"\efi\DEBIAN\shimx64.efi")));
        assert!(!asleep.starts_the_same(&LoadOption::new("x", drive(), r"\EFI\BOOT\BOOTX64.EFI")));
        assert_eq!(made.bytes().get(..6).unwrap(), [1, 0, 0, 0, 42 + 52 + 4, 0]);
    }

    /// An entry of OVMF for its own network boot: it has neither partition nor file, and must survive as it is.
    #[test]
    fn foreign_entries_keep_every_byte() {
        let mut bytes = vec![1, 0, 0, 0, 10, 0];
        bytes.extend(terminated("UEFI PXEv4"));
        bytes.extend([2, 1, 6, 0, 9, 9, 0x7f, 0xff, 4, 0, 0xaa, 0xbb]);
        let entry = LoadOption::parse(&bytes).unwrap();
        assert_eq!((entry.description.as_str(), entry.drive, entry.file.clone()), ("UEFI PXEv4", None, None));
        assert_eq!(entry.bytes(), bytes);
        assert_eq!(entry.inactive().bytes()[4..], bytes[4..]);
    }

    #[test]
    fn damage_is_no_entry() {
        let made = LoadOption::new("x", drive(), "y");
        for length in 0..made.bytes().len() {
            assert_eq!(LoadOption::parse(&made.bytes()[..length]), None, "{length}");
        }
    }
}
