//! The one system call that the agent needs and no safe crate offers.

#![expect(unsafe_code, reason = "a raw system call; its arguments are stated beside it")]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `KEXEC_FILE_NO_INITRAMFS` of `<linux/kexec.h>`.
const NO_INITRAMFS: libc::c_ulong = 4;

/// Loads a kernel, its initial ramdisk and command line for `reboot(KEXEC)`. `EPERM` where secure boot or lockdown forbids it.
pub(crate) fn kexec_file_load(kernel: &File, initrd: Option<&File>, command_line: &str) -> io::Result<()> {
    let line = CString::new(command_line).map_err(io::Error::other)?;
    let bytes = line.as_bytes_with_nul();
    let (initrd, flags) = initrd.map_or((-1, NO_INITRAMFS), |initrd| (initrd.as_raw_fd(), 0));
    // SAFETY: kexec_file_load(2) takes two file descriptors, the length of the command line with its end, its address, and flags; it reads
    // the command line before it returns and keeps no pointer.
    let result = unsafe {
        libc::syscall(
            libc::SYS_kexec_file_load,
            libc::c_long::from(kernel.as_raw_fd()),
            libc::c_long::from(initrd),
            bytes.len(),
            bytes.as_ptr(),
            flags,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
