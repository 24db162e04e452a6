//! The headers of EFI programs (Microsoft's "PE Format", PE32+ only): what a boot file is, before firmware finds out.
//!
//! Knows the layout and no more. What a section holds, and which programs are wanted, is its callers' business.

/// A section and where its header is, so that it can be patched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    /// Without the padding.
    pub(crate) name: String,
    /// Octets in memory.
    pub(crate) virtual_size: u32,
    /// Where in memory, from the image's base.
    pub(crate) address: u32,
    /// Octets in the file.
    pub(crate) raw_size: u32,
    /// Where in the file.
    pub(crate) raw_offset: u32,
    /// Offset of the section's header in the file.
    pub(crate) header: usize,
}

/// The headers of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pe {
    /// `IMAGE_FILE_MACHINE_*`.
    pub(crate) machine: u16,
    /// `IMAGE_SUBSYSTEM_*`.
    pub(crate) subsystem: u16,
    /// Multiples of this in memory.
    pub(crate) section_alignment: u32,
    /// Multiples of this in the file.
    pub(crate) file_alignment: u32,
    /// Whether it carries an Authenticode signature.
    pub(crate) signed: bool,
    /// Where the COFF symbol table is in the file, which binutils leave behind the last section; zero for none.
    pub(crate) symbols: u32,
    /// In the order of the section table.
    pub(crate) sections: Vec<Section>,
    /// Offset of the optional header in the file.
    pub(crate) optional_header: usize,
}

