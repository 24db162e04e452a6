//! By which bytes firmware, kernels and tools find something on a disk or a partition, and where else than at its ends such bytes lie.

use std::io;
use std::ops::Range;

use super::medium::Medium;
use super::tables;

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
    at: At,
    bytes: &'static [u8],
}

const fn of(name: &'static str, at: At, bytes: &'static [u8]) -> Signature {
    Signature { name, at, bytes }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Offsets and bytes are those that the owners of the formats document.
const KNOWN: &[Signature] = &[
    of("GPT", At::Start(512), b"EFI PART"),
    of("GPT", At::Start(4096), b"EFI PART"),
    of("backup GPT", At::End(512), b"EFI PART"),
    of("backup GPT", At::End(4096), b"EFI PART"),
    of("MBR or boot sector", At::Start(510), &[0x55, 0xaa]),
    of("ext2/3/4", At::Start(0x438), &[0x53, 0xef]),
    of("XFS", At::Start(0), b"XFSB"),
    of("btrfs", At::Start(64 * KIB + 64), b"_BHRfS_M"),
    of("btrfs, second copy", At::Start(64 * MIB + 64), b"_BHRfS_M"),
    of("btrfs, third copy", At::Start(256 * GIB + 64), b"_BHRfS_M"),
    of("swap", At::Start(4086), b"SWAPSPACE2"),
    of("swap", At::Start(4086), b"SWAP-SPACE"),
    of("swap, pages of 16 KiB", At::Start(16374), b"SWAPSPACE2"),
    of("swap, pages of 64 KiB", At::Start(65526), b"SWAPSPACE2"),
    of("FAT", At::Start(0x36), b"FAT1"),
    of("FAT", At::Start(0x52), b"FAT32"),
    of("NTFS", At::Start(3), b"NTFS    "),
    of("exFAT", At::Start(3), b"EXFAT   "),
    of("BitLocker", At::Start(3), b"-FVE-FS-"),
    of("ISO 9660", At::Start(0x8001), b"CD001"),
    of("UDF", At::Start(0x8001), b"BEA01"),
    of("f2fs", At::Start(1024), &[0x10, 0x20, 0xf5, 0xf2]),
    of("JFS", At::Start(0x8000), b"JFS1"),
    of("ReiserFS", At::Start(0x10034), b"ReIsEr"),
    of("NILFS2", At::Start(1030), &[0x34, 0x34]),
    of("GFS2", At::Start(64 * KIB), &[0x01, 0x16, 0x19, 0x70]),
    of("HFS+", At::Start(1024), b"H+\x00"),
    of("APFS", At::Start(32), b"NXSB"),
    of("squashfs", At::Start(0), b"hsqs"),
    of("EROFS", At::Start(1024), &[0xe2, 0xe1, 0xf5, 0xe0]),
    of("VMFS", At::Start(MIB), &[0x0d, 0xd0, 0x01, 0xc0]),
    of("LVM", At::Start(0), b"LABELONE"),
    of("LVM", At::Start(512), b"LABELONE"),
    of("LVM", At::Start(1024), b"LABELONE"),
    of("LVM", At::Start(1536), b"LABELONE"),
    of("LUKS", At::Start(0), b"LUKS\xba\xbe"),
    of("LUKS, second header", At::Start(16 * KIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", At::Start(32 * KIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", At::Start(64 * KIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", At::Start(128 * KIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", At::Start(256 * KIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", At::Start(512 * KIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", At::Start(MIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", At::Start(2 * MIB), b"SKUL\xba\xbe"),
    of("LUKS, second header", At::Start(4 * MIB), b"SKUL\xba\xbe"),
    of("md RAID 0.90", At::AlignedEnd { multiple: 64 * KIB, back: 64 * KIB }, &[0xfc, 0x4e, 0x2b, 0xa9]),
    of("md RAID 1.0", At::AlignedEnd { multiple: 4 * KIB, back: 8 * KIB }, &[0xfc, 0x4e, 0x2b, 0xa9]),
    of("md RAID 1.1", At::Start(0), &[0xfc, 0x4e, 0x2b, 0xa9]),
    of("md RAID 1.2", At::Start(4096), &[0xfc, 0x4e, 0x2b, 0xa9]),
    of("Intel RAID", At::End(1024), b"Intel Raid ISM Cfg Sig. "),
    of("Intel RAID", At::End(8192), b"Intel Raid ISM Cfg Sig. "),
    of("DDF RAID", At::End(512), &[0xde, 0x11, 0xde, 0x11]),
    of("DDF RAID", At::End(4096), &[0xde, 0x11, 0xde, 0x11]),
    of("bcache", At::Start(4120), &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca]),
    of("DRBD", At::End(4096 - 60), &[0x83, 0x74, 0x02, 0x6d]),
    of("Stratis", At::Start(516), b"!Stra0tis\x86\xff\x02^\x41rh"),
    of("VDO", At::Start(0), b"dmvdo001"),
    of("Ceph BlueStore", At::Start(0), b"bluestore block device"),
];

/// Copies of ZFS's label: two at each end, 256 KiB each, with an array of uberblocks in the second half.
const ZFS_LABEL: u64 = 256 * KIB;
const ZFS_UBERBLOCK: [u8; 8] = 0x00ba_b10c_u64.to_le_bytes();

/// What is found in `region`, each with its offset from the region's start.
pub(super) fn find(medium: &Medium, region: &Range<u64>) -> io::Result<Vec<(&'static str, u64)>> {
    let size = region.end - region.start;
    let mut found = Vec::new();
    for signature in KNOWN {
        let at = match signature.at {
            At::Start(offset) => Some(offset),
            At::End(back) => size.checked_sub(back),
            At::AlignedEnd { multiple, back } => (size / multiple * multiple).checked_sub(back),
        };
        let Some(at) = at.filter(|at| at + signature.bytes.len() as u64 <= size) else { continue };
        if medium.read(region.start + at, signature.bytes.len())? == signature.bytes {
            found.push((signature.name, at));
        }
    }
    let aligned = size / ZFS_LABEL * ZFS_LABEL;
    for label in [Some(0), Some(ZFS_LABEL), aligned.checked_sub(2 * ZFS_LABEL), aligned.checked_sub(ZFS_LABEL)] {
        let Some(label) = label.filter(|label| label + ZFS_LABEL <= size) else { continue };
        let uberblocks = medium.read(region.start + label + ZFS_LABEL / 2, 128 * 1024)?;
        if uberblocks.chunks(1024).any(|block| block.starts_with(&ZFS_UBERBLOCK)) {
            found.push(("ZFS label", label));
        }
    }
    Ok(found)
}

/// Ranges in the middle of `region`, from the disk's start, that what was found at its ends points to.
pub(super) fn far_places(medium: &Medium, region: &Range<u64>) -> io::Result<Vec<(&'static str, Range<u64>)>> {
    let mut places = Vec::new();
    for copy in [64 * MIB, 256 * GIB] {
        places.push(("btrfs, further copy", region.start + copy..region.start + copy + 4 * KIB));
    }
    let head = medium.read(region.start, 4096)?;
    if head.starts_with(b"LUKS\xba\xbe") {
        // Both headers and the key slots: without them not even the passphrase opens it.
        places.push(("LUKS key slots", region.start..region.start + 32 * MIB));
    }
    places.extend(ext_backups(&head, region));
    for sector in [512, 4096] {
        if let Some(other) = tables::other_header(medium, region.start + sector, sector)? {
            // The entries lie before a backup header.
            places.push(("backup GPT of a smaller disk", other.saturating_sub(32 * KIB)..other + sector));
        }
    }
    places.extend(ddf_headers(medium, region)?);
    let inside = |(name, range): (&'static str, Range<u64>)| {
        let range = range.start.max(region.start)..range.end.min(region.end);
        (range.start < range.end).then_some((name, range))
    };
    Ok(places.into_iter().filter_map(inside).collect())
}

/// Superblocks at the start of block groups 1 and the powers of 3, 5 and 7, from which `e2fsck -b` would bring a file system back.
fn ext_backups(head: &[u8], region: &Range<u64>) -> Vec<(&'static str, Range<u64>)> {
    let word = |at: usize| Some(u64::from(u32::from_le_bytes(head.get(1024 + at..1024 + at + 4)?.try_into().ok()?)));
    let fields = || Some((word(20)?, word(24)?, word(32)?));
    if head.get(0x438..0x43a) != Some(&[0x53, 0xef]) {
        return Vec::new();
    }
    let Some((first_block, log_size, per_group)) = fields().filter(|(_, log_size, _)| *log_size <= 6) else {
        return Vec::new();
    };
    let block = 1024_u64 << log_size;
    let mut groups = vec![1_u64];
    for base in [3_u64, 5, 7] {
        groups.extend((1..20).map_while(|power| base.checked_pow(power)));
    }
    let at = |group: u64| {
        let block_number = group.checked_mul(per_group)?.checked_add(first_block)?;
        let start = region.start.checked_add(block_number.checked_mul(block)?)?;
        Some(("ext2/3/4, backup superblock", start..start.checked_add(block)?))
    };
    groups.into_iter().filter_map(at).collect()
}

/// Primary and secondary header of a DDF disk, which its anchor in the last sector points to (SNIA DDF 2.0, section 5.5).
fn ddf_headers(medium: &Medium, region: &Range<u64>) -> io::Result<Vec<(&'static str, Range<u64>)>> {
    let Some(anchor) = (region.end - region.start).checked_sub(512) else { return Ok(Vec::new()) };
    let bytes = medium.read(region.start + anchor, 512)?;
    if !bytes.starts_with(&[0xde, 0x11, 0xde, 0x11]) {
        return Ok(Vec::new());
    }
    let place = |at: usize| {
        let lba = u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?);
        let start = region.start.checked_add(lba.checked_mul(512)?)?;
        Some(("DDF RAID, header", start..start.checked_add(64 * KIB)?))
    };
    Ok([96, 104].into_iter().filter_map(place).collect())
}
