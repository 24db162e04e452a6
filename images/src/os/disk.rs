//! Second stage: the disk with Debian and Kubernetes, before the agent. Partitions are made as
//! files and placed at their offsets, so that no loop device and no mount is needed.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::error::OsImageError;
use super::gpt::Layout;
use super::{OsImageSpec, kubernetes};
use crate::fat::{self, Content};
use crate::tool::Tool;

/// Changes when this code makes another disk from the same root.
pub(super) const RECIPE: &str = "1";

/// The disk's name in its cache entry.
pub(super) const DISK: &str = "disk.raw";
/// Beside it, where the root starts, in bytes: what the next stage has to know.
pub(super) const ROOT_OFFSET: &str = "root-offset";

/// Holds the boot loader, a kernel and its ramdisk, with room for a second pair.
const ESP_MIB: u64 = 96;
/// What a control plane writes before the root has grown to its disk: etcd, logs, pods' layers.
const ROOT_FREE_MIB: u64 = 704;

const LIMIT: Duration = Duration::from_secs(300);
const MIB: u64 = 1 << 20;

/// Makes the disk in `partial` from the stage `debian`.
pub(super) fn build(spec: &OsImageSpec, debian: &Path, partial: &Path) -> Result<(), OsImageError> {
    let root = partial.join("root");
    fs::create_dir(&root).map_err(OsImageError::io("create", &root))?;
    kubernetes::install(spec, debian, &root)?;
    let boot = partial.join("boot");
    fs::create_dir(&boot).map_err(OsImageError::io("create", &boot))?;
    let boot = BootFiles::take(&root, &boot)?;

    // The same version has the same names on every host, as a copied disk has.
    let id = Sha256::digest(format!("bessemer os image {}", spec.kubernetes_version));
    let id = Uuid::from_slice(id.get(..16).unwrap_or_default()).unwrap_or_default();
    let layout = Layout::new(id, ESP_MIB, used_mib(&root)? + ROOT_FREE_MIB)?;

    let disk = partial.join(DISK);
    let mut file = File::create(&disk).map_err(OsImageError::io("create", &disk))?;
    file.set_len(layout.disk_size()).map_err(OsImageError::io("size", &disk))?;
    let backup = layout.backup();
    file.write_all_at(&layout.primary(), 0).map_err(OsImageError::io("write", &disk))?;
    file.write_all_at(&backup, layout.disk_size() - backup.len() as u64).map_err(OsImageError::io("write", &disk))?;
    let esp = partial.join("esp.fat");
    boot.write(&esp, &layout)?;
    place(&esp, &mut file, layout.esp_offset(), &disk)?;
    drop(file);
    make_root(&root, &disk, &layout)?;
    for folder in [root.as_path(), &partial.join("boot")] {
        fs::remove_dir_all(folder).map_err(OsImageError::io("remove", folder))?;
    }
    fs::remove_file(&esp).map_err(OsImageError::io("remove", &esp))?;
    let offset = partial.join(ROOT_OFFSET);
    fs::write(&offset, layout.root_offset().to_string()).map_err(OsImageError::io("write", &offset))
}

/// What the firmware and the boot loader read; it is not kept in the root as well.
struct BootFiles {
    loader: PathBuf,
    kernel: PathBuf,
    ramdisk: PathBuf,
}

impl BootFiles {
    /// Moves them out of `root` into `folder`.
    fn take(root: &Path, folder: &Path) -> Result<Self, OsImageError> {
        let boot = root.join("boot");
        let take = |source: PathBuf, name: &str| {
            let target = folder.join(name);
            fs::rename(&source, &target).map_err(OsImageError::io("move", &source))?;
            Ok::<_, OsImageError>(target)
        };
        let files = Self {
            loader: take(root.join("usr/lib/systemd/boot/efi/systemd-bootx64.efi"), "loader")?,
            kernel: take(newest(&boot, "vmlinuz-")?, "kernel")?,
            ramdisk: take(newest(&boot, "initrd.img-")?, "ramdisk")?,
        };
        // Links to what has just moved.
        for link in ["vmlinuz", "vmlinuz.old", "initrd.img", "initrd.img.old"] {
            let link = root.join(link);
            if link.is_symlink() {
                fs::remove_file(&link).map_err(OsImageError::io("remove", &link))?;
            }
        }
        Ok(files)
    }

