//! The agent as a disc for a BMC's virtual media: an ISO that starts as CD under BIOS and UEFI, and as a disk when it is written to a USB stick. GRUB
//! loads kernel, ramdisk and, as a second initrd, the file `BESSEMER.OVL`: a slot of fixed size which the boot server replaces by
//! the boot's overlay while it sends the ISO. As built, the slot says so in its first bytes, and a host that boots such an ISO
//! has an agent without a controller, which switches the host off again.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::fat::{self, Content, FatError};
use crate::file::FileError;
use crate::ramdisk::Ramdisk;
use crate::tool::{self, Tool, ToolError};

/// First bytes of an empty overlay slot, padded with zeroes to [`MAGIC_LENGTH`]; the slot's whole length follows as a little-endian u64.
pub const SLOT_MAGIC: &[u8] = b"BESSEMER-OVERLAY-SLOT-1";
/// Bytes that the padded [`SLOT_MAGIC`] takes.
pub const MAGIC_LENGTH: usize = 32;
/// Length of the slot in bytes: an overlay has certificates, addresses and a token, a few KiB together.
pub const SLOT_LENGTH: usize = 64 << 10;

/// Name of the slot on the disc.
const SLOT: &str = "BESSEMER.OVL";

const LIMIT: Duration = Duration::from_secs(120);

const TOOLS: [(&str, &str); 5] = [
    ("xorriso", "xorriso"),
    ("grub-mkimage", "grub-common"),
    ("/usr/lib/grub/i386-pc/cdboot.img", "grub-pc-bin"),
    (HYBRID_MBR, "grub-pc-bin"),
    ("/usr/lib/grub/x86_64-efi/linux.mod", "grub-efi-amd64-bin"),
];

const HYBRID_MBR: &str = "/usr/lib/grub/i386-pc/boot_hybrid.img";

/// What GRUB needs to find the disc and start Linux; it has no menu and no shell.
const MODULES: [&str; 7] = ["part_gpt", "part_msdos", "iso9660", "search", "search_fs_file", "linux", "boot"];

/// What an ISO is made from.
#[derive(Debug, Clone)]
pub struct IsoSpec<'a> {
    /// Kernel and ramdisk.
    pub ramdisk: &'a Ramdisk,
    /// The kernel's command line.
    pub cmdline: &'a str,
    /// The file to write.
    pub out: &'a Path,
}

