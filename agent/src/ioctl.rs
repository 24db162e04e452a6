//! The ioctls that the agent needs and no safe crate offers. The only unsafe code of the agent is in this room: each call passes a constant
//! opcode and an integer or a structure of the C layout that the kernel documents, and the kernel keeps no pointer to it; one makes an address that no
//! safe crate can make.

#![expect(
    unsafe_code,
    reason = "ioctl numbers say nothing about their argument's type; each is stated beside its call"
)]

mod block;
mod ipmi;
mod nvme;
mod packet;
mod readiness;
mod scsi;

use std::io;
use std::os::fd::AsFd;

use rustix::ioctl::{NoArg, Setter, ioctl, opcode};

pub(crate) use block::{discard, remove_mapping, secure_discard, zero_out};
pub(crate) use ipmi::ipmi;
pub(crate) use nvme::{NvmeCommand, nvme_admin};
pub(crate) use packet::packet_socket;
pub(crate) use readiness::awaited;
pub(crate) use scsi::{ScsiDirection, scsi};

/// `BLKRRPART` of `<linux/fs.h>`: no argument.
const REREAD_PARTITIONS: u32 = opcode::none(0x12, 95);

/// `EXT4_IOC_RESIZE_FS` of the kernel's `fs/ext4/ext4.h`: a pointer to the new size in blocks, 64 bits.
const RESIZE_EXT4: u32 = opcode::write::<u64>(b'f', 16);

/// Makes the kernel read the partition table again. `EBUSY` while a partition is in use.
pub(crate) fn reread_partition_table(disk: impl AsFd) -> io::Result<()> {
    // SAFETY: BLKRRPART takes no argument and returns nothing but a status.
    Ok(unsafe { ioctl(disk, NoArg::<REREAD_PARTITIONS>::new()) }?)
}

/// Grows the mounted ext4 that holds `mounted` to `blocks` of its own blocks. Does nothing when it has that size.
pub(crate) fn resize_ext4(mounted: impl AsFd, blocks: u64) -> io::Result<()> {
    // SAFETY: EXT4_IOC_RESIZE_FS reads one u64, which lives until the call returns.
    Ok(unsafe { ioctl(mounted, Setter::<RESIZE_EXT4, u64>::new(blocks)) }?)
}

/// `struct xfs_growfs_data` of the kernel's `fs/xfs/libxfs/xfs_fs.h`.
#[repr(C)]
struct GrowXfs {
    new_blocks: u64,
    inode_percent: u32,
}

/// `XFS_IOC_FSGROWFSDATA`: a pointer to the structure.
const RESIZE_XFS: u32 = opcode::write::<GrowXfs>(b'X', 110);

/// Grows the mounted XFS that holds `mounted` to `blocks` of its own blocks. `inode_percent` is what its superblock says.
pub(crate) fn resize_xfs(mounted: impl AsFd, blocks: u64, inode_percent: u8) -> io::Result<()> {
    let grow = GrowXfs { new_blocks: blocks, inode_percent: u32::from(inode_percent) };
    // SAFETY: XFS_IOC_FSGROWFSDATA reads one structure of this layout, which lives until the call returns.
    Ok(unsafe { ioctl(mounted, Setter::<RESIZE_XFS, GrowXfs>::new(grow)) }?)
}
