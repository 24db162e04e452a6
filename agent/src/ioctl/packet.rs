//! Sockets that see the frames of one interface.

use std::io;
use std::os::fd::OwnedFd;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use tokio::io::unix::AsyncFd;

use super::awaited;

/// `struct sockaddr_ll` of `<linux/if_packet.h>`.
#[repr(C)]
struct Address {
    family: u16,
    /// In network byte order.
    protocol: u16,
    interface: i32,
    hardware: u16,
    packet: u8,
    length: u8,
    address: [u8; 8],
}

/// `AF_PACKET`.
const PACKET: u16 = 17;

/// A socket that receives the frames of `ethernet_type` on the interface with the kernel's `index`, headers included.
pub(crate) fn packet_socket(index: u32, ethernet_type: [u8; 2]) -> io::Result<AsyncFd<OwnedFd>> {
    let protocol = u16::from_ne_bytes(ethernet_type);
    // Until it is bound it receives nothing: a protocol now would let frames of other interfaces in.
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))?;
    let interface = i32::try_from(index).map_err(|_| io::ErrorKind::InvalidInput)?;
    let address = Address { family: PACKET, protocol, interface, hardware: 0, packet: 0, length: 0, address: [0; 8] };
    // SAFETY: the storage is larger than `Address`, aligned for every address, and zeroed; the length is that of what is written.
    let ((), address) = unsafe {
        SockAddr::try_init(|storage, length| {
            storage.cast::<Address>().write(address);
            length.write(u32::try_from(size_of::<Address>()).unwrap_or(0));
            Ok(())
        })
    }?;
    socket.bind(&address)?;
    socket.set_nonblocking(true)?;
    awaited(OwnedFd::from(socket))
}
