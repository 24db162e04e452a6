//! The seed partition: a FAT labelled `config-2` with OpenStack's meta data for whoever looks for that, and our own identity file.

use std::fs::File;
use std::io::{self, Read, Write};

use bessemer_protocol::{IDENTITY_PATH, NodeIdentity, SEED_LABEL, Seed};
use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions, format_volume};
use serde_json::json;

use super::region::Window;

const META_DATA_PATH: &str = "openstack/latest/meta_data.json";

/// Makes the file system in `size` bytes from `start` of `disk` and fills it.
pub(super) fn write(
    disk: &File,
    (start, size, sector): (u64, u64, u64),
    seed: &Seed,
    identity: Option<&NodeIdentity>,
) -> io::Result<()> {
    let mut label = [b' '; 11];
    label.iter_mut().zip(SEED_LABEL.bytes()).for_each(|(to, from)| *to = from);
    let options = FormatVolumeOptions::new()
        .fat_type(FatType::Fat16)
        .bytes_per_sector(u16::try_from(sector).map_err(io::Error::other)?)
        .volume_label(label);
    format_volume(Window::new(disk, start, size), options)?;
    let volume = FileSystem::new(Window::new(disk, start, size), FsOptions::new())?;
    let meta_data = json!({
        "uuid": seed.instance_id,
        "name": seed.hostname,
        "hostname": seed.hostname,
        "local-hostname": seed.hostname,
    });
    put(&volume, META_DATA_PATH, meta_data.to_string().as_bytes())?;
    if let Some(identity) = identity {
        put(&volume, IDENTITY_PATH, &serde_json::to_vec(identity)?)?;
    }
    volume.unmount()
}

/// The identity as it is on the disk, if one is.
pub(super) fn read_back(disk: &File, start: u64, size: u64) -> io::Result<Option<NodeIdentity>> {
    let volume = FileSystem::new(Window::new(disk, start, size), FsOptions::new())?;
    let mut bytes = Vec::new();
    match volume.root_dir().open_file(IDENTITY_PATH) {
        Ok(mut file) => file.read_to_end(&mut bytes)?,
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
