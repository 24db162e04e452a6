//! The table as bytes: structures one after the other, each with fixed fields and then strings. Every read is bounded by the structure.

/// A table.
#[derive(Debug, Clone, Copy)]
pub(in crate::ramdisk::inspect) struct Table<'a>(&'a [u8]);

/// One structure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Structure<'a> {
    pub(super) kind: u8,
    fields: &'a [u8],
    strings: &'a [u8],
}

impl<'a> Table<'a> {
    /// More than [`super::LARGEST`] is not looked at.
    pub(in crate::ramdisk::inspect) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.get(..super::LARGEST).unwrap_or(bytes))
    }

    /// Up to the end-of-table structure, or to the first that makes no sense.
    pub(super) fn structures(self) -> impl Iterator<Item = Structure<'a>> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (kind, length) = (*rest.first()?, usize::from(*rest.get(1)?));
            if kind == 127 || length < 4 {
                return None;
            }
            let (fields, after) = rest.split_at_checked(length)?;
            // Strings end with an empty one; without any there are two zeroes all the same.
            let end = after.windows(2).position(|pair| pair == [0, 0])?;
            let (strings, after) = after.split_at_checked(end + 1)?;
            rest = after.get(1..)?;
            Some(Structure { kind, fields, strings })
        })
    }
}

impl Structure<'_> {
    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.fields.get(at).copied()
    }

    pub(super) fn word(&self, at: usize) -> Option<u16> {
        self.bytes(at).map(u16::from_le_bytes)
    }

    pub(super) fn double(&self, at: usize) -> Option<u32> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    pub(super) fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.fields.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    /// Everything from `at` on.
    pub(super) fn from(&self, at: usize) -> &[u8] {
        self.fields.get(at..).unwrap_or_default()
    }

    /// The string whose number is at `at`; empty when there is none. Letters that cannot be printed are dropped.
    pub(super) fn text(&self, at: usize) -> String {
        let Some(number) = self.byte(at).filter(|number| *number > 0) else { return String::new() };
        let bytes = self.strings.split(|byte| *byte == 0).nth(usize::from(number) - 1).unwrap_or_default();
        let text: String = String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).take(256).collect();
        text.trim().to_owned()
    }
}

/// Major and minor version in an entry point of either kind; that of the newest rules when it is neither.
pub(super) fn version(entry: &[u8]) -> (u8, u8) {
    let at = |offset: usize| entry.get(offset).copied().unwrap_or(0);
    match entry {
        [b'_', b'S', b'M', b'3', b'_', ..] => (at(7), at(8)),
        [b'_', b'S', b'M', b'_', ..] => (at(6), at(7)),
        _ => (3, 0),
    }
}
