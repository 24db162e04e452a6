//! The seed partition: a FAT under the label that cloud-init and Ignition look for, with their files ([`documents`]) and our own identity file, and
//! nothing like it on any other disk ([`stale`]).

use std::fs::File;
use std::io::{self, Read, Write};

use bessemer_protocol::{IDENTITY_PATH, NOCLOUD_LABEL, NodeIdentity, SEED_LABEL, Seed, SeedLayout};
use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions, format_volume};

use super::region::Window;

mod documents;
mod rewrite;
pub(super) mod stale;

pub(in crate::ramdisk) use rewrite::rewrite;

/// Largest identity that is believed, in bytes.
const MAX_IDENTITY: u64 = 1 << 20;

/// The label of a layout, of the partition and of the FAT. cloud-init asks for a FAT's label in lower and in upper case, Ignition in lower case only.
pub(super) fn label(layout: SeedLayout) -> &'static str {
    match layout {
        SeedLayout::ConfigDrive => SEED_LABEL,
        SeedLayout::NoCloud => NOCLOUD_LABEL,
    }
}

/// Fails when `seed` cannot be put into files; nothing has been touched then.
pub(super) fn check(seed: &Seed) -> Result<(), String> {
    documents::of(seed).map(drop)
}

/// Makes the file system in `size` bytes from `start` of `disk` and fills it.
pub(super) fn write(
    disk: &File,
    (start, size, sector): (u64, u64, u64),
    seed: &Seed,
    identity: Option<&NodeIdentity>,
) -> io::Result<()> {
    let documents = documents::of(seed).map_err(io::Error::other)?;
    let mut name = [b' '; 11];
    name.iter_mut().zip(label(seed.layout).bytes()).for_each(|(to, from)| *to = from);
    let options = FormatVolumeOptions::new()
        .fat_type(FatType::Fat16)
        .bytes_per_sector(u16::try_from(sector).map_err(io::Error::other)?)
        .volume_label(name);
    format_volume(Window::new(disk, start, size), options)?;
    let volume = FileSystem::new(Window::new(disk, start, size), FsOptions::new())?;
    for (path, content) in &documents {
        put(&volume, path, content.as_bytes())?;
    }
    if let Some(identity) = identity {
        put(&volume, IDENTITY_PATH, &serde_json::to_vec(identity)?)?;
    }
    volume.unmount()
}

/// Fails when what is on the disk is not what [`write`] was given.
pub(super) fn verify(
    disk: &File,
    (start, size): (u64, u64),
    seed: &Seed,
    identity: Option<&NodeIdentity>,
) -> io::Result<()> {
    let volume = FileSystem::new(Window::new(disk, start, size), FsOptions::new())?;
    for (path, content) in documents::of(seed).map_err(io::Error::other)? {
        let mut there = Vec::new();
        volume.root_dir().open_file(&path)?.take(content.len() as u64 + 1).read_to_end(&mut there)?;
        if there != content.as_bytes() {
            return Err(io::Error::other(format!("{path} is not the one that was written")));
        }
    }
    if read_identity(&volume)?.as_ref() != identity {
        return Err(io::Error::other("the identity is not the one that was written"));
    }
    Ok(())
}

/// The identity as it is on the disk, if one is.
fn read_identity(volume: &FileSystem<Window<'_>>) -> io::Result<Option<NodeIdentity>> {
    let mut bytes = Vec::new();
    match volume.root_dir().open_file(IDENTITY_PATH) {
        Ok(file) => file.take(MAX_IDENTITY).read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(serde_json::from_slice(&bytes)?))
}

fn put(volume: &FileSystem<Window<'_>>, path: &str, content: &[u8]) -> io::Result<()> {
    let root = volume.root_dir();
    for (end, _) in path.match_indices('/') {
        root.create_dir(path.get(..end).unwrap_or_default())?;
    }
    let mut file = root.create_file(path)?;
    file.truncate()?;
    file.write_all(content)?;
    file.flush()
}
