//! The socket of one interface, which says of each datagram whether it was sent to a group or to this server alone: what
//! clients may send depends on it.

use std::io::{self, IoSliceMut};
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::AsRawFd;

use nix::libc::in6_pktinfo;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn6, recvmsg, setsockopt, sockopt};
use socket2::{Domain, Protocol, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::SERVER_PORT;

/// All_DHCP_Relay_Agents_and_Servers, and All_DHCP_Servers, which relay agents may use.
const GROUPS: [Ipv6Addr; 2] = [Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2), Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 1, 3)];

/// A socket on the port of servers.
pub(super) struct Socket(UdpSocket);

/// What is known of a datagram besides its octets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    /// Who sent it.
    pub(super) peer: SocketAddrV6,
    /// Whether to a group.
    pub(super) multicast: bool,
}

impl Socket {
    /// On the interface, in the groups of servers.
    pub(super) fn bind(interface: &str) -> io::Result<Self> {
        let socket = socket2::Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_only_v6(true)?;
        socket.bind_device(Some(interface.as_bytes()))?;
        let index = rustix::net::netdevice::name_to_index(&socket, interface)?;
        for group in &GROUPS {
            socket.join_multicast_v6(group, index)?;
        }
        socket.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, SERVER_PORT)).into())?;
        Self::of(socket)
    }

    fn of(socket: socket2::Socket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?;
        Ok(Self(UdpSocket::from_std(socket.into())?))
    }

    /// One on loopback that nobody sends to.
    #[cfg(test)]
    pub(super) fn unused() -> Self {
        let socket = std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).unwrap();
        Self::of(socket.into()).unwrap()
    }

    /// The next datagram and its length.
    pub(super) async fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, Arrival)> {
        self.0.async_io(Interest::READABLE, || receive(&self.0, buffer)).await
    }

    /// Sends from the port of servers.
    pub(super) async fn send(&self, message: &[u8], to: SocketAddrV6) -> io::Result<()> {
        self.0.send_to(message, to).await.map(drop)
    }
}

fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, Arrival)> {
    let mut control = nix::cmsg_space!(in6_pktinfo);
    let mut parts = [IoSliceMut::new(buffer)];
    let received = recvmsg::<SockaddrIn6>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::MSG_DONTWAIT)?;
    let multicast = received.cmsgs()?.any(|message| match message {
        ControlMessageOwned::Ipv6PacketInfo(info) => Ipv6Addr::from(info.ipi6_addr.s6_addr).is_multicast(),
        _ => false,
    });
    let peer = received.address.ok_or(io::ErrorKind::InvalidData)?;
    let peer = SocketAddrV6::new(peer.ip(), peer.port(), peer.flowinfo(), peer.scope_id());
    Ok((received.bytes, Arrival { peer, multicast }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_sent_to_this_server_alone_is_told_apart() {
        let socket = Socket::unused();
        let to = socket.0.local_addr().unwrap();
        let client = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).await.unwrap();
        client.send_to(b"four", to).await.unwrap();
        let mut buffer = [0; 16];
        let (len, arrival) = socket.receive(&mut buffer).await.unwrap();
        assert_eq!((len, &buffer[..4], arrival.multicast), (4, &b"four"[..], false));
        assert_eq!(SocketAddr::V6(arrival.peer), client.local_addr().unwrap());
    }
}
