//! What the C library does with memory that is given back.

#![expect(unsafe_code, reason = "a setting of the C library; its arguments are stated beside it")]

/// Blocks that are as large are the system's own again when they are freed: what the network gives is smaller.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 2 << 20;

/// Free memory at the end of a heap before it is given back.
#[cfg(target_env = "gnu")]
const KEPT: libc::c_int = 32 << 20;

/// Keeps freed memory for the next block of an image. Otherwise every few hundred KiB are given back to the kernel and taken from it
/// again, which zeroes them each time: a fifth of the processor time that writing an image takes.
pub(crate) fn keep_for_images() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt(3) takes two numbers and keeps no pointer. It is called before there are other threads.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
}
