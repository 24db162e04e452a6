//! Ranges of block devices, and devices made of others.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use rustix::ioctl::{Opcode, Setter, Updater, ioctl, opcode};

/// `BLKDISCARD`, `BLKSECDISCARD` and `BLKZEROOUT` of `<linux/fs.h>`: a pointer to start and length in bytes.
const DISCARD: Opcode = opcode::none(0x12, 119);
const SECURE_DISCARD: Opcode = opcode::none(0x12, 125);
const ZERO_OUT: Opcode = opcode::none(0x12, 127);

fn start_and_length(range: Range<u64>) -> [u64; 2] {
    [range.start, range.end.saturating_sub(range.start)]
}

/// Tells the device that nobody needs `range` any more. What it reads as afterwards is for the device to choose.
pub(crate) fn discard(disk: impl AsFd, range: Range<u64>) -> io::Result<()> {
    // SAFETY: BLKDISCARD reads two u64, which live until the call returns.
    Ok(unsafe { ioctl(disk, Setter::<DISCARD, [u64; 2]>::new(start_and_length(range))) }?)
}

/// The same, with copies that the device made of it.
pub(crate) fn secure_discard(disk: impl AsFd, range: Range<u64>) -> io::Result<()> {
    // SAFETY: BLKSECDISCARD reads two u64, which live until the call returns.
    Ok(unsafe { ioctl(disk, Setter::<SECURE_DISCARD, [u64; 2]>::new(start_and_length(range))) }?)
}

/// Makes `range` read as zeroes, by the device's own command if it has one, else by writing.
pub(crate) fn zero_out(disk: impl AsFd, range: Range<u64>) -> io::Result<()> {
    // SAFETY: BLKZEROOUT reads two u64, which live until the call returns.
    Ok(unsafe { ioctl(disk, Setter::<ZERO_OUT, [u64; 2]>::new(start_and_length(range))) }?)
}

/// `struct dm_ioctl` of `<linux/dm-ioctl.h>`.
#[repr(C)]
struct DeviceMapper {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
}

/// `DM_DEV_REMOVE`: a pointer to the above, which is read and written.
const REMOVE: Opcode = opcode::read_write::<DeviceMapper>(0xfd, 4);

/// Takes apart the device-mapper device of that name. `control` is `/dev/mapper/control`.
pub(crate) fn remove_mapping(control: impl AsFd, name: &str) -> io::Result<()> {
    let mut request = DeviceMapper {
        version: [4, 0, 0],
        data_size: u32::try_from(size_of::<DeviceMapper>()).unwrap_or(0),
        data_start: 0,
        target_count: 0,
        open_count: 0,
        flags: 0,
        event: 0,
        padding: 0,
        device: 0,
        name: [0; 128],
        uuid: [0; 129],
        data: [0; 7],
    };
    // The last byte stays zero, as the kernel wants it.
    let Some(room) = request.name.get_mut(..name.len()).filter(|_| name.len() < 128) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    room.copy_from_slice(name.as_bytes());
    // SAFETY: DM_DEV_REMOVE takes a `struct dm_ioctl`, of which `DeviceMapper` is the C layout and whose length it states, and which
    // lives until the call returns.
    Ok(unsafe { ioctl(control, Updater::<REMOVE, DeviceMapper>::new(&mut request)) }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_kernels() {
        assert_eq!([DISCARD, SECURE_DISCARD, ZERO_OUT, REMOVE], [0x1277, 0x127d, 0x127f, 0xc138_fd04]);
    }
}
