//! Second stage: the root file system as a file, and beside it what firmware and boot loaders read. It knows nothing of
//! sectors: the same root goes onto disks of either size.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::error::OsImageError;
use super::{OsImageSpec, base, debian, kubernetes, layout};
use crate::cache::Fingerprint;
use crate::file::FileError;
use crate::ramdisk::Variant;
use crate::tool::Tool;

/// Changes when this code makes another root from the same inputs.
const RECIPE: &str = "3";

/// What a control plane writes before the root has grown to its disk: etcd, logs, pods' layers.
const KUBERNETES_FREE_MIB: u64 = 704;
/// Logs and a little more.
const PLAIN_FREE_MIB: u64 = 64;

/// A FAT partition's.
const SEED_MODULES: [&str; 5] = ["fat", "vfat", "nls_ascii", "nls_cp437", "nls_utf8"];

const LIMIT: Duration = Duration::from_secs(300);

/// The stage's files in its cache entry.
#[derive(Debug)]
pub(super) struct Root {
    /// An ext4 file system, without the agent.
    pub(super) file_system: PathBuf,
    /// systemd-boot.
    pub(super) loader: PathBuf,
    pub(super) kernel: PathBuf,
    pub(super) ramdisk: PathBuf,
}

impl Root {
    pub(super) fn in_entry(entry: &Path) -> Self {
        let file = |name| entry.join(name);
        Self {
            file_system: file("root.ext4"),
            loader: file("loader"),
            kernel: file("kernel"),
            ramdisk: file("ramdisk"),
        }
    }
}

/// Names the stage by everything it is made from.
pub(super) fn fingerprint(spec: &OsImageSpec) -> Result<String, OsImageError> {
    let mut fingerprint = Fingerprint::default();
    fingerprint.add("debian", debian::fingerprint(spec)).add("recipe", RECIPE).add("name", &spec.name);
    if let Some(programs) = &spec.kubernetes {
        kubernetes::add_to(programs, &mut fingerprint)?;
    }
    base::add_to(spec, &mut fingerprint);
    fingerprint.add("modules", spec.boot_modules_only.to_string());
    Ok(fingerprint.finish())
}

/// Name of the disk. The same version has the same names on every host, as a copied disk has.
pub(super) fn disk_id(spec: &OsImageSpec) -> Uuid {
    let id = Sha256::digest(format!("bessemer os image {}", spec.name));
    Uuid::from_slice(id.get(..16).unwrap_or_default()).unwrap_or_default()
}

/// Makes the stage in `partial` from the stage `debian`.
pub(super) fn build(spec: &OsImageSpec, debian: &Path, partial: &Path) -> Result<(), OsImageError> {
    let root = partial.join("root");
    fs::create_dir(&root).map_err(FileError::io("create", &root))?;
    Tool::new("tar", LIMIT)
        .args(["--numeric-owner", "-xf"])
        .arg(debian.join(debian::ARCHIVE))
        .arg("-C")
        .arg(&root)
        .run()?;
    if let Some(programs) = &spec.kubernetes {
        kubernetes::install(programs, &root)?;
    }
    base::install(spec, &root)?;
    let files = Root::in_entry(partial);
    take_boot_files(&root, &files)?;
    if spec.boot_modules_only {
        keep_seed_modules(&root)?;
    }
    let free = if spec.kubernetes.is_some() { KUBERNETES_FREE_MIB } else { PLAIN_FREE_MIB };
    make_file_system(&root, &files.file_system, disk_id(spec), used_mib(&root)? + free)?;
    fs::remove_dir_all(&root).map_err(FileError::io("remove", &root))?;
    Ok(())
}

/// Puts what is in the root into the folder `to`, without a mount.
pub(super) fn unpack(root: &Root, to: &Path) -> Result<(), OsImageError> {
    Tool::new("debugfs", LIMIT).arg("-R").arg(format!("rdump / {}", super::text(to))).arg(&root.file_system).run()?;
    // debugfs reports success whatever its commands did.
    let last = to.join("var/log");
    if last.is_dir() { Ok(()) } else { Err(OsImageError::Absent(super::text(&last).into_owned())) }
}

/// Moves out of the root what is read from the EFI system partition; it is not kept twice.
fn take_boot_files(root: &Path, files: &Root) -> Result<(), OsImageError> {
    let boot = root.join("boot");
    let take = |source: PathBuf, target: &Path| fs::rename(&source, target).map_err(FileError::io("move", &source));
    take(root.join("usr/lib/systemd/boot/efi/systemd-bootx64.efi"), &files.loader)?;
    take(newest(&boot, "vmlinuz-")?, &files.kernel)?;
    take(newest(&boot, "initrd.img-")?, &files.ramdisk)?;
    // Links to what has just moved.
    for link in ["vmlinuz", "vmlinuz.old", "initrd.img", "initrd.img.old"] {
        let link = root.join(link);
        if link.is_symlink() {
            fs::remove_file(&link).map_err(FileError::io("remove", &link))?;
        }
    }
    Ok(())
}

/// Removes all modules of the root, whose initial ramdisk has what finds it, but for those that read a seed.
fn keep_seed_modules(root: &Path) -> Result<(), OsImageError> {
    let modules = root.join("usr/lib/modules");
    Tool::new("find", LIMIT)
        .arg(&modules)
        .args(["-name", "*.ko"])
        .args(SEED_MODULES.iter().flat_map(|name| ["!".to_owned(), "-name".to_owned(), format!("{name}.ko")]))
        .arg("-delete")
        .run()?;
    for entry in fs::read_dir(&modules).map_err(FileError::io("list", &modules))? {
        let entry = entry.map_err(FileError::io("list", &modules))?;
        Tool::new("chroot", LIMIT).arg(root).arg("depmod").arg(entry.file_name()).run()?;
    }
    Ok(())
}

/// The last of the files in `folder` whose names start with `prefix`.
fn newest(folder: &Path, prefix: &str) -> Result<PathBuf, OsImageError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(FileError::io("list", folder))? {
        let entry = entry.map_err(FileError::io("list", folder))?;
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            found.push(entry.path());
        }
    }
    found.into_iter().max().ok_or_else(|| OsImageError::Absent(format!("boot/{prefix}*")))
}

fn make_file_system(root: &Path, file: &Path, disk: Uuid, mib: u64) -> Result<(), OsImageError> {
    let id = layout::root_id(disk);
    // Without the features that later versions switch on by default and Debian 12's kernel or tools lack.
    Tool::new("mke2fs", LIMIT)
        .args(["-q", "-t", "ext4", "-b", "4096", "-m", "0", "-L", "root", "-O", "^metadata_csum_seed,^orphan_file"])
        .args(["-U", &id.to_string(), "-E", &format!("hash_seed={id}"), "-d"])
        .arg(root)
        .arg(file)
        .arg(format!("{mib}m"))
        .run()?;
    Ok(())
}

/// Megabytes that `root` takes, with what the file system adds for its own.
fn used_mib(root: &Path) -> Result<u64, OsImageError> {
    let listing = Tool::new("du", LIMIT).args(["-sxm"]).arg(root).run()?;
    let used = listing.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
    let used = used.ok_or_else(|| OsImageError::Layout(format!("du says {listing:?}")))?;
    Ok(used + used / 20 + 4)
}

/// Which of Debian's kernels a host of this kind boots from its disk.
pub(super) fn kernel_package(variant: Variant) -> &'static str {
    match variant {
        Variant::Server => "linux-image-amd64",
        Variant::Cloud => "linux-image-cloud-amd64",
    }
}
