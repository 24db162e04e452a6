//! GRUB for the BIOS, put on a disk without installing it: its first sector and its second stage point at each other by
//! sector numbers, which are written here. `grub-bios-setup` does the same, but only on a disk that the kernel shows.
//!
//! Source: GRUB 2.06, `include/grub/i386/pc/boot.h`, `grub-core/boot/i386/pc/{boot,diskboot}.S`, `include/grub/offsets.h`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::error::OsImageError;
use super::layout::ESP_NUMBER;
use crate::file::FileError;
use crate::tool::Tool;

/// The program and the files that it puts together.
pub(super) const TOOLS: [(&str, &str); 2] = [("grub-mkimage", "grub-common"), (BOOT_SECTOR, "grub-pc-bin")];

const BOOT_SECTOR: &str = "/usr/lib/grub/i386-pc/boot.img";
const LIMIT: Duration = Duration::from_secs(60);

/// Where GRUB looks for its configuration on the EFI system partition.
pub(super) const CONFIGURATION: &str = "grub/grub.cfg";

/// What is in the second stage: it has to find the EFI system partition, and Linux on it.
const MODULES: [&str; 7] = ["biosdisk", "part_gpt", "fat", "normal", "configfile", "linux", "boot"];

const SECTOR: usize = 512;
/// The first sector up to the disk's signature and table.
const CODE: usize = 440;
/// In the first sector: where the second stage starts.
const KERNEL_SECTOR: usize = 0x5c;
/// In the first sector: a jump over the line that mends the drive's number where a BIOS gives a wrong one, which only a floppy must keep.
const DRIVE_CHECK: usize = 0x66;
/// In the second stage's first sector: where the others start, and how many they are.
const BLOCK_LIST: usize = SECTOR - 12;

/// GRUB as it lies on a disk.
#[derive(Debug)]
pub(super) struct Grub {
    /// Goes to the start of the disk's first sector, before the partition table.
    pub(super) code: Vec<u8>,
    /// Goes to its own partition.
    pub(super) second_stage: Vec<u8>,
}

/// Makes GRUB for a disk whose partition for it starts at the byte `offset` and is `length` bytes long.
pub(super) fn make((offset, length): (u64, u64), scratch: &Path) -> Result<Grub, OsImageError> {
    let core = scratch.join("core.img");
    Tool::new("grub-mkimage", LIMIT)
        .args(["-O", "i386-pc", "-p", &format!("(,gpt{ESP_NUMBER})/grub"), "-o"])
        .arg(&core)
        .args(MODULES)
        .run()?;
    let boot = fs::read(BOOT_SECTOR).map_err(FileError::io("read", Path::new(BOOT_SECTOR)))?;
    let second_stage = fs::read(&core).map_err(FileError::io("read", &core))?;
    fs::remove_file(&core).map_err(FileError::io("remove", &core))?;
    if second_stage.len() as u64 > length {
        return Err(OsImageError::Layout(format!("GRUB has {} bytes and its partition {length}", second_stage.len())));
    }
    point(boot, second_stage, offset / SECTOR as u64)
        .ok_or_else(|| OsImageError::Layout("GRUB's files are shorter than GRUB's".into()))
}

/// Writes the sector numbers into both.
fn point(mut boot: Vec<u8>, mut second_stage: Vec<u8>, sector: u64) -> Option<Grub> {
    second_stage.resize(second_stage.len().next_multiple_of(SECTOR), 0);
    let others = u16::try_from(second_stage.len() / SECTOR - 1).ok()?;
    boot.get_mut(KERNEL_SECTOR..KERNEL_SECTOR + 8)?.copy_from_slice(&sector.to_le_bytes());
    boot.get_mut(DRIVE_CHECK..DRIVE_CHECK + 2)?.copy_from_slice(&[0x90, 0x90]);
    second_stage.get_mut(BLOCK_LIST..BLOCK_LIST + 8)?.copy_from_slice(&(sector + 1).to_le_bytes());
    second_stage.get_mut(BLOCK_LIST + 8..BLOCK_LIST + 10)?.copy_from_slice(&others.to_le_bytes());
    boot.truncate(CODE);
    Some(Grub { code: boot, second_stage })
}

/// What GRUB is to do: start Linux, at once.
pub(super) fn configuration(kernel: &str, ramdisk: &str, cmdline: &str) -> String {
    format!(
        "set timeout=0\nset default=0\nmenuentry \"Debian\" {{\n\tlinux /{kernel} {cmdline}\n\tinitrd /{ramdisk}\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_point_at_each_other() {
        let grub = point(vec![1; 512], vec![2; 1100], 2048).unwrap();
        assert_eq!(grub.code.len(), 440);
        assert_eq!(grub.code[0x5c..0x64], 2048_u64.to_le_bytes());
        assert_eq!(grub.code[0x66..0x68], [0x90, 0x90]);
        assert_eq!(grub.second_stage.len(), 3 * 512);
        assert_eq!(grub.second_stage[500..508], 2049_u64.to_le_bytes());
        assert_eq!(grub.second_stage[508..510], 2_u16.to_le_bytes());
        assert!(point(vec![1; 90], vec![2; 1100], 2048).is_none());
    }

    /// The places that are written to hold what `boot.S` and `diskboot.S` put there.
    #[test]
    fn debians_grub_has_its_numbers_where_they_are_written() {
        let files = [BOOT_SECTOR, "/usr/lib/grub/i386-pc/diskboot.img"].map(fs::read);
        let [Ok(boot), Ok(second)] = files else {
            println!("SKIP no grub-pc-bin");
            return;
        };
        assert_eq!(boot[KERNEL_SECTOR..KERNEL_SECTOR + 8], 1_u64.to_le_bytes());
        assert_eq!(boot[DRIVE_CHECK], 0xeb);
        assert_eq!(second[BLOCK_LIST..BLOCK_LIST + 8], 2_u64.to_le_bytes());
        assert_eq!(second[BLOCK_LIST + 10..], 0x820_u16.to_le_bytes());
    }
}