/// Octets that are no EFI program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeError {
    /// A web page in the place of the program, as a download that met a proxy or an error page leaves behind.
    #[error("a web page (it begins with `{0}`): the download met a proxy or an error page")]
    WebPage(String),
    /// No PE magic numbers.
    #[error("not an EFI program (no PE header)")]
    NotPe,
    /// 32 bits.
    #[error("not a 64-bit EFI program (optional header {0:#06x} instead of 0x020b)")]
    NotPe32Plus(u16),
    /// Shorter than its own headers say.
    #[error("cut off: {0} lies beyond the end of the file's {1} bytes")]
    CutOff(&'static str, usize),
    /// Headers that contradict themselves.
    #[error("broken headers: {0}")]
    Broken(&'static str),
}

/// x86-64.
pub(crate) const MACHINE_X64: u16 = 0x8664;
/// 64-bit ARM.
pub(crate) const MACHINE_ARM64: u16 = 0xaa64;
/// Programs that firmware starts and that end again (or boot something).
pub(crate) const EFI_APPLICATION: u16 = 10;

/// Offsets within the optional header of PE32+.
pub(crate) mod field {
    pub(crate) const SECTION_ALIGNMENT: usize = 32;
    pub(crate) const FILE_ALIGNMENT: usize = 36;
    pub(crate) const SIZE_OF_IMAGE: usize = 56;
    pub(crate) const CHECKSUM: usize = 64;
    pub(crate) const SUBSYSTEM: usize = 68;
    pub(crate) const DIRECTORIES: usize = 108;
    pub(crate) const CERTIFICATES: usize = 112 + 4 * 8;
}

pub(crate) const SECTION_HEADER: usize = 40;
/// Length of the COFF header, which ends where the optional header begins.
pub(crate) const COFF_HEADER: usize = 20;
/// In the COFF header: where the symbol table is; how many symbols follows.
pub(crate) const SYMBOLS: usize = 8;

impl Pe {
    /// Reads the headers; every section lies within the file afterwards.
    ///
    /// # Errors
    /// [`PeError`] says what the octets are instead.
    pub(crate) fn parse(file: &[u8]) -> Result<Self, PeError> {
        if let Some(start) = web_page(file) {
            return Err(PeError::WebPage(start));
        }
        if file.get(..2) != Some(b"MZ") {
            return Err(PeError::NotPe);
        }
        let pe = u32_at(file, 0x3c).and_then(to_usize).ok_or(PeError::NotPe)?;
        if file.get(pe..).and_then(|rest| rest.get(..4)) != Some(b"PE\0\0") {
            return Err(PeError::NotPe);
        }
        let cut = |what| move || PeError::CutOff(what, file.len());
        let coff = pe.checked_add(4).ok_or(PeError::NotPe)?;
        let coff_u16 = |offset: usize| u16_at(file, coff + offset).ok_or_else(cut("the COFF header"));
        let symbols = u32_at(file, coff + SYMBOLS).ok_or_else(cut("the COFF header"))?;
        let (machine, count, optional_size) = (coff_u16(0)?, coff_u16(2)?, usize::from(coff_u16(16)?));
        let optional_header = coff + COFF_HEADER;
        let optional = file
            .get(optional_header..)
            .and_then(|rest| rest.get(..optional_size))
            .ok_or_else(cut("the optional header"))?;
        let magic = u16_at(optional, 0).ok_or_else(cut("the optional header"))?;
        if magic != 0x20b {
            return Err(PeError::NotPe32Plus(magic));
        }
        let short = || PeError::Broken("the optional header is too short");
        let optional_u32 = |offset| u32_at(optional, offset).ok_or_else(short);
        let (section_alignment, file_alignment) =
            (optional_u32(field::SECTION_ALIGNMENT)?, optional_u32(field::FILE_ALIGNMENT)?);
        if !section_alignment.is_power_of_two() || !file_alignment.is_power_of_two() {
            return Err(PeError::Broken("an alignment is no power of two"));
        }
        let signed = optional_u32(field::DIRECTORIES)? > 4
            && u32_at(optional, field::CERTIFICATES + 4).is_some_and(|size| size != 0);
        let table = optional_header + optional_size;
        let sections = (0..usize::from(count))
            .map(|index| section(file, table + index * SECTION_HEADER))
            .collect::<Result<_, _>>()?;
        let subsystem = u16_at(optional, field::SUBSYSTEM).ok_or_else(short)?;
        Ok(Self { machine, subsystem, section_alignment, file_alignment, signed, symbols, sections, optional_header })
    }
}

fn section(file: &[u8], header: usize) -> Result<Section, PeError> {
    let cut = |what| PeError::CutOff(what, file.len());
    let octets =
        file.get(header..).and_then(|rest| rest.get(..SECTION_HEADER)).ok_or_else(|| cut("the table of sections"))?;
    let name = octets.get(..8).unwrap_or_default().split(|octet| *octet == 0).next().unwrap_or_default();
    let number = |offset| u32_at(octets, offset).unwrap_or_default();
    let section = Section {
        name: String::from_utf8_lossy(name).into_owned(),
        virtual_size: number(8),
        address: number(12),
        raw_size: number(16),
        raw_offset: number(20),
        header,
    };
    let end = u64::from(section.raw_offset) + u64::from(section.raw_size);
    if section.raw_size > 0 && end > file.len() as u64 {
        return Err(cut("a section"));
    }
    if section.address.checked_add(section.virtual_size).is_none() {
        return Err(PeError::Broken("a section lies beyond 4 GiB"));
    }
    Ok(section)
}

/// The first characters of a file that is HTML or XML.
pub(crate) fn web_page(file: &[u8]) -> Option<String> {
    let start = file.get(..file.len().min(64)).unwrap_or_default().trim_ascii_start();
    let text: String = String::from_utf8_lossy(start).chars().take(16).filter(|c| !c.is_control()).collect();
    let lower = text.to_ascii_lowercase();
    ["<!doctype", "<html", "<?xml", "<head"].iter().any(|tag| lower.starts_with(tag)).then_some(text)
}

fn u16_at(octets: &[u8], offset: usize) -> Option<u16> {
    octets.get(offset..)?.first_chunk().map(|chunk| u16::from_le_bytes(*chunk))
}

pub(crate) fn u32_at(octets: &[u8], offset: usize) -> Option<u32> {
    octets.get(offset..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
}

fn to_usize(number: u32) -> Option<usize> {
    usize::try_from(number).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An EFI program of sections with these names and contents, one after another, aligned to 512 in the file and 4096
    /// in memory; `tail` octets follow.
    pub(crate) fn image(machine: u16, subsystem: u16, sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut file = vec![0; 0x40];
        file[..2].copy_from_slice(b"MZ");
        file[0x3c] = 0x40;
        file.extend(b"PE\0\0");
        let count = u16::try_from(sections.len()).unwrap();
        for number in [machine, count, 0, 0, 0, 0, 0, 0, 240, 0x0206] {
            file.extend(number.to_le_bytes());
        }
        let mut optional = vec![0; 240];
        let mut put = |at: usize, octets: &[u8]| optional[at..at + octets.len()].copy_from_slice(octets);
        put(0, &0x20b_u16.to_le_bytes());
        put(field::SECTION_ALIGNMENT, &4096_u32.to_le_bytes());
        put(field::FILE_ALIGNMENT, &512_u32.to_le_bytes());
        put(field::SUBSYSTEM, &subsystem.to_le_bytes());
        put(field::DIRECTORIES, &16_u32.to_le_bytes());
        let mut raw = 1024_u32;
        let mut address = 4096_u32;
        let mut table = Vec::new();
        let mut content = Vec::new();
        for (name, octets) in sections {
            let mut entry = vec![0; 40];
            entry[..name.len()].copy_from_slice(name.as_bytes());
            let size = u32::try_from(octets.len()).unwrap();
            let raw_size = size.next_multiple_of(512);
            for (at, number) in [(8, size), (12, address), (16, raw_size), (20, raw)] {
                entry[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
            table.extend(entry);
            content.extend_from_slice(octets);
            content.resize(content.len().next_multiple_of(512), 0);
            raw += raw_size;
            address += size.next_multiple_of(4096).max(4096);
        }
        put(field::SIZE_OF_IMAGE, &address.to_le_bytes());
        file.extend(optional);
        file.extend(table);
        assert!(file.len() <= 1024);
        file.resize(1024, 0);
        file.extend(content);
        file
    }

    pub(crate) fn program(machine: u16, subsystem: u16, text: usize) -> Vec<u8> {
        image(machine, subsystem, &[(".text", &vec![0x90; text])])
    }

    #[test]
    fn headers_come_back() {
        let file = image(MACHINE_X64, EFI_APPLICATION, &[(".linux", b"k"), (".initrd", &[1; 700])]);
        let pe = Pe::parse(&file).unwrap();
        assert_eq!((pe.machine, pe.subsystem, pe.signed), (MACHINE_X64, EFI_APPLICATION, false));
        let sections =
            pe.sections.iter().map(|s| (s.name.as_str(), s.virtual_size, s.address, s.raw_size, s.raw_offset));
        assert_eq!(sections.collect::<Vec<_>>(), [(".linux", 1, 4096, 512, 1024), (".initrd", 700, 8192, 1024, 1536)]);
    }

    #[test]
    fn what_is_no_program_is_named() {
        let whole = program(MACHINE_X64, EFI_APPLICATION, 600);
        let mut thirty_two = whole.clone();
        thirty_two[0x58..0x5a].copy_from_slice(&0x10b_u16.to_le_bytes());
        let mut far = whole.clone();
        far[0x3c..0x40].copy_from_slice(&u32::MAX.to_le_bytes());
        for (octets, expected) in [
            (&b""[..], PeError::NotPe),
            (b"MZ", PeError::NotPe),
            (&[0; 4096], PeError::NotPe),
            (b"  <HTML><body>", PeError::WebPage("<HTML><body>".into())),
            (&thirty_two, PeError::NotPe32Plus(0x10b)),
            (&far, PeError::NotPe),
            (&whole[..0x50], PeError::CutOff("the COFF header", 0x50)),
            (&whole[..0x60], PeError::CutOff("the optional header", 0x60)),
            (&whole[..0x150], PeError::CutOff("the table of sections", 0x150)),
            (&whole[..whole.len() - 1], PeError::CutOff("a section", whole.len() - 1)),
        ] {
            assert_eq!(Pe::parse(octets), Err(expected));
        }
    }

    proptest! {
        #[test]
        fn damaged_headers_are_read_or_refused(at in 0usize..1024, value in any::<u8>(), end in 0usize..2048) {
            let mut file = image(MACHINE_X64, EFI_APPLICATION, &[(".linux", b"k"), (".initrd", &[1; 700])]);
            file[at] = value;
            file.truncate(end.max(at + 1));
            if let Ok(pe) = Pe::parse(&file) {
                for section in pe.sections {
                    prop_assert!(section.raw_size == 0
                        || u64::from(section.raw_offset) + u64::from(section.raw_size) <= file.len() as u64);
                }
            }
        }
    }
}
