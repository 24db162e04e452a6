//! Loading the kernel of an installed system for a start without the firmware.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bessemer_image_formats::filesystem::FileSystem;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tracing::{info, warn};

use super::installed::{self, Part};
use super::tree::Tree;
use crate::ramdisk::deploy::partitions::{self, OnDisk};
use crate::syscall;

/// Where the file systems of the disk are looked at.
const PLACE: &str = "/run/installed";

/// How much is copied at once.
const PIECE: u64 = 4 << 20;

/// Loads the kernel that the system on `disk` (`/dev/…`) would start, and says which one it is.
pub(super) fn load(disk: &str) -> Result<String, String> {
    let partitions = partitions::of(Path::new("/sys"), disk)?;
    for partition in &partitions {
        match partition.holds {
            FileSystem::Luks => return Err(format!("{} is encrypted", partition.device)),
            FileSystem::Lvm => return Err(format!("{} belongs to LVM", partition.device)),
            FileSystem::Raid => return Err(format!("{} belongs to a RAID", partition.device)),
            _ => {}
        }
    }
    let file = File::open(disk).map_err(|error| format!("{disk}: {error}"))?;
    let mut mounts = Mounts::default();
    let trees: Vec<Tree<'_>> = partitions.iter().filter_map(|partition| tree(partition, &file, &mut mounts)).collect();
    let found = installed::find(&trees)?;
    let kernel = in_memory(&trees, std::slice::from_ref(&found.kernel)).map_err(|error| format!("kernel: {error}"))?;
    let initrd = match found.initrds.as_slice() {
        [] => None,
        parts => Some(in_memory(&trees, parts).map_err(|error| format!("initial ramdisk: {error}"))?),
    };
    syscall::kexec_file_load(&kernel, initrd.as_ref(), &found.command_line)
        .map_err(|error| format!("the kernel does not take {}: {error}", found.kernel.path))?;
    info!("loaded {} with {:?}", found.kernel.path, found.command_line);
    Ok(format!("{} ({})", found.kernel.path, found.title))
}

/// A file system that cannot be read is not where the kernel is, or its absence will be noticed.
fn tree<'a>(partition: &OnDisk, disk: &'a File, mounts: &mut Mounts) -> Option<Tree<'a>> {
    let read = match partition.holds {
        FileSystem::Fat => Tree::fat(disk, partition.start, partition.length),
        other => mounts.mount(&partition.device, other.mount_name()?).map(Tree::Folder),
    };
    read.inspect_err(|error| warn!("{}: {error}", partition.device)).ok()
}

/// What was mounted, until this is dropped.
#[derive(Debug, Default)]
struct Mounts {
    places: Vec<PathBuf>,
}

impl Mounts {
    fn mount(&mut self, device: &str, kind: &str) -> io::Result<PathBuf> {
        let place = Path::new(PLACE).join(self.places.len().to_string());
        fs::create_dir_all(&place)?;
        let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount(device, &place, kind, flags, None)?;
        self.places.push(place.clone());
        Ok(place)
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for place in self.places.drain(..).rev() {
            if let Err(error) = unmount(&place, UnmountFlags::empty()) {
                warn!("cannot unmount {}: {error}", place.display());
            }
        }
    }
}

/// The parts one after the other, each at a multiple of four bytes as the kernel's unpacking wants it.
fn in_memory(trees: &[Tree<'_>], parts: &[Part]) -> io::Result<File> {
    let mut file = File::from(memfd_create("kexec", MemfdFlags::CLOEXEC)?);
    let mut length = 0;
    for part in parts {
        let tree = trees.get(part.tree).ok_or(io::ErrorKind::NotFound)?;
        let mut position = part.range.start;
        while position < part.range.end {
            let piece = tree.read(&part.path, position, (part.range.end - position).min(PIECE))?;
            file.write_all(&piece)?;
            position += piece.len() as u64;
        }
        length += part.range.end - part.range.start;
        let padding = usize::try_from(length.next_multiple_of(4) - length).unwrap_or(0);
        file.write_all([0; 4].get(..padding).unwrap_or_default())?;
        length = length.next_multiple_of(4);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, SeekFrom};

    use super::*;

    #[test]
    fn initrds_follow_each_other_at_multiples_of_four() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "12345").unwrap();
        fs::write(folder.path().join("b"), "xxabcdxx").unwrap();
        let trees = [Tree::Folder(folder.path().to_owned())];
        let part = |path: &str, range| Part { tree: 0, path: path.into(), range };
        let mut file = in_memory(&trees, &[part("a", 0..5), part("b", 2..6)]).unwrap();
        let mut text = String::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "12345\0\0\0abcd");
        assert!(in_memory(&trees, &[part("a", 0..6)]).is_err(), "a file that ends early");
    }
}
