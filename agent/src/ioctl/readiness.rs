//! Descriptors that the runtime waits for.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// `descriptor` as one that tells when it can be read.
pub(crate) fn awaited(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is open, and owned by what waits for it, which hands it out to nobody who could close it.
    unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }.map_err(|error| error.into_parts().1)
}
