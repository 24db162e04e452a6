//! By which bytes firmware, kernels and tools find something on a disk or a partition: one list for whoever must leave none of them and for
//! whoever must not write over them.

use std::io;

/// From where an offset counts.
#[derive(Debug, Clone, Copy)]
enum At {
    /// The first byte.
    Start(u64),
    /// The end, towards the start.
    End(u64),
    /// The end after rounding the size down to a multiple, towards the start.
    AlignedEnd { multiple: u64, back: u64 },
}

struct Signature {
    name: &'static str,
    kind: &'static str,
    at: At,
    bytes: &'static [u8],
}

const fn of(name: &'static str, kind: &'static str, at: At, bytes: &'static [u8]) -> Signature {
    Signature { name, kind, at, bytes }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Offsets and bytes are those that the owners of the formats document.
const KNOWN: &[Signature] = &[
    of("GPT", "gpt", At::Start(512), b"EFI PART"),
    of("GPT", "gpt", At::Start(4096), b"EFI PART"),
    of("backup GPT", "gpt", At::End(512), b"EFI PART"),
    of("backup GPT", "gpt", At::End(4096), b"EFI PART"),
    of("MBR or boot sector", "dos", At::Start(510), &[0x55, 0xaa]),
    of("ext2/3/4", "ext4", At::Start(0x438), &[0x53, 0xef]),
    of("XFS", "xfs", At::Start(0), b"XFSB"),
    of("btrfs", "btrfs", At::Start(64 * KIB + 64), b"_BHRfS_M"),
    of("btrfs, second copy", "btrfs", At::Start(64 * MIB + 64), b"_BHRfS_M"),
    of("btrfs, third copy", "btrfs", At::Start(256 * GIB + 64), b"_BHRfS_M"),
    of("swap", "swap", At::Start(4086), b"SWAPSPACE2"),
    of("swap", "swap", At::Start(4086), b"SWAP-SPACE"),
    of("swap, pages of 16 KiB", "swap", At::Start(16374), b"SWAPSPACE2"),
    of("swap, pages of 64 KiB", "swap", At::Start(65526), b"SWAPSPACE2"),
    of("FAT", "vfat", At::Start(0x36), b"FAT1"),
    of("FAT", "vfat", At::Start(0x52), b"FAT32"),
    of("NTFS", "ntfs", At::Start(3), b"NTFS    "),
    of("exFAT", "exfat", At::Start(3), b"EXFAT   "),
    of("BitLocker", "BitLocker", At::Start(3), b"-FVE-FS-"),
    of("ISO 9660", "iso9660", At::Start(0x8001), b"CD001"),
    of("UDF", "udf", At::Start(0x8001), b"BEA01"),
    of("f2fs", "f2fs", At::Start(1024), &[0x10, 0x20, 0xf5, 0xf2]),
    of("JFS", "jfs", At::Start(0x8000), b"JFS1"),
    of("ReiserFS", "reiserfs", At::Start(0x10034), b"ReIsEr"),
    of("NILFS2", "nilfs2", At::Start(1030), &[0x34, 0x34]),
    of("GFS2", "gfs2", At::Start(64 * KIB), &[0x01, 0x16, 0x19, 0x70]),
    of("OCFS2", "ocfs2", At::Start(1024), b"OCFSV2"),
    of("OCFS2", "ocfs2", At::Start(2048), b"OCFSV2"),
    of("OCFS2", "ocfs2", At::Start(4096), b"OCFSV2"),
    of("OCFS2", "ocfs2", At::Start(8192), b"OCFSV2"),
    of("HFS+", "hfsplus", At::Start(1024), b"H+\x00"),
    of("APFS", "apfs", At::Start(32), b"NXSB"),
    of("squashfs", "squashfs", At::Start(0), b"hsqs"),
    of("EROFS", "erofs", At::Start(1024), &[0xe2, 0xe1, 0xf5, 0xe0]),
    of("VMFS", "VMFS_volume_member", At::Start(MIB), &[0x0d, 0xd0, 0x01, 0xc0]),
    of("VMFS, its file system", "VMFS", At::Start(2 * MIB), &[0x5e, 0xf1, 0xab, 0x2f]),
    of("LVM", "LVM2_member", At::Start(0), b"LABELONE"),
    of("LVM", "LVM2_member", At::Start(512), b"LABELONE"),
    of("LVM", "LVM2_member", At::Start(1024), b"LABELONE"),
    of("LVM", "LVM2_member", At::Start(1536), b"LABELONE"),
    of("LUKS", "crypto_LUKS", At::Start(0), b"LUKS\xba\xbe"),
    of("dm-integrity", "DM_integrity", At::Start(0), b"integrt\x00"),
    of("dm-verity", "DM_verity_hash", At::Start(0), b"verity\x00\x00"),
    of("LUKS, second header", "crypto_LUKS", At::Start(16 * KIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", "crypto_LUKS", At::Start(32 * KIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", "crypto_LUKS", At::Start(64 * KIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", "crypto_LUKS", At::Start(128 * KIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", "crypto_LUKS", At::Start(256 * KIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", "crypto_LUKS", At::Start(512 * KIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", "crypto_LUKS", At::Start(MIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", "crypto_LUKS", At::Start(2 * MIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", "crypto_LUKS", At::Start(4 * MIB), b"SKUL\xba\xbe"),
    of(
        "md RAID 0.90",
        "linux_raid_member",
        At::AlignedEnd { multiple: 64 * KIB, back: 64 * KIB },
        &[0xfc, 0x4e, 0x2b, 0xa9],
    ),
    of(
        "md RAID 0.90, big-endian",
        "linux_raid_member",
        At::AlignedEnd { multiple: 64 * KIB, back: 64 * KIB },
        &[0xa9, 0x2b, 0x4e, 0xfc],
    ),
    of(
        "md RAID 1.0",
        "linux_raid_member",
        At::AlignedEnd { multiple: 4 * KIB, back: 8 * KIB },
        &[0xfc, 0x4e, 0x2b, 0xa9],
    ),
    of("md RAID 1.1", "linux_raid_member", At::Start(0), &[0xfc, 0x4e, 0x2b, 0xa9]),
    of("md RAID 1.2", "linux_raid_member", At::Start(4096), &[0xfc, 0x4e, 0x2b, 0xa9]),
    of("Intel RAID", "isw_raid_member", At::End(1024), b"Intel Raid ISM Cfg Sig. "),
    of("Intel RAID", "isw_raid_member", At::End(8192), b"Intel Raid ISM Cfg Sig. "),
    of("DDF RAID", "ddf_raid_member", At::End(512), &[0xde, 0x11, 0xde, 0x11]),
    of("DDF RAID", "ddf_raid_member", At::End(4096), &[0xde, 0x11, 0xde, 0x11]),
    of("LSI RAID", "lsi_mega_raid_member", At::End(512), b"$XIDE$"),
    of("NVIDIA RAID", "nvidia_raid_member", At::End(1024), b"NVIDIA"),
    of("bcache", "bcache", At::Start(4120), &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca]),
    of("DRBD", "drbd", At::End(4096 - 60), &[0x83, 0x74, 0x02, 0x6d]),
    of("Stratis", "stratis", At::Start(516), b"!Stra0tis\x86\xff\x02^\x41rh"),
    of("VDO", "vdo", At::Start(0), b"dmvdo001"),
    of("Ceph BlueStore", "ceph_bluestore", At::Start(0), b"bluestore block device"),
];

/// Copies of ZFS's label: two at each end, 256 KiB each, with an array of uberblocks in the second half.
const ZFS_LABEL: u64 = 256 * KIB;
const ZFS_UBERBLOCKS: [[u8; 8]; 2] = [0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes()];

/// Something that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// For people.
    pub name: &'static str,
    /// What util-linux' `blkid` calls it as a `TYPE`, or as a `PTTYPE` where it is a table of partitions; all of ext2, ext3 and ext4 is `ext4`.
    pub kind: &'static str,
    /// In bytes from the start.
    pub at: u64,
}

/// What is found on `size` bytes, of which `read(offset, length)` gives some; none of that is asked for beyond the end.
///
/// # Errors
/// Those of `read`.
pub fn find(size: u64, mut read: impl FnMut(u64, usize) -> io::Result<Vec<u8>>) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for Signature { name, kind, at, bytes } in KNOWN {
        let at = match *at {
            At::Start(offset) => Some(offset),
            At::End(back) => size.checked_sub(back),
            At::AlignedEnd { multiple, back } => (size / multiple * multiple).checked_sub(back),
        };
        let Some(at) = at.filter(|at| at + bytes.len() as u64 <= size) else { continue };
        if read(at, bytes.len())? == *bytes {
            found.push(Found { name, kind, at });
        }
    }
    let aligned = size / ZFS_LABEL * ZFS_LABEL;
    for label in [Some(0), Some(ZFS_LABEL), aligned.checked_sub(2 * ZFS_LABEL), aligned.checked_sub(ZFS_LABEL)] {
        let Some(label) = label.filter(|label| label + ZFS_LABEL <= size) else { continue };
        let uberblocks = read(label + ZFS_LABEL / 2, 128 * 1024)?;
        if uberblocks.chunks(1024).any(|block| ZFS_UBERBLOCKS.iter().any(|magic| block.starts_with(magic))) {
            found.push(Found { name: "ZFS label", kind: "zfs_member", at: label });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `size` zeroes with `bytes` at `at`, as `find` reads them.
    fn kinds(size: u64, at: u64, bytes: &[u8]) -> Vec<&'static str> {
        let read = |offset: u64, length: usize| {
            assert!(offset + length as u64 <= size, "beyond the end");
            let byte = |place: u64| place.checked_sub(at).and_then(|index| bytes.get(usize::try_from(index).ok()?));
            Ok((offset..offset + length as u64).map(|place| byte(place).copied().unwrap_or(0)).collect())
        };
        find(size, read).unwrap().into_iter().map(|found| found.kind).collect()
    }

    #[test]
    fn members_of_arrays_and_pools_are_known_at_either_end() {
        const SIZE: u64 = (1 << 30) + 7 * 512;
        let md = [0xfc, 0x4e, 0x2b, 0xa9];
        let table: [(u64, &[u8], &str); 12] = [
            ((SIZE & !0xffff) - (64 << 10), &md, "linux_raid_member"),
            ((SIZE & !0xfff) - (8 << 10), &md, "linux_raid_member"),
            (0, &md, "linux_raid_member"),
            (4096, &md, "linux_raid_member"),
            (SIZE - 512, &[0xde, 0x11, 0xde, 0x11], "ddf_raid_member"),
            (SIZE - 1024, b"Intel Raid ISM Cfg Sig. ", "isw_raid_member"),
            (4120, &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca], "bcache"),
            (512, b"LABELONE", "LVM2_member"),
            (16 << 10, b"SKUL\xba\xbe", "crypto_LUKS"),
            (1 << 20, &[0x0d, 0xd0, 0x01, 0xc0], "VMFS_volume_member"),
            (200 << 10, &0x00ba_b10c_u64.to_le_bytes(), "zfs_member"),
            ((SIZE & !0x3ffff) - (100 << 10), &0x00ba_b10c_u64.to_be_bytes(), "zfs_member"),
        ];
        for (at, bytes, kind) in table {
            assert_eq!(kinds(SIZE, at, bytes), [kind], "at {at}");
        }
    }

    #[test]
    fn nothing_is_read_beyond_the_end_of_a_small_disk() {
        for size in [0, 1, 511, 512, 4096, 64 << 10, (256 << 10) - 1, 256 << 10, 600 << 10] {
            assert_eq!(kinds(size, 0, &[]), [""; 0], "{size}");
        }
    }
}
