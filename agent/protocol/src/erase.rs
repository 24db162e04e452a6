//! Erasing disks: what is asked and what is answered.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Disk, RootDeviceHints};

/// Payload of the work item that erases. Read-only, removable and empty devices are never touched, whatever it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Erase {
    /// How thoroughly.
    pub mode: EraseMode,
    /// The disks to erase as an inspection found them. One that is not there, or is another one by now, ends the item before anything
    /// is erased.
    #[serde(default)]
    pub disks: Vec<DiskIdentity>,
    /// Disks to leave alone, by hints with the semantics of root device hints. Each must hold of a disk, else the item ends before
    /// anything is erased: a slip of the pen must not cost the disk it was meant to save.
    #[serde(default)]
    pub keep: Vec<RootDeviceHints>,
    /// What to do with disks that neither list names.
    #[serde(default)]
    pub unlisted: Unlisted,
}

/// How thoroughly to erase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EraseMode {
    /// Everything by which a firmware, a kernel or a tool finds something on the disk: partition tables, file systems, RAID members,
    /// volumes, encryption headers. The data itself stays.
    Metadata,
    /// All data, by the strongest means that the disk offers.
    Full,
    /// The seeds that a deployment left for the installed system, wholly; all else stays. A seed is a partition that holds a file system
    /// with a seed's label.
    Seeds,
}

/// Disks that a plan does not name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unlisted {
    /// End the item before anything is erased: the plan was made for another set of disks.
    #[default]
    Refuse,
    /// Erase them too.
    Erase,
    /// Leave them alone.
    Keep,
}

/// By what a disk is known again. Names are for people; they change from boot to boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DiskIdentity {
    /// Device path at inspection, or another name of the disk; decides only when there is neither serial number nor world wide name.
    pub name: String,
    /// Serial number; empty when the disk has none.
    pub serial_number: String,
    /// World wide name with its extension; empty when the disk has none.
    pub wwn: String,
    /// Capacity in bytes.
    pub size_bytes: u64,
}

impl DiskIdentity {
    /// Of a disk as found.
    #[must_use]
    pub fn of(disk: &Disk) -> Self {
        let wwn = if disk.wwn_with_extension.is_empty() { &disk.wwn } else { &disk.wwn_with_extension };
        Self {
            name: disk.name.clone(),
            serial_number: disk.serial_number.clone(),
            wwn: wwn.clone(),
            size_bytes: disk.size_bytes,
        }
    }

    /// Whether `disk` is the one meant: everything that is known of it must agree, and something beside size and name must be known
    /// unless the disk has nothing else.
    #[must_use]
    pub fn is(&self, disk: &Disk) -> bool {
        let other = Self::of(disk);
        let wwn_agrees = self.wwn.is_empty() || self.wwn == other.wwn || self.wwn == disk.wwn;
        let bare = self.serial_number.is_empty() && self.wwn.is_empty();
        let known = if bare {
            let is_named = self.name == other.name || disk.alternate_names.contains(&self.name);
            is_named && other.serial_number.is_empty() && other.wwn.is_empty()
        } else {
            (self.serial_number.is_empty() || self.serial_number == other.serial_number) && wwn_agrees
        };
        known && self.size_bytes == other.size_bytes
    }
}

/// For people.
impl fmt::Display for DiskIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (", self.name)?;
        for (label, value) in [("serial", &self.serial_number), ("wwn", &self.wwn)] {
            if !value.is_empty() {
                write!(f, "{label} {value}, ")?;
            }
        }
        write!(f, "{} bytes)", self.size_bytes)
    }
}

/// What an erasure did. Only an item that erased every disk it should ends with this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EraseReport {
    /// Each disk that was erased.
    pub erased: Vec<ErasedDisk>,
    /// Each device that was not, and why.
    pub skipped: Vec<SkippedDisk>,
}

/// One erased disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ErasedDisk {
    /// Which one.
    pub disk: DiskIdentity,
    /// What was done to it in order, with what a person wants to know of each: `ext4 superblock at 1024`, `sanitize, block erase`.
    pub steps: Vec<String>,
    /// How it was proven, such as `256 samples of 4096 bytes read as zero`.
    pub proof: String,
    /// How long it took.
    pub seconds: u64,
}

/// One device that was left as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SkippedDisk {
    /// Device path.
    pub name: String,
    /// In words.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_known_again_by_what_does_not_change() {
        let disk = |name: &str, serial: &str, wwn: &str, size: u64| Disk {
            name: name.into(),
            serial_number: serial.into(),
            wwn: wwn.into(),
            wwn_with_extension: wwn.into(),
            size_bytes: size,
            ..Disk::default()
        };
        let meant = DiskIdentity::of(&disk("/dev/sda", "S1", "0x5000", 100));
        let bare = DiskIdentity::of(&disk("/dev/vda", "", "", 100));
        let by_path = DiskIdentity { name: "/dev/disk/by-path/pci-1".into(), ..bare.clone() };
        let by_another_name =
            Disk { alternate_names: vec!["/dev/disk/by-path/pci-1".into()], ..disk("/dev/vdc", "", "", 100) };
        let table = [
            (&meant, disk("/dev/sdb", "S1", "0x5000", 100), true, "names move"),
            (&meant, disk("/dev/sda", "S2", "0x5000", 100), false, "another serial number"),
            (&meant, disk("/dev/sda", "S1", "0x5001", 100), false, "another world wide name"),
            (&meant, disk("/dev/sda", "S1", "0x5000", 101), false, "another size"),
            (&meant, disk("/dev/sda", "", "", 100), false, "lost its identity"),
            (&bare, disk("/dev/vda", "", "", 100), true, "nothing but name and size to go by"),
            (&bare, disk("/dev/vdb", "", "", 100), false, "another name"),
            (&bare, disk("/dev/vda", "S1", "", 100), false, "it has an identity after all"),
            (&by_path, by_another_name, true, "the name that stays, where nothing else does"),
        ];
        for (identity, disk, expected, why) in table {
            assert_eq!(identity.is(&disk), expected, "{why}");
        }
    }
}
