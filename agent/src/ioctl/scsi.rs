//! Commands to SCSI devices, and through them to ATA disks.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::ioctl::{Opcode, Updater, ioctl};

/// `struct sg_io_hdr` of `<scsi/sg.h>` on a 64-bit machine.
#[repr(C)]
#[derive(Debug, Default)]
struct Raw {
    interface: i32,
    direction: i32,
    command_length: u8,
    sense_length: u8,
    segments: u16,
    data_length: u32,
    data: u64,
    command: u64,
    sense: u64,
    timeout_milliseconds: u32,
    flags: u32,
    pack_id: i32,
    user: u64,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_written: u8,
    host_status: u16,
    driver_status: u16,
    residual: i32,
    duration: u32,
    info: u32,
}

/// `SG_IO`.
const SG_IO: Opcode = 0x2285;

/// Where a command's data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScsiDirection {
    /// No data.
    None,
    /// To the device.
    Out,
    /// From the device.
    In,
}

/// Sends `command` with `data` and returns the sense bytes, which are none when all went well. A failure of the transport is an error.
pub(crate) fn scsi(
    device: impl AsFd,
    command: &[u8; 16],
    direction: ScsiDirection,
    data: &mut [u8],
    timeout: Duration,
) -> io::Result<Vec<u8>> {
    let mut sense = [0_u8; 64];
    let mut raw = Raw {
        interface: i32::from(b'S'),
        direction: match direction {
            ScsiDirection::None => -1,
            ScsiDirection::Out => -2,
            ScsiDirection::In => -3,
        },
        command_length: 16,
        sense_length: 64,
        data_length: u32::try_from(data.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        data: data.as_mut_ptr() as u64,
        command: command.as_ptr() as u64,
        sense: sense.as_mut_ptr() as u64,
        timeout_milliseconds: u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX),
        ..Raw::default()
    };
    // SAFETY: SG_IO takes a `struct sg_io_hdr`, of which `Raw` is the C layout. It, the command, the data and the sense buffer, to whose
    // lengths it is bound, live until the call returns, and the kernel keeps none of them.
    unsafe { ioctl(device, Updater::<SG_IO, Raw>::new(&mut raw)) }?;
    if raw.host_status != 0 {
        return Err(io::Error::other(format!("SCSI host status {:#x}", raw.host_status)));
    }
    if ![GOOD, CHECK_CONDITION].contains(&raw.status) {
        return Err(io::Error::other(format!("SCSI status {:#x}: the command was not carried out", raw.status)));
    }
    let written = sense.get(..usize::from(raw.sense_written)).unwrap_or_default();
    // With CK_COND an ATA command always comes with sense: what it means is for whoever sent it.
    Ok(written.to_vec())
}

/// Statuses of SAM-5, table 46, with which a command has been carried out, or says by its sense why not. Of a busy or reserved disk, which carried out
/// nothing, there is no sense.
const GOOD: u8 = 0x00;
const CHECK_CONDITION: u8 = 0x02;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!((size_of::<Raw>(), std::mem::offset_of!(Raw, data), std::mem::offset_of!(Raw, info)), (88, 16, 80));
    }
}
