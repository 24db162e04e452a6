//! Unified kernel images: a PE program whose sections are a kernel, its ramdisk and its command line.
//!
//! Source: PE/COFF specification; UAPI group, unified kernel image.

use std::ops::Range;

use crate::field::{array, le16, le32};

/// Bytes of a file's start that hold all headers.
pub const ENOUGH: usize = 64 << 10;

/// Most sections that are looked at.
const MOST_SECTIONS: u16 = 96;

/// Where the parts of a unified kernel image are in its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// The kernel.
    pub kernel: Range<u64>,
    /// Processor microcode, which goes before the ramdisk.
    pub microcode: Option<Range<u64>>,
    /// The ramdisk.
    pub initrd: Option<Range<u64>>,
    /// The command line.
    pub command_line: Option<Range<u64>>,
}

/// Why a file is no unified kernel image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PeError {
    /// No PE program.
    #[error("no PE program")]
    NotPe,
    /// A boot loader, for example.
    #[error("a PE program without a kernel in it")]
    NoKernel,
    /// A section outside the file.
    #[error("its section {0} is not inside the file")]
    Outside(u16),
}

impl Parts {
    /// Reads the headers in `head`, the start of a file of `length` bytes.
    ///
    /// # Errors
    /// It is something else or damaged.
    pub fn parse(head: &[u8], length: u64) -> Result<Self, PeError> {
        let start = le32(head, 0x3c).filter(|_| head.starts_with(b"MZ")).and_then(|start| usize::try_from(start).ok());
        let start = start.filter(|start| *start < ENOUGH).ok_or(PeError::NotPe)?;
        if !head.get(start..).is_some_and(|rest| rest.starts_with(b"PE\0\0")) {
            return Err(PeError::NotPe);
        }
        let (count, optional) = (le16(head, start + 6), le16(head, start + 20));
        let (Some(count), Some(optional)) = (count, optional) else { return Err(PeError::NotPe) };
        let mut parts = Self::default();
        for number in 0..count.min(MOST_SECTIONS) {
            let at = start + 24 + usize::from(optional) + 40 * usize::from(number);
            let field = |offset| le32(head, at + offset).map(u64::from).ok_or(PeError::NotPe);
            let name: [u8; 8] = array(head, at).ok_or(PeError::NotPe)?;
            // On the disk a section is padded; its virtual size is the true one.
            let (size, stored, offset) = (field(8)?, field(16)?, field(20)?);
            let range = offset..offset + size.min(stored);
            let wanted = match &name {
                b".linux\0\0" => &mut Some(Range::default()),
                b".initrd\0" => &mut parts.initrd,
                b".ucode\0\0" => &mut parts.microcode,
                b".cmdline" => &mut parts.command_line,
                _ => continue,
            };
            if range.end > length || range.start == 0 {
                return Err(PeError::Outside(number));
            }
            if &name == b".linux\0\0" {
                parts.kernel = range;
            } else {
                *wanted = Some(range);
            }
        }
        if parts.kernel.is_empty() { Err(PeError::NoKernel) } else { Ok(parts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headers of a program with these sections: name, size, stored, offset.
    fn program(sections: &[(&[u8; 8], u32, u32, u32)]) -> Vec<u8> {
        let mut bytes = vec![0; 0x200];
        bytes[..2].copy_from_slice(b"MZ");
        bytes[0x3c] = 0x80;
        bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
        bytes[0x86] = sections.len() as u8;
        bytes[0x94] = 16;
        for (index, (name, size, stored, offset)) in sections.iter().enumerate() {
            let at = 0x80 + 24 + 16 + 40 * index;
            bytes[at..at + 8].copy_from_slice(*name);
            for (place, value) in [(8, size), (16, stored), (20, offset)] {
                bytes[at + place..at + place + 4].copy_from_slice(&value.to_le_bytes());
            }
        }
        bytes
    }

    #[test]
    fn the_parts_are_found_without_their_padding() {
        let file = program(&[
            (b".text\0\0\0", 10, 512, 512),
            (b".linux\0\0", 1000, 1024, 1024),
            (b".cmdline", 7, 512, 2048),
            (b".initrd\0", 5000, 512, 2560),
        ]);
        let parts = Parts::parse(&file, 4096).unwrap();
        assert_eq!(parts.kernel, 1024..2024);
        assert_eq!(parts.command_line, Some(2048..2055));
        assert_eq!(parts.initrd, Some(2560..3072), "no more than is stored");
        assert_eq!(parts.microcode, None);
    }

    #[test]
    fn other_files_are_not_taken_for_one() {
        let loader = program(&[(b".text\0\0\0", 10, 512, 512)]);
        assert_eq!(Parts::parse(&loader, 4096), Err(PeError::NoKernel));
        let outside = program(&[(b".linux\0\0", 5000, 5000, 1024)]);
        assert_eq!(Parts::parse(&outside, 4096), Err(PeError::Outside(0)));
        for bytes in [&b""[..], b"MZ", &[0x7f; 600], &loader[..0x88]] {
            assert_eq!(Parts::parse(bytes, 4096), Err(PeError::NotPe));
        }
    }
}
