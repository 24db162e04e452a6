//! A unified kernel image: one EFI program with kernel, ramdisk and command line, which firmware boots over HTTP with no boot loader between. It
//! is systemd's stub with sections appended; `.initrd` is the last, so that a boot server can append an overlay to it.
//!
//! Sources: Microsoft's "PE Format", the UAPI group's UKI specification.

use std::fs;
use std::path::{Path, PathBuf};

use crate::file::FileError;
use crate::ramdisk::Ramdisk;

/// Where Debian's `systemd-boot-efi` has the stub for x86-64.
pub const STUB: &str = "/usr/lib/systemd/boot/efi/linuxx64.efi.stub";

/// What a unified kernel image is made from.
#[derive(Debug, Clone)]
pub struct UkiSpec<'a> {
    /// The stub, an EFI program: [`STUB`] unless another is wanted.
    pub stub: &'a Path,
    /// Kernel and ramdisk.
    pub ramdisk: &'a Ramdisk,
    /// The kernel's command line.
    pub cmdline: &'a str,
    /// The file to write.
    pub out: &'a Path,
}

/// Why there is no unified kernel image.
#[derive(Debug, thiserror::Error)]
pub enum UkiError {
    /// The stub is not there.
    #[error("no stub {}: apt-get install --no-install-recommends systemd-boot-efi", .0.display())]
    NoStub(PathBuf),
    /// The stub cannot be extended.
    #[error("the stub {0}")]
    Stub(&'static str),
    /// All of it must fit below 4 GiB, in the file and in memory.
    #[error("section {0} makes the image larger than 4 GiB")]
    TooLarge(&'static str),
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Builds the image; gives its length in bytes.
pub fn build(spec: &UkiSpec<'_>) -> Result<u64, UkiError> {
    let read = |path: &Path| fs::read(path).map_err(FileError::io("read", path));
    if !spec.stub.is_file() {
        return Err(UkiError::NoStub(spec.stub.to_owned()));
    }
    let (stub, kernel, initrd) = (read(spec.stub)?, read(&spec.ramdisk.vmlinuz)?, read(&spec.ramdisk.initrd)?);
    let release = concat!(
        "ID=bessemer\nNAME=Bessemer\nPRETTY_NAME=\"Bessemer agent\"\nVERSION_ID=",
        env!("CARGO_PKG_VERSION"),
        "\n"
    );
    let image = assemble(
        &stub,
        &[
            (".osrel", release.as_bytes()),
            (".uname", spec.ramdisk.release().as_bytes()),
            (".cmdline", spec.cmdline.as_bytes()),
            (".linux", &kernel),
            (".initrd", &initrd),
        ],
    )?;
    fs::write(spec.out, &image).map_err(FileError::io("write", spec.out))?;
    Ok(image.len() as u64)
}

const SECTION_HEADER: usize = 40;
/// Initialised data, readable.
const CHARACTERISTICS: u32 = 0x4000_0040;
/// Pages: firmware that protects memory wants sections to start at one.
const PAGE: u64 = 4096;

/// Offsets from the start of the optional header of PE32+.
const FILE_ALIGNMENT: usize = 36;
const SIZE_OF_IMAGE: usize = 56;
const SIZE_OF_HEADERS: usize = 60;
const CHECKSUM: usize = 64;

/// Appends `sections` in their order to the EFI program `stub`.
fn assemble(stub: &[u8], sections: &[(&'static str, &[u8])]) -> Result<Vec<u8>, UkiError> {
    let broken = || UkiError::Stub("is not a PE32+ program");
    let pe = number(stub, 0x3c).ok_or_else(broken)? as usize;
    if stub.get(pe..pe + 4) != Some(b"PE\0\0") || stub.get(pe + 24..pe + 26) != Some(&[0x0b, 0x02]) {
        return Err(broken());
    }
    let half = |at: usize| stub.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_le_bytes);
    let count = half(pe + 6).ok_or_else(broken)?;
    let optional = pe + 24;
    let table = optional + usize::from(half(pe + 20).ok_or_else(broken)?);
    let old_end = table + usize::from(count) * SECTION_HEADER;
    let headers = number(stub, optional + SIZE_OF_HEADERS).ok_or_else(broken)? as usize;
    let file_alignment = u64::from(number(stub, optional + FILE_ALIGNMENT).ok_or_else(broken)?);
    if !file_alignment.is_power_of_two() {
        return Err(broken());
    }
    let room = stub.get(old_end..headers).unwrap_or_default();
    if room.len() < sections.len() * SECTION_HEADER || room.iter().any(|byte| *byte != 0) {
        return Err(UkiError::Stub("has no room for more section headers"));
    }
    // After the last of what is there in memory.
    let mut memory = u64::from(number(stub, optional + SIZE_OF_IMAGE).ok_or_else(broken)?);
    let mut image = stub.to_vec();
    image.resize(usize::try_from((stub.len() as u64).next_multiple_of(file_alignment)).unwrap_or(usize::MAX), 0);
    let mut header_at = old_end;
    for (name, content) in sections {
        let too_large = |_| UkiError::TooLarge(name);
        memory = memory.next_multiple_of(PAGE);
        let offset = image.len() as u64;
        image.extend(*content);
        image.resize(image.len().next_multiple_of(file_alignment as usize), 0);
        let raw = image.len() as u64 - offset;
        let mut header = Vec::with_capacity(SECTION_HEADER);
        header.extend(name.bytes());
        header.resize(8, 0);
        for value in [content.len() as u64, memory, raw, offset] {
            header.extend(u32::try_from(value).map_err(too_large)?.to_le_bytes());
        }
        header.resize(SECTION_HEADER - 4, 0);
        header.extend(CHARACTERISTICS.to_le_bytes());
        put(&mut image, header_at, &header);
        header_at += SECTION_HEADER;
        memory += content.len() as u64;
        u32::try_from(memory + PAGE).map_err(too_large)?;
    }
    let all = usize::from(count) + sections.len();
    put(&mut image, pe + 6, &u16::try_from(all).map_err(|_| broken())?.to_le_bytes());
    let end = u32::try_from(memory.next_multiple_of(PAGE)).map_err(|_| broken())?;
    put(&mut image, optional + SIZE_OF_IMAGE, &end.to_le_bytes());
    // Firmware does not look at it, and a wrong one is worse than none.
    put(&mut image, optional + CHECKSUM, &[0; 4]);
    Ok(image)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

/// Every place written to was read before.
fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(target) = image.get_mut(at..at + bytes.len()) {
        target.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// GNU objdump reads the sections and objcopy takes them out again.
    #[test]
    fn binutils_finds_each_section_as_it_was() {
        let (Ok(stub), Ok(_)) = (fs::read(STUB), Command::new("objdump").arg("--version").output()) else {
            println!("SKIP no stub of systemd or no binutils");
            return;
        };
        let kernel: Vec<u8> = (0..70_001_u32).map(|index| index as u8).collect();
        let sections: [(&'static str, &[u8]); 4] =
            [(".osrel", b"ID=x\n"), (".cmdline", b"quiet"), (".linux", &kernel), (".initrd", &[9; 5000])];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("uki.efi");
        fs::write(&path, assemble(&stub, &sections).unwrap()).unwrap();
        let listed = Command::new("objdump").args(["-h", "-w"]).arg(&path).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&listed.stderr), "");
        let listing = String::from_utf8(listed.stdout).unwrap();
        let last = listing.lines().rev().find(|line| line.contains("CONTENTS")).unwrap();
        assert!(last.contains(".initrd"), "{listing}");
        for (name, content) in sections {
            let out = folder.path().join("section");
            let taken = Command::new("objcopy")
                .args(["-O", "binary", "--only-section", name])
                .arg(&path)
                .arg(&out)
                .output()
                .unwrap();
            assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
            let taken = fs::read(&out).unwrap();
            assert!(taken.starts_with(content), "{name}");
            assert!(taken[content.len()..].iter().all(|byte| *byte == 0), "{name}");
        }
    }

    #[test]
    fn what_is_no_stub_is_refused() {
        assert!(matches!(assemble(b"MZ", &[]), Err(UkiError::Stub(_))));
        let Ok(stub) = fs::read(STUB) else { return };
        let many: Vec<(&'static str, &[u8])> = vec![(".many", b"x"); 40];
        assert!(matches!(assemble(&stub, &many), Err(UkiError::Stub(_))));
    }
}
