//! Our identity from the seed partition, and what lies beside it there for whoever configures the host. The FAT is read directly, so that neither a mount nor the kernel's vfat is needed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bessemer_protocol::{IDENTITY_PATH, NOCLOUD_LABEL, NodeIdentity, SEED_LABEL};
use fatfs::{FileSystem, FsOptions};
use serde_json::{Map, Value};

use crate::files;
use crate::window::Window;

/// Largest file that is believed, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Meta data in either layout.
const META_DATA: [&str; 2] = ["openstack/latest/meta_data.json", "meta-data"];

/// Network data in either layout.
const NETWORK_DATA: [&str; 2] = ["openstack/latest/network_data.json", "network-config"];

/// What the ramdisk left for us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Who we are.
    pub(super) identity: NodeIdentity,
    /// For templates. Empty when there is none.
    pub(super) meta_data: Map<String, Value>,
    /// For the network, in whatever form it was given.
    pub(super) network_data: Option<String>,
}

/// Why this host does not know who it is.
#[derive(Debug, thiserror::Error)]
pub(super) enum SeedError {
    /// Not deployed by us.
    #[error("no partition or FAT is named {SEED_LABEL:?}: this host was not deployed with a seed")]
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

/// Finds the partition by its name, or in an MBR, which has none, by its FAT's, and reads what is on it. One of that name without an identity of ours is not ours, such as what is left of an
/// earlier deployment on another disk.
pub(super) fn read(sys: &Path, dev: &Path) -> Result<Found, SeedError> {
    let mut ours = Vec::new();
    let mut trouble = SeedError::Missing;
    for device in find(sys, dev) {
        match read_from(&device) {
            // A disk with two paths shows its seed twice.
            Ok(found) if ours.iter().any(|(_, other)| *other == found) => {}
            Ok(found) => ours.push((device, found)),
            Err(source) => trouble = SeedError::Unreadable { device, source },
        }
    }
    match ours.len() {
        0 => Err(trouble),
        1 => ours.pop().map(|(_, found)| found).ok_or(trouble),
        _ => {
            let names: Vec<String> = ours.iter().map(|(device, _)| device.display().to_string()).collect();
            Err(SeedError::Several(names.join(", ")))
        }
    }
}

fn find(sys: &Path, dev: &Path) -> Vec<PathBuf> {
    let partition = |path: PathBuf| {
        let uevent = files::line(path.join("uevent"))?;
        let field = |name: &str| uevent.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let device = dev.join(field("DEVNAME")?);
        let named = match field("PARTNAME") {
            Some(name) => [SEED_LABEL, NOCLOUD_LABEL].contains(&name),
            None => field("DEVTYPE") == Some("partition") && is_named_fat(&device),
        };
        named.then_some(device)
    };
    files::entries(sys.join("class/block")).into_iter().filter_map(partition).collect()
}

/// Whether it is a FAT of a seed's name, as the boot sector says (FAT12/16 and FAT32).
fn is_named_fat(device: &Path) -> bool {
    let mut sector = [0; 512];
    if File::open(device).and_then(|mut file| file.read_exact(&mut sector)).is_err() {
        return false;
    }
    [43, 71].iter().any(|at| {
        let (label, kind) = sector.get(*at..).and_then(|rest| rest.split_at_checked(11)).unwrap_or_default();
        let label = String::from_utf8_lossy(label);
        let named = [SEED_LABEL, NOCLOUD_LABEL].iter().any(|name| label.trim_end().eq_ignore_ascii_case(name));
        named && kind.starts_with(b"FAT")
    })
}

fn read_from(device: &Path) -> io::Result<Found> {
    let mut disk = File::open(device)?;
    let size = disk.seek(SeekFrom::End(0))?;
    let volume = FileSystem::new(Window::new(&disk, 0, size), FsOptions::new())?;
    let file = |path: &str| -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        volume.root_dir().open_file(path)?.take(MAX_FILE).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let one_of = |paths: [&str; 2]| paths.into_iter().find_map(|path| file(path).ok());
    let identity = serde_json::from_slice(&file(IDENTITY_PATH)?)?;
    let meta_data = one_of(META_DATA).map(|bytes| serde_json::from_slice(&bytes)).transpose()?.unwrap_or_default();
    let network_data = one_of(NETWORK_DATA).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Found { identity, meta_data, network_data })
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
        let options = fatfs::FormatVolumeOptions::new().volume_label(*b"config-2   ");
        fatfs::format_volume(&file, options).unwrap();
        let volume = FileSystem::new(&file, FsOptions::new()).unwrap();
        for folder in ["bessemer", "openstack", "openstack/latest"] {
            volume.root_dir().create_dir(folder).unwrap();
        }
        let mut meta_data = volume.root_dir().create_file(META_DATA[0]).unwrap();
        meta_data.write_all(br#"{"uuid":"i-1"}"#).unwrap();
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
            // An MBR has no names.
            let label = if label.is_empty() { String::new() } else { format!("PARTNAME={label}\n") };
            let uevent = format!("MAJOR=254\nDEVNAME={name}\nDEVTYPE=partition\nPARTN=3\n{label}");
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
        let found = read(&sys, &dev).unwrap();
        assert_eq!((found.identity, found.network_data), (identity.clone(), None));
        assert_eq!(found.meta_data["uuid"], "i-1");
        assert!(fs::read(dev.join("vda3")).unwrap() == before, "reading must not write");
        partition("vdb3", SEED_LABEL);
        File::create(dev.join("vdb3")).unwrap().set_len(1 << 20).unwrap();
        assert!(read(&sys, &dev).is_ok(), "what is no seed of ours does not count");
        fs::remove_file(dev.join("vdb3")).unwrap();
        seed_on(&dev.join("vdb3"), &identity);
        assert_eq!(read(&sys, &dev).unwrap().identity, identity, "the same through another path");
        fs::remove_file(dev.join("vdb3")).unwrap();
        seed_on(&dev.join("vdb3"), &NodeIdentity { claim: "metal/m1".into(), ..identity.clone() });
        assert!(matches!(read(&sys, &dev), Err(SeedError::Several(_))));
        for name in ["vda3", "vdb3"] {
            fs::remove_dir_all(sys.join("class/block").join(name)).unwrap();
        }
        partition("vda3", "");
        partition("vdc1", "");
        fs::write(dev.join("vdc1"), [0; 4096]).unwrap();
        assert_eq!(read(&sys, &dev).unwrap().identity, identity, "in an MBR");
    }
}
