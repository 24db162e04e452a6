//! The sockets of one interface: UDP for what is heard and for answers to addresses, and a packet socket for answers to
//! clients that have no address yet.
//!
//! Answers leave with the interface's configured address and through that interface, whatever the routing table and
//! other addresses on it would make of them: clients and relay agents check both.

use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc::{in_addr, in_pktinfo};
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrIn, sendmsg};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::hardware::HardwareSocket;
use super::place::{CLIENT_PORT, Destination};
use crate::config::Interface;
use crate::offload::{is_refused, send_cut};

/// The sockets of one interface.
pub(crate) struct Sockets {
    /// Port 67.
    pub(super) dhcp: UdpSocket,
    /// Port 4011.
    pub(super) boot_server: UdpSocket,
    address: Ipv4Addr,
    hardware: Option<HardwareSocket>,
    /// False once the kernel or a driver has refused to cut a buffer into messages.
    cuts: AtomicBool,
}

/// Where broadcasts go.
pub(super) const EVERYBODY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::BROADCAST, CLIENT_PORT);

impl Sockets {
    /// The port that cannot be bound is part of the error.
    pub(super) fn bind(interface: &Interface) -> Result<Self, (u16, io::Error)> {
        let udp = |port| udp(&interface.name, port).map_err(|error| (port, error));
        let hardware = match HardwareSocket::open(&interface.name) {
            Ok(socket) => Some(socket),
            Err(error) => {
                // Broadcasts reach such clients as well, only everybody else too.
                tracing::info!(interface = interface.name, %error, "answers to clients without an address are broadcast");
                None
            }
        };
        let cuts = AtomicBool::new(true);
        Ok(Self { dhcp: udp(67)?, boot_server: udp(4011)?, address: interface.address, hardware, cuts })
    }

    /// Sends from the port that heard the request.
    pub(super) async fn send(&self, from: &UdpSocket, message: &[u8], to: Destination) -> io::Result<()> {
        let to = match (to, &self.hardware) {
            (Destination::Address(to), _) => to,
            (Destination::Hardware(mac, address), Some(socket)) => {
                match socket.send(mac, self.address, SocketAddrV4::new(address, CLIENT_PORT), message) {
                    Ok(()) => return Ok(()),
                    Err(error) => {
                        tracing::debug!(%mac, %error, "sent as a broadcast instead");
                        EVERYBODY
                    }
                }
            }
            (Destination::Hardware(..) | Destination::Broadcast, _) => EVERYBODY,
        };
        from.async_io(Interest::WRITABLE, || self.send_from(from, message, to)).await
    }

    /// Sends messages of `len` octets each, which lie one behind the other, to one place. False if none was sent: they
    /// can still go one by one.
    pub(super) fn send_cut(&self, from: &UdpSocket, messages: &[u8], len: usize, to: SocketAddrV4) -> bool {
        if !self.cuts.load(Ordering::Relaxed) {
            return false;
        }
        match send_cut(from, Some(to.into()), Some(&self.source()), messages, len) {
            Ok(()) => true,
            Err(error) => {
                if is_refused(error) {
                    self.cuts.store(false, Ordering::Relaxed);
                }
                false
            }
        }
    }

    fn source(&self) -> in_pktinfo {
        in_pktinfo {
            ipi_ifindex: 0,
            ipi_spec_dst: in_addr { s_addr: u32::from_ne_bytes(self.address.octets()) },
            ipi_addr: in_addr { s_addr: 0 },
        }
    }

    fn send_from(&self, socket: &UdpSocket, message: &[u8], to: SocketAddrV4) -> io::Result<()> {
        let source = self.source();
        let control = [ControlMessage::Ipv4PacketInfo(&source)];
        let to = SockaddrIn::from(to);
        sendmsg(socket.as_raw_fd(), &[IoSlice::new(message)], &control, MsgFlags::MSG_DONTWAIT, Some(&to))?;
        Ok(())
    }
}

/// Bound to the interface, so that two servers on two interfaces do not hear each other's clients. Without
/// `SO_REUSEADDR`: a second server on this interface is an error here instead of a riddle later.
fn udp(interface: &str, port: u16) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind_device(Some(interface.as_bytes()))?;
    socket.set_broadcast(true)?;
    socket.set_nonblocking(true)?;
    // A boot storm comes at once. The kernel gives what `net.core.rmem_max` allows.
    socket.set_recv_buffer_size(4 << 20)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())?;
    UdpSocket::from_std(socket.into())
}