    /// Writes the EFI system partition of `layout` to the file `esp`.
    fn write(&self, esp: &Path, layout: &Layout) -> Result<(), OsImageError> {
        let entry = format!(
            "title Debian, Kubernetes\nlinux /debian/kernel\ninitrd /debian/ramdisk\n\
             options root=PARTUUID={} rw console=tty0 console=ttyS0,115200 panic=30\n",
            layout.root_id()
        );
        let files = [
            ("EFI/BOOT/BOOTX64.EFI", Content::File(&self.loader)),
            ("loader/loader.conf", Content::Bytes(b"timeout 0\ndefault debian.conf\n")),
            ("loader/entries/debian.conf", Content::Bytes(entry.as_bytes())),
            ("debian/kernel", Content::File(&self.kernel)),
            ("debian/ramdisk", Content::File(&self.ramdisk)),
        ];
        let size = layout.root_offset() - layout.esp_offset();
        Ok(fat::write(esp, size, 512, "ESP", &files)?)
    }
}

/// The last of the files in `folder` whose names start with `prefix`.
fn newest(folder: &Path, prefix: &str) -> Result<PathBuf, OsImageError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(OsImageError::io("list", folder))? {
        let entry = entry.map_err(OsImageError::io("list", folder))?;
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            found.push(entry.path());
        }
    }
    found.into_iter().max().ok_or_else(|| OsImageError::Absent(format!("boot/{prefix}*")))
}

/// Makes the root file system from the folder `root`, at its place on the disk.
fn make_root(root: &Path, disk: &Path, layout: &Layout) -> Result<(), OsImageError> {
    // Features that later versions switch on by default and Debian 12's kernel or tools lack.
    Tool::new("mke2fs", LIMIT)
        .args(["-q", "-t", "ext4", "-b", "4096", "-m", "0", "-L", "root", "-O", "^metadata_csum_seed,^orphan_file"])
        .arg("-U")
        .arg(layout.root_id().to_string())
        .arg("-E")
        .arg(format!("offset={},hash_seed={}", layout.root_offset(), layout.root_id()))
        .arg("-d")
        .arg(root)
        .arg(disk)
        .arg(format!("{}m", layout.root_mib()))
        .run()?;
    Ok(())
}

/// Megabytes that `root` takes, with what the file system adds for its own.
fn used_mib(root: &Path) -> Result<u64, OsImageError> {
    let listing = Tool::new("du", LIMIT).args(["-sxm"]).arg(root).run()?;
    let used = listing.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
    let used = used.ok_or_else(|| OsImageError::Layout(format!("du says {listing:?}")))?;
    Ok(used + used / 20)
}

/// Copies `source` to `offset` of the disk, leaving its empty parts out.
fn place(source: &Path, target: &mut File, offset: u64, disk: &Path) -> Result<(), OsImageError> {
    let mut file = File::open(source).map_err(OsImageError::io("open", source))?;
    target.seek(SeekFrom::Start(offset)).map_err(OsImageError::io("seek", disk))?;
    let mut block = vec![0; MIB as usize];
    loop {
        let count = file.read(&mut block).map_err(OsImageError::io("read", source))?;
        let Some(bytes) = block.get(..count).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        if bytes.iter().any(|byte| *byte != 0) {
            target.write_all(bytes).map_err(OsImageError::io("write", disk))?;
        } else {
            target.seek(SeekFrom::Current(count as i64)).map_err(OsImageError::io("seek", disk))?;
        }
    }
}
