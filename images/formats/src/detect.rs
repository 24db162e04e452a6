//! What a file is, by its first bytes. Names and content types lie; magic bytes and declarations must agree.

use crate::field::{le16, le32};

/// So many bytes tell all that can be told: the mark of ISO 9660 is the last to come, at 32 KiB.
pub const ENOUGH: usize = 64 << 10;

/// Kinds of files that are offered as images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No mark of anything else: bytes of a disk, or anything.
    Raw,
    /// QEMU's copy-on-write format.
    Qcow2,
    /// A CD, with a partition table too when `hybrid`.
    Iso {
        /// Whether it also looks like a disk.
        hybrid: bool,
    },
    /// RFC 1952.
    Gzip,
    /// The .xz format.
    Xz,
    /// RFC 8878, a skippable frame included.
    Zstd,
    /// A web page: what a server says in place of an image.
    WebPage,
    /// JSON or other text, which no disk starts with.
    Text,
    /// Known and of no use here, by its name.
    Other(&'static str),
}

impl Kind {
    /// Its name in a sentence.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Qcow2 => "qcow2",
            Self::Iso { hybrid: false } => "an ISO 9660 CD",
            Self::Iso { hybrid: true } => "a hybrid ISO 9660 CD",
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::WebPage => "a web page",
            Self::Text => "text",
            Self::Other(name) => name,
        }
    }
}

/// Marks at fixed offsets.
const MARKS: &[(usize, &[u8], Kind)] = &[
    (0, b"QFI\xfb", Kind::Qcow2),
    (0, &[0x1f, 0x8b, 0x08], Kind::Gzip),
    (0, &[0xfd, b'7', b'z', b'X', b'Z', 0], Kind::Xz),
    (0, &[0x28, 0xb5, 0x2f, 0xfd], Kind::Zstd),
    (0, b"BZh", Kind::Other("bzip2")),
    (0, &[0x04, 0x22, 0x4d, 0x18], Kind::Other("lz4")),
    (0, b"PK\x03\x04", Kind::Other("zip")),
    (0, b"Rar!\x1a\x07", Kind::Other("rar")),
    (0, &[b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c], Kind::Other("7z")),
    (0, b"KDMV", Kind::Other("vmdk")),
    (0, b"COWD", Kind::Other("vmdk")),
    (0, b"# Disk DescriptorFile", Kind::Other("vmdk")),
    (64, &[0x7f, 0x10, 0xda, 0xbe], Kind::Other("vdi")),
    (0, b"vhdxfile", Kind::Other("vhdx")),
    (0, b"conectix", Kind::Other("vhd")),
    (0, b"QED\0", Kind::Other("qed")),
    (0, b"WithoutFreeSpace", Kind::Other("parallels")),
    (0, b"WithouFreSpacExt", Kind::Other("parallels")),
    (0, b"LUKS\xba\xbe", Kind::Other("luks")),
    (0, b"\x7fELF", Kind::Other("an ELF program")),
    (257, b"ustar", Kind::Other("tar")),
];

/// The kind of a file of which `head` is the start; [`ENOUGH`] bytes of it, or all.
#[must_use]
pub fn detect(head: &[u8]) -> Kind {
    let has = |offset: usize, mark: &[u8]| head.get(offset..).is_some_and(|rest| rest.starts_with(mark));
    if let Some((.., kind)) = MARKS.iter().find(|(offset, mark, _)| has(*offset, mark)) {
        return *kind;
    }
    // A zstd file may start with any of sixteen skippable frames; pzstd's does.
    if le32(head, 0).is_some_and(|magic| magic & 0xffff_fff0 == 0x184d_2a50) {
        return Kind::Zstd;
    }
    if has(32769, b"CD001") {
        let table = [512, 2048, 4096].iter().any(|at| has(*at, b"EFI PART"));
        // Entries of such a table may start at sector 0, which no disk's do.
        let signed = le16(head, 510) == Some(0xaa55);
        let partitions =
            signed && [450, 466, 482, 498].iter().any(|kind| head.get(*kind).is_some_and(|kind| *kind != 0));
        return Kind::Iso { hybrid: table || partitions };
    }
    text(head).unwrap_or(Kind::Raw)
}

/// A page or other text, if it starts like one. A boot sector never does: it ends in bytes that no text has.
fn text(head: &[u8]) -> Option<Kind> {
    if le16(head, 510) == Some(0xaa55) {
        return None;
    }
    let start = head.get(..head.len().min(512)).unwrap_or_default();
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let printable = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..);
    if start.is_empty()
        || !start.iter().all(printable)
        || std::str::from_utf8(start).is_err_and(|e| e.error_len().is_some())
    {
        return None;
    }
    let word = start.trim_ascii_start().to_ascii_lowercase();
    let pages: [&[u8]; 3] = [b"<!doctype", b"<html", b"<?xml"];
    Some(if pages.iter().any(|page| word.starts_with(page)) { Kind::WebPage } else { Kind::Text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iso(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = vec![0; ENOUGH];
        bytes[32769..32774].copy_from_slice(b"CD001");
        change(&mut bytes);
        bytes
    }

    #[test]
    fn marks_are_known() {
        for (head, expected) in [
            (&b"QFI\xfb\0\0\0\x03"[..], Kind::Qcow2),
            (b"\x1f\x8b\x08\0", Kind::Gzip),
            (b"\xfd7zXZ\0", Kind::Xz),
            (b"\x28\xb5\x2f\xfd", Kind::Zstd),
            (b"\x5f\x2a\x4d\x18", Kind::Zstd),
            (b"KDMV\x01", Kind::Other("vmdk")),
            (b"  \r\n<!DOCTYPE html><title>404", Kind::WebPage),
            (b"\xef\xbb\xbf<html>", Kind::WebPage),
            (b"{\"errors\":[{\"code\":\"DENIED\"}]}", Kind::Text),
            (b"Not found\n", Kind::Text),
            (b"", Kind::Raw),
            (&[0; 512], Kind::Raw),
            (&[0xeb, 0x63, 0x90, 0x10], Kind::Raw),
        ] {
            assert_eq!(detect(head), expected, "{:?}", String::from_utf8_lossy(head));
        }
    }

    #[test]
    fn c191_a_hybrid_iso_is_told_from_a_disk() {
        assert_eq!(detect(&iso(|_| {})), Kind::Iso { hybrid: false });
        assert_eq!(detect(&iso(|bytes| bytes[512..520].copy_from_slice(b"EFI PART"))), Kind::Iso { hybrid: true });
        let with_mbr = iso(|bytes| {
            bytes[450] = 0x17;
            bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
        });
        assert_eq!(detect(&with_mbr), Kind::Iso { hybrid: true });
    }
}
