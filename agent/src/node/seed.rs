//! Our identity from the seed partition. The FAT is read directly, so that neither a mount nor the kernel's vfat is needed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bessemer_protocol::{IDENTITY_PATH, NodeIdentity, SEED_LABEL};
use fatfs::{FileSystem, FsOptions};

use crate::files;

/// Largest identity that is believed, in bytes.
const MAX_IDENTITY: u64 = 1 << 20;

/// Why this host does not know who it is.
#[derive(Debug, thiserror::Error)]
pub(super) enum SeedError {
    /// Not deployed by us.
    #[error("no partition is named {SEED_LABEL:?}: this host was not deployed with a seed")]
    Missing,
    /// A stale one could be taken for the right one.
    #[error("several partitions are named {SEED_LABEL:?}: {0}; wipe the disk that is not the root disk")]
    Several(String),
    /// It cannot be read.
    #[error("seed on {}: {source}", device.display())]
    Unreadable {
        /// The partition.
        device: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Finds the partition by its GPT name and reads the identity on it.
pub(super) fn read(sys: &Path, dev: &Path) -> Result<NodeIdentity, SeedError> {
    let found = find(sys, dev);
    match found.as_slice() {
        [] => Err(SeedError::Missing),
        [device] => read_from(device).map_err(|source| SeedError::Unreadable { device: device.clone(), source }),
        several => {
            let names: Vec<String> = several.iter().map(|device| device.display().to_string()).collect();
            Err(SeedError::Several(names.join(", ")))
        }
    }
}

fn find(sys: &Path, dev: &Path) -> Vec<PathBuf> {
    let partition = |path: PathBuf| {
        let uevent = files::line(path.join("uevent"))?;
        let field = |name: &str| uevent.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        (field("PARTNAME")? == SEED_LABEL).then(|| field("DEVNAME").map(|name| dev.join(name)))?
    };
    files::entries(sys.join("class/block")).into_iter().filter_map(partition).collect()
}

fn read_from(device: &Path) -> io::Result<NodeIdentity> {
    let volume = FileSystem::new(File::open(device)?, FsOptions::new())?;
    let mut bytes = Vec::new();
    volume.root_dir().open_file(IDENTITY_PATH)?.take(MAX_IDENTITY).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use bessemer_protocol::{BootstrapDelivery, HostId};

    use super::*;

    fn seed_on(path: &Path, identity: &NodeIdentity) {
        let file = File::create_new(path).unwrap();
        file.set_len(16 << 20).unwrap();
        let file = File::options().read(true).write(true).open(path).unwrap();
        fatfs::format_volume(&file, fatfs::FormatVolumeOptions::new()).unwrap();
        let volume = FileSystem::new(&file, FsOptions::new()).unwrap();
        volume.root_dir().create_dir("bessemer").unwrap();
        let mut entry = volume.root_dir().create_file(IDENTITY_PATH).unwrap();
        entry.write_all(&serde_json::to_vec(identity).unwrap()).unwrap();
    }

    #[test]
    fn the_identity_is_found_by_the_partition_name_and_only_if_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let (sys, dev) = (folder.path().join("sys"), folder.path().join("dev"));
        fs::create_dir_all(&dev).unwrap();
        let partition = |name: &str, label: &str| {
            let path = sys.join("class/block").join(name);
            fs::create_dir_all(&path).unwrap();
            let uevent = format!("MAJOR=254\nDEVNAME={name}\nDEVTYPE=partition\nPARTN=3\nPARTNAME={label}\n");
            fs::write(path.join("uevent"), uevent).unwrap();
        };
        partition("vda1", "ESP");
        assert!(matches!(read(&sys, &dev), Err(SeedError::Missing)));
        partition("vda3", SEED_LABEL);
        let identity = NodeIdentity {
            controllers: vec!["https://192.0.2.1:8444".into()],
            ca: "CA".into(),
            certificate: "CERT".into(),
            key: "KEY".into(),
            host_id: HostId::random(),
            claim: "metal/m0".into(),
            hostname: "r1-u1".into(),
            delivery: BootstrapDelivery::Agent,
        };
        seed_on(&dev.join("vda3"), &identity);
        let before = fs::read(dev.join("vda3")).unwrap();
        assert_eq!(read(&sys, &dev).unwrap(), identity);
        assert!(fs::read(dev.join("vda3")).unwrap() == before, "reading must not write");
        partition("vdb3", SEED_LABEL);
        assert!(matches!(read(&sys, &dev), Err(SeedError::Several(_))));
    }
}
