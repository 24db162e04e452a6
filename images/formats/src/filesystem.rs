//! Which file system, or what else, a partition holds, by its superblock.

use crate::field::{array, be32, be64, le16, le32};

/// So many bytes of a partition's start tell.
pub const ENOUGH: usize = 128 << 10;

/// What a partition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// ext2, ext3 or ext4.
    Ext {
        /// Bytes of a block.
        block: u64,
        /// Blocks.
        blocks: u64,
    },
    /// XFS.
    Xfs {
        /// Bytes of a block.
        block: u64,
        /// Blocks.
        blocks: u64,
        /// Largest share of space for inodes, in per cent; growing must repeat it.
        inode_percent: u8,
    },
    /// btrfs.
    Btrfs,
    /// Any FAT.
    Fat,
    /// Encrypted.
    Luks,
    /// A physical volume of LVM.
    Lvm,
    /// A member of a software RAID.
    Raid,
    /// Nothing that is known.
    Unknown,
}

impl FileSystem {
    /// Tells from the start of a partition.
    #[must_use]
    pub fn detect(head: &[u8]) -> Self {
        let has = |offset: usize, mark: &[u8]| head.get(offset..).is_some_and(|rest| rest.starts_with(mark));
        if has(0, b"LUKS\xba\xbe") {
            return Self::Luks;
        }
        if (0..4).any(|sector| has(sector * 512, b"LABELONE")) {
            return Self::Lvm;
        }
        if has(0, &[0xfc, 0x4e, 0x2b, 0xa9]) || has(4096, &[0xfc, 0x4e, 0x2b, 0xa9]) {
            return Self::Raid;
        }
        if has(0, b"XFSB") {
            let (block, blocks) = (be32(head, 4).unwrap_or(0), be64(head, 8).unwrap_or(0));
            let [inode_percent] = array(head, 127).unwrap_or([0]);
            return Self::Xfs { block: u64::from(block), blocks, inode_percent };
        }
        if has(1024 + 0x38, &[0x53, 0xef]) {
            let shift = le32(head, 1024 + 0x18).unwrap_or(0).min(6);
            let low = u64::from(le32(head, 1024 + 4).unwrap_or(0));
            let is_64bit = le32(head, 1024 + 0x60).unwrap_or(0) & 0x80 != 0;
            let high = if is_64bit { u64::from(le32(head, 1024 + 0x150).unwrap_or(0)) } else { 0 };
            return Self::Ext { block: 1024 << shift, blocks: high << 32 | low };
        }
        if has(65_536 + 64, b"_BHRfS_M") {
            return Self::Btrfs;
        }
        let fat = has(54, b"FAT1") || has(82, b"FAT32");
        if fat && le16(head, 510) == Some(0xaa55) { Self::Fat } else { Self::Unknown }
    }

    /// What `mount` calls it; none for what cannot be mounted.
    #[must_use]
    pub fn mount_name(self) -> Option<&'static str> {
        match self {
            Self::Ext { .. } => Some("ext4"),
            Self::Xfs { .. } => Some("xfs"),
            Self::Btrfs => Some("btrfs"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_mkfs_makes_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        type Check = fn(FileSystem) -> bool;
        let table: [(&str, &[&str], Check); 5] = [
            ("mke2fs", &["-q", "-t", "ext4", "-b", "4096"], |found| {
                found == FileSystem::Ext { block: 4096, blocks: 100 << 8 }
            }),
            ("mke2fs", &["-q", "-t", "ext2", "-b", "1024"], |found| {
                found == FileSystem::Ext { block: 1024, blocks: 100 << 10 }
            }),
            ("mkfs.vfat", &["-F", "32"], |found| found == FileSystem::Fat),
            ("mkfs.vfat", &["-F", "16"], |found| found == FileSystem::Fat),
            (
                "mkfs.xfs",
                &["-q", "-f"],
                |found| matches!(found, FileSystem::Xfs { block: 4096, inode_percent: 1..=25, blocks } if blocks > 20_000),
            ),
        ];
        for (program, arguments, check) in table {
            let length = if program == "mkfs.xfs" { 320 } else { 100 };
            File::create(&path).unwrap().set_len(length << 20).unwrap();
            match Command::new(program).args(arguments).arg(&path).output() {
                Ok(output) if output.status.success() => {}
                other => {
                    println!("SKIP {program}: {other:?}");
                    continue;
                }
            }
            let mut head = vec![0; ENOUGH];
            File::open(&path).unwrap().read_exact(&mut head).unwrap();
            let found = FileSystem::detect(&head);
            assert!(check(found), "{program}: {found:?}");
        }
    }

    #[test]
    fn what_hides_a_root_is_known() {
        let at = |offset: usize, mark: &[u8]| {
            let mut head = vec![0; ENOUGH];
            head[offset..offset + mark.len()].copy_from_slice(mark);
            FileSystem::detect(&head)
        };
        assert_eq!(at(0, b"LUKS\xba\xbe"), FileSystem::Luks);
        assert_eq!(at(512, b"LABELONE"), FileSystem::Lvm);
        assert_eq!(at(4096, &[0xfc, 0x4e, 0x2b, 0xa9]), FileSystem::Raid);
        assert_eq!(at(65_600, b"_BHRfS_M"), FileSystem::Btrfs);
        assert_eq!(at(0, b""), FileSystem::Unknown);
        assert_eq!(FileSystem::detect(b"FAT"), FileSystem::Unknown);
    }
}