/// Why there is no ISO.
#[derive(Debug, thiserror::Error)]
pub enum IsoError {
    /// The command line would be read as more than one.
    #[error(
        "the kernel's command line {0:?} has a character that means something to GRUB: leave quotes, `$`, `;`, `\\` and line ends out"
    )]
    CommandLine(String),
    /// A tool is missing or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The EFI system partition could not be made.
    #[error(transparent)]
    Fat(#[from] FatError),
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Builds the ISO; gives its length in bytes.
pub fn build(spec: &IsoSpec<'_>) -> Result<u64, IsoError> {
    if spec.cmdline.contains(['"', '\'', '$', ';', '\\', '\n', '\r', '{', '}', '#', '&', '|', '<', '>']) {
        return Err(IsoError::CommandLine(spec.cmdline.to_owned()));
    }
    tool::check(&TOOLS)?;
    tool::check(&fat::TOOLS)?;
    let scratch = tempfile::tempdir().map_err(FileError::io("create", &std::env::temp_dir()))?;
    let root = scratch.path().join("root");
    fs::create_dir_all(root.join("boot")).map_err(FileError::io("create", &root))?;
    for (from, to) in [(&spec.ramdisk.vmlinuz, "boot/vmlinuz"), (&spec.ramdisk.initrd, "boot/initrd")] {
        fs::copy(from, root.join(to)).map_err(FileError::io("copy", from))?;
    }
    let slot = root.join(SLOT);
    fs::write(&slot, empty_slot(SLOT_LENGTH)).map_err(FileError::io("write", &slot))?;
    let commands = scratch.path().join("commands");
    let content = format!(
        "search --no-floppy --set=root --file /{SLOT}\nlinux /boot/vmlinuz {}\ninitrd /boot/initrd /{SLOT}\nboot\n",
        spec.cmdline
    );
    fs::write(&commands, content).map_err(FileError::io("write", &commands))?;
    grub("i386-pc-eltorito", &["biosdisk"], &commands, &root.join("boot/bios.img"))?;
    let loader = scratch.path().join("loader.efi");
    grub("x86_64-efi", &[], &commands, &loader)?;
    let esp = scratch.path().join("esp");
    efi_partition(&esp, &loader)?;
    join(&root, &esp, spec.out)?;
    Ok(fs::metadata(spec.out).map_err(FileError::io("measure", spec.out))?.len())
}

/// The slot before it is replaced.
fn empty_slot(length: usize) -> Vec<u8> {
    let mut slot = SLOT_MAGIC.to_vec();
    slot.resize(MAGIC_LENGTH, 0);
    slot.extend((length as u64).to_le_bytes());
    slot.resize(length, 0);
    slot
}

fn grub(format: &str, more: &[&str], commands: &Path, out: &Path) -> Result<(), IsoError> {
    Tool::new("grub-mkimage", LIMIT)
        .args(["-O", format, "-p", "/boot/grub", "-c"])
        .arg(commands)
        .arg("-o")
        .arg(out)
        .args(MODULES.iter().chain(more))
        .run()?;
    Ok(())
}

fn efi_partition(path: &Path, loader: &Path) -> Result<(), IsoError> {
    const MIB: u64 = 1 << 20;
    let loader_size = fs::metadata(loader).map_err(FileError::io("measure", loader))?.len();
    let size = (loader_size + MIB).next_multiple_of(MIB);
    fat::write(path, size, 512, "BESSEMER", &[("EFI/BOOT/BOOTX64.EFI", Content::File(loader))])?;
    Ok(())
}

/// One file that is a CD to El Torito and a disk with GPT to everybody else.
fn join(root: &Path, esp: &Path, out: &Path) -> Result<(), IsoError> {
    Tool::new("xorriso", LIMIT)
        .env("SOURCE_DATE_EPOCH", fat::TIME)
        .env("TZ", "UTC")
        .args(["-as", "mkisofs", "-quiet", "-V", "BESSEMER", "-r", "-o"])
        .arg(out)
        .args(["--set_all_file_dates", "2024010100000000"])
        .args(["-partition_offset", "16", "-appended_part_as_gpt", "--grub2-mbr", HYBRID_MBR])
        .args(["-append_partition", "2", "0xef"])
        .arg(esp)
        .args(["-b", "boot/bios.img", "-c", "boot/catalog"])
        .args(["-no-emul-boot", "-boot-load-size", "4", "-boot-info-table", "--grub2-boot-info"])
        .args(["-eltorito-alt-boot", "-e", "--interval:appended_partition_2:all::", "-no-emul-boot"])
        .arg(root)
        .run()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_slot_says_what_it_is_and_how_long() {
        let slot = empty_slot(SLOT_LENGTH);
        assert_eq!(slot.len(), SLOT_LENGTH);
        assert_eq!(&slot[..32], b"BESSEMER-OVERLAY-SLOT-1\0\0\0\0\0\0\0\0\0");
        assert_eq!(slot[32..40], [0, 0, 1, 0, 0, 0, 0, 0]);
        assert!(slot[40..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_command_line_that_would_be_several_is_refused() {
        let ramdisk = Ramdisk {
            vmlinuz: PathBuf::new(),
            initrd: PathBuf::new(),
            kernel: String::new(),
            vmlinuz_size: 0,
            initrd_size: 0,
            drivers_size: 0,
            agent_size: 0,
            modules: Vec::new(),
            firmware_missing: 0,
        };
        for cmdline in ["quiet\nhalt", "a;halt", "$root"] {
            let spec = IsoSpec { ramdisk: &ramdisk, cmdline, out: Path::new("/nowhere") };
            assert!(matches!(build(&spec), Err(IsoError::CommandLine(_))), "{cmdline:?}");
        }
    }
}
