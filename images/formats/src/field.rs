//! Fields of binary structures at fixed offsets; none when the structure is too short.

fn bytes<const N: usize>(from: &[u8], offset: usize) -> Option<[u8; N]> {
    from.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

pub(crate) fn be32(from: &[u8], offset: usize) -> Option<u32> {
    bytes(from, offset).map(u32::from_be_bytes)
}

pub(crate) fn be64(from: &[u8], offset: usize) -> Option<u64> {
    bytes(from, offset).map(u64::from_be_bytes)
}

pub(crate) fn le16(from: &[u8], offset: usize) -> Option<u16> {
    bytes(from, offset).map(u16::from_le_bytes)
}

pub(crate) fn le32(from: &[u8], offset: usize) -> Option<u32> {
    bytes(from, offset).map(u32::from_le_bytes)
}

pub(crate) fn le64(from: &[u8], offset: usize) -> Option<u64> {
    bytes(from, offset).map(u64::from_le_bytes)
}

pub(crate) fn array<const N: usize>(from: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes(from, offset)
}
