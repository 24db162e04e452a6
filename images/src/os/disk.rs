//! Third stage: a disk with the root, the agent and what boots it. Partitions are made as files and placed at their
//! offsets, so that no loop device and no mount is needed.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use super::error::OsImageError;
use super::layout::{self, Layout};
use super::root::{self, Root};
use super::{OsImageSpec, grub, text};
use crate::fat::{self, Content};
use crate::file::FileError;
use crate::tool::Tool;

/// Changes when this code makes another disk from the same inputs.
pub(super) const RECIPE: &str = "3";

const AGENT: &str = "/usr/local/bin/bessemer-agent";
const KERNEL: &str = "debian/kernel";
const RAMDISK: &str = "debian/ramdisk";

const LIMIT: Duration = Duration::from_secs(300);
const MIB: u64 = 1 << 20;

/// Makes the disk `disk` from the stage `root`; `scratch` is for what lies between.
pub(super) fn build(spec: &OsImageSpec, root: &Root, disk: &Path, scratch: &Path) -> Result<(), OsImageError> {
    let id = root::disk_id(spec);
    let length = fs::metadata(&root.file_system).map_err(FileError::io("measure", &root.file_system))?.len();
    let layout = Layout::new(id, spec.sector, length.div_ceil(MIB))?;
    let mut file = File::create_new(disk).map_err(FileError::io("create", disk))?;
    let write = |file: &File, bytes: &[u8], at: u64| file.write_all_at(bytes, at).map_err(FileError::io("write", disk));
    file.set_len(layout.disk_size()).map_err(FileError::io("size", disk))?;
    write(&file, &layout.primary(spec.active_flag), 0)?;
    let (at, backup) = layout.backup();
    write(&file, &backup, at)?;
    if let Some(place) = layout.bios() {
        let grub = grub::make(place, scratch)?;
        write(&file, &grub.code, 0)?;
        write(&file, &grub.second_stage, place.0)?;
    }
    let (esp_at, esp_length) = layout.esp();
    let esp = scratch.join("esp.fat");
    let cmdline = format!("root=PARTUUID={} rw {}", layout::root_id(id), spec.cmdline);
    boot_partition(root, &esp, esp_length, spec.sector.bytes(), &cmdline)?;
    place(&esp, &mut file, esp_at, disk)?;
    fs::remove_file(&esp).map_err(FileError::io("remove", &esp))?;
    place(&root.file_system, &mut file, layout.root_offset(), disk)?;
    drop(file);
    if let Some(agent) = &spec.agent {
        install(agent, disk, layout.root_offset(), scratch)?;
    }
    Ok(())
}

/// Writes the EFI system partition to the file `esp`: both boot loaders' files, one kernel.
fn boot_partition(root: &Root, esp: &Path, length: u64, sector: u64, cmdline: &str) -> Result<(), OsImageError> {
    let entry = format!("title Debian\nlinux /{KERNEL}\ninitrd /{RAMDISK}\noptions {cmdline}\n");
    let grub = grub::configuration(KERNEL, RAMDISK, cmdline);
    let files = [
        ("EFI/BOOT/BOOTX64.EFI", Content::File(&root.loader)),
        ("loader/loader.conf", Content::Bytes(b"timeout 0\ndefault debian.conf\n")),
        ("loader/entries/debian.conf", Content::Bytes(entry.as_bytes())),
        (grub::CONFIGURATION, Content::Bytes(grub.as_bytes())),
        (KERNEL, Content::File(&root.kernel)),
        (RAMDISK, Content::File(&root.ramdisk)),
    ];
    Ok(fat::write(esp, length, sector, "ESP", &files)?)
}

/// Copies `source` to `offset` of the disk, leaving its empty parts out.
fn place(source: &Path, target: &mut File, offset: u64, disk: &Path) -> Result<(), OsImageError> {
    let mut file = File::open(source).map_err(FileError::io("open", source))?;
    target.seek(SeekFrom::Start(offset)).map_err(FileError::io("seek", disk))?;
    let empty = vec![0; MIB as usize];
    let mut block = empty.clone();
    loop {
        let count = file.read(&mut block).map_err(FileError::io("read", source))?;
        let Some(bytes) = block.get(..count).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        let outcome: io::Result<()> = if empty.starts_with(bytes) {
            target.seek(SeekFrom::Current(count as i64)).map(drop)
        } else {
            target.write_all(bytes)
        };
        outcome.map_err(FileError::io("write", disk))?;
    }
}

/// Writes the agent into the unmounted root file system.
fn install(agent: &Path, disk: &Path, offset: u64, scratch: &Path) -> Result<(), OsImageError> {
    let commands = scratch.join("commands");
    let content = format!(
        "write \"{}\" {AGENT}\nset_inode_field {AGENT} mode 0100755\n\
         set_inode_field {AGENT} uid 0\nset_inode_field {AGENT} gid 0\n",
        text(agent)
    );
    fs::write(&commands, content).map_err(FileError::io("write", &commands))?;
    let root = format!("{}?offset={offset}", text(disk));
    Tool::new("debugfs", LIMIT).arg("-w").arg("-f").arg(&commands).arg(&root).run()?;
    fs::remove_file(&commands).map_err(FileError::io("remove", &commands))?;
    // debugfs reports success whatever its commands did.
    let listing = Tool::new("debugfs", LIMIT).arg("-R").arg(format!("stat {AGENT}")).arg(&root).run()?;
    let size = fs::metadata(agent).map_err(FileError::io("measure", agent))?.len();
    let complete =
        listing.contains("Mode:  0755") && listing.lines().any(|line| line.ends_with(&format!("Size: {size}")));
    if complete { Ok(()) } else { Err(OsImageError::Absent(format!("whole {AGENT}; debugfs says:\n{listing}"))) }
}
