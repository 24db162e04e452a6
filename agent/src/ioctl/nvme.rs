//! Admin commands to NVMe controllers.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::ioctl::{Updater, ioctl, opcode};

/// `struct nvme_admin_cmd` of `<linux/nvme_ioctl.h>`.
#[repr(C)]
#[derive(Debug, Default)]
struct Raw {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    data: u64,
    metadata_length: u32,
    data_length: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_milliseconds: u32,
    result: u32,
}

/// `NVME_IOCTL_ADMIN_CMD`: a pointer to the above, which is read and written.
const ADMIN: u32 = opcode::read_write::<Raw>(b'N', 0x41);

/// An admin command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NvmeCommand {
    /// Such as 06h, Identify.
    pub(crate) opcode: u8,
    /// 0 for the controller, all ones for every namespace.
    pub(crate) namespace: u32,
    /// Command dwords 10 and 11.
    pub(crate) dwords: [u32; 2],
    /// How long the kernel waits for it.
    pub(crate) timeout: Duration,
}

/// Sends `command` and fills `data` with what the controller answers. A status other than success is an error with its number.
pub(crate) fn nvme_admin(device: impl AsFd, command: NvmeCommand, data: &mut [u8]) -> io::Result<()> {
    let mut raw = Raw {
        opcode: command.opcode,
        namespace: command.namespace,
        data: if data.is_empty() { 0 } else { data.as_mut_ptr() as u64 },
        data_length: u32::try_from(data.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        cdw10: command.dwords[0],
        cdw11: command.dwords[1],
        timeout_milliseconds: u32::try_from(command.timeout.as_millis()).unwrap_or(u32::MAX),
        ..Raw::default()
    };
    // SAFETY: NVME_IOCTL_ADMIN_CMD takes a `struct nvme_admin_cmd`, of which `Raw` is the C layout. Both it and `data`, to whose length
    // it is bound, live until the call returns, and the kernel keeps neither.
    let status = unsafe { ioctl(device, Status(Updater::<ADMIN, Raw>::new(&mut raw))) }?;
    if status == 0 { Ok(()) } else { Err(io::Error::other(format!("NVMe status {status:#x}"))) }
}

/// The plain updater forgets what the call returns, which here is the controller's status.
struct Status<I>(I);

// SAFETY: all but the output is the inner one's own.
unsafe impl<I: rustix::ioctl::Ioctl> rustix::ioctl::Ioctl for Status<I> {
    type Output = i32;

    const IS_MUTATING: bool = I::IS_MUTATING;

    fn opcode(&self) -> rustix::ioctl::Opcode {
        self.0.opcode()
    }

    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        self.0.as_ptr()
    }

    unsafe fn output_from_ptr(
        out: rustix::ioctl::IoctlOutput,
        _: *mut std::ffi::c_void,
    ) -> rustix::io::Result<Self::Output> {
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_kernels() {
        assert_eq!((ADMIN, size_of::<Raw>()), (0xc048_4e41, 72));
    }
}
