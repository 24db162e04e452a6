//! Several datagrams to one place in one system call: the kernel cuts one buffer into them (generic segmentation offload,
//! Linux 4.18), and most of its own path is walked once for all. It knows nothing of what they say.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc::in_pktinfo;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};

/// The kernel's own limits (`UDP_MAX_SEGMENTS`, and the length field of UDP).
const MOST_SEGMENTS: usize = 64;
const MOST_OCTETS: usize = 65_000;

/// How many messages of `segment` octets fit one call.
pub(crate) fn most(segment: usize) -> usize {
    (MOST_OCTETS / segment.max(1)).clamp(1, MOST_SEGMENTS)
}

/// Sends `messages`, which lie one behind the other, each `segment` octets long but the last, and at most [`most`] of
/// them. `to` is `None` for a connected socket; `source` is the address they leave from, where the socket has none.
///
/// # Errors
/// The system's; see [`is_refused`].
pub(crate) fn send_cut(
    socket: &impl AsRawFd,
    to: Option<SocketAddr>,
    source: Option<&in_pktinfo>,
    messages: &[u8],
    segment: usize,
) -> Result<(), Errno> {
    let segment = u16::try_from(segment).map_err(|_| Errno::EMSGSIZE)?;
    let to = to.map(SockaddrStorage::from);
    let cut = ControlMessage::UdpGsoSegments(&segment);
    let (fd, octets, flags) = (socket.as_raw_fd(), [IoSlice::new(messages)], MsgFlags::MSG_DONTWAIT);
    match source {
        None => sendmsg(fd, &octets, &[cut], flags, to.as_ref()),
        Some(source) => sendmsg(fd, &octets, &[ControlMessage::Ipv4PacketInfo(source), cut], flags, to.as_ref()),
    }
    .map(drop)
}

/// Whether the kernel is too old or a driver cannot sum what is cut: it will not do so next time either.
pub(crate) fn is_refused(error: Errno) -> bool {
    matches!(error, Errno::EINVAL | Errno::EIO | Errno::EOPNOTSUPP | Errno::ENOPROTOOPT)
}
