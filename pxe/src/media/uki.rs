//! A unified kernel image (systemd's `.linux`, `.cmdline`, `.initrd` sections in one EFI program), whose initrd is
//! continued by an overlay. The stub finds its initrd by the section header, so header and image size are patched and
//! the new octets follow at the end of the file: the image itself is never copied.

use bytes::Bytes;

use crate::cpio;
use crate::pe::{COFF_HEADER, EFI_APPLICATION, MACHINE_X64, Pe, PeError, SECTION_HEADER, SYMBOLS, field};

/// An image that was read and found fit to be served.
#[derive(Debug, Clone)]
pub struct Uki {
    image: Bytes,
    /// `None`: signed, so not one octet may change.
    splice: Option<Splice>,
}

/// Where the initrd's end and its measures are.
#[derive(Debug, Clone, Copy)]
struct Splice {
    /// Offset of the section's header.
    header: usize,
    /// End of the initrd's content in the file; what follows is padding.
    end: usize,
    /// Start of the initrd in the file.
    start: usize,
    address: u32,
    optional_header: usize,
    section_alignment: u32,
    file_alignment: u32,
}

/// Why an image cannot be served, or not with an overlay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UkiError {
    /// Not an EFI program.
    #[error("the UKI is {0}")]
    Pe(#[from] PeError),
    /// For other machines.
    #[error("the UKI is for machine type {0:#06x}; only x86-64 (0x8664) boots from it")]
    Machine(u16),
    /// A driver or a Windows program.
    #[error("the UKI has subsystem {0}: not an EFI application (10)")]
    Subsystem(u16),
    /// No kernel.
    #[error("the UKI has no section .linux: an EFI program, but no unified kernel image")]
    NoKernel,
    /// Nothing to splice into.
    #[error("the UKI has no section .initrd: build it with the ramdisk in it")]
    NoInitrd,
    /// Something follows the initrd.
    #[error("the UKI's section .initrd is not the last one ({0} follows): build it with .initrd last")]
    InitrdNotLast(String),
    /// Zeros that are in memory only.
    #[error("the UKI's section .initrd is larger in memory than in the file")]
    InitrdCutOff,
    /// Beyond what the headers can say.
    #[error("the UKI and its overlay are larger than 4 GiB")]
    TooLarge,
}

impl Uki {
    /// Reads an image.
    ///
    /// # Errors
    /// [`UkiError`] says why firmware could not boot it, or why no overlay can be added.
    pub fn parse(image: Bytes) -> Result<Self, UkiError> {
        let pe = Pe::parse(&image)?;
        if pe.machine != MACHINE_X64 {
            return Err(UkiError::Machine(pe.machine));
        }
        if pe.subsystem != EFI_APPLICATION {
            return Err(UkiError::Subsystem(pe.subsystem));
        }
        if !pe.sections.iter().any(|section| section.name == ".linux") {
            return Err(UkiError::NoKernel);
        }
        let splice = if pe.signed { None } else { Some(Splice::find(&pe, image.len())?) };
        Ok(Self { image, splice })
    }

    /// Whether it is signed: then it is served as it is, and the agent gets its overlay otherwise.
    pub fn is_signed(&self) -> bool {
        self.splice.is_none()
    }

    /// The image as it was built.
    pub fn image(&self) -> &Bytes {
        &self.image
    }

    /// The image with `overlay` (an uncompressed cpio archive) after its initrd, as pieces to send one after another.
    /// A signed image comes back unchanged.
    ///
    /// # Errors
    /// [`UkiError::TooLarge`].
    pub fn with_overlay(&self, overlay: Bytes) -> Result<Vec<Bytes>, UkiError> {
        let Some(splice) = self.splice else { return Ok(vec![self.image.clone()]) };
        let initrd = splice.end - splice.start;
        let padding = Bytes::from_static(cpio::padding(initrd));
        let size = u32::try_from(initrd + padding.len() + overlay.len()).map_err(|_| UkiError::TooLarge)?;
        let raw_size = round_up(size, splice.file_alignment)?;
        let in_memory = splice.address.checked_add(size).ok_or(UkiError::TooLarge)?;
        let image_size = round_up(in_memory, splice.section_alignment)?;
        let headers_end = splice.header + SECTION_HEADER;
        let mut headers = self.image.get(..headers_end).unwrap_or_default().to_vec();
        put(&mut headers, splice.header + 8, size);
        put(&mut headers, splice.header + 16, raw_size);
        put(&mut headers, splice.optional_header + field::SIZE_OF_IMAGE, image_size);
        let coff = splice.optional_header.saturating_sub(COFF_HEADER);
        put(&mut headers, coff + SYMBOLS, 0);
        put(&mut headers, coff + SYMBOLS + 4, 0);
        // Zero: not computed. UEFI does not look at it.
        put(&mut headers, splice.optional_header + field::CHECKSUM, 0);
        let body = self.image.slice(headers_end..splice.end);
        let tail = Bytes::from(vec![0; usize::try_from(raw_size - size).unwrap_or_default()]);
        Ok(vec![headers.into(), body, padding, overlay, tail])
    }
}

impl Splice {
    /// The initrd may grow only if nothing follows it, neither in the file nor in memory.
    fn find(pe: &Pe, len: usize) -> Result<Self, UkiError> {
        let initrd = pe.sections.iter().find(|section| section.name == ".initrd").ok_or(UkiError::NoInitrd)?;
        let after = |section: &&crate::pe::Section| {
            section.header != initrd.header
                && (section.address >= initrd.address
                    || section.raw_size > 0 && section.raw_offset >= initrd.raw_offset)
        };
        if let Some(other) = pe.sections.iter().find(after) {
            return Err(UkiError::InitrdNotLast(other.name.escape_debug().to_string()));
        }
        if initrd.virtual_size > initrd.raw_size {
            return Err(UkiError::InitrdCutOff);
        }
        let at = |offset: u32| usize::try_from(offset).map_err(|_| UkiError::TooLarge);
        let (start, end) = (at(initrd.raw_offset)?, at(initrd.raw_offset)? + at(initrd.virtual_size)?);
        // binutils put symbols there, for debuggers. They are left out, unless a section's name is among them.
        let end_of_file = at(initrd.raw_offset)? + at(initrd.raw_size)?;
        let named_there = pe.sections.iter().any(|section| section.name.starts_with('/'));
        if end_of_file < len && (at(pe.symbols)? != end_of_file || named_there) {
            return Err(UkiError::InitrdNotLast("data outside all sections".to_owned()));
        }
        // The patched copy is the start of the file up to the last section's header.
        if start < initrd.header + SECTION_HEADER || initrd.header < pe.optional_header + field::DIRECTORIES {
            return Err(PeError::Broken("the section .initrd overlaps the headers").into());
        }
        Ok(Self {
            header: initrd.header,
            start,
            end,
            address: initrd.address,
            optional_header: pe.optional_header,
            section_alignment: pe.section_alignment,
            file_alignment: pe.file_alignment,
        })
    }
}

fn round_up(size: u32, alignment: u32) -> Result<u32, UkiError> {
    size.checked_next_multiple_of(alignment).ok_or(UkiError::TooLarge)
}

fn put(headers: &mut [u8], offset: usize, number: u32) {
    if let Some(place) = headers.get_mut(offset..).and_then(|rest| rest.first_chunk_mut()) {
        *place = number.to_le_bytes();
    }
}

#[cfg(test)]
#[path = "uki_tests.rs"]
mod tests;
