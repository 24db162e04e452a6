//! Unicasts to a machine that does not have its address yet and so answers no ARP: an Ethernet frame made here, through a
//! packet socket that hears nothing.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, bind, send, socket};

use super::place::SERVER_PORT;
use crate::identity::MacAddr;

/// `ARPHRD_ETHER`.
const ETHERNET: u16 = 1;
const IPV4: [u8; 2] = [8, 0];
const UDP: u8 = 17;
const IP_HEADER: u16 = 20;
const UDP_HEADER: u16 = 8;

/// A packet socket of one interface.
pub(super) struct HardwareSocket {
    socket: OwnedFd,
    mac: MacAddr,
}

impl HardwareSocket {
    /// Needs CAP_NET_RAW, and an Ethernet interface.
    pub(super) fn open(interface: &str) -> io::Result<Self> {
        let link = link_of(interface)?;
        let mac = link.addr().filter(|_| link.hatype() == ETHERNET).map(MacAddr);
        let mac = mac.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "not an Ethernet interface"))?;
        // Without a protocol, it receives nothing.
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        bind(socket.as_raw_fd(), &link)?;
        Ok(Self { socket, mac })
    }

    /// A UDP datagram from port 67 of `from`.
    pub(super) fn send(&self, to_mac: MacAddr, from: Ipv4Addr, to: SocketAddrV4, message: &[u8]) -> io::Result<()> {
        let frame = frame(self.mac, to_mac, from, to, message).ok_or(io::ErrorKind::InvalidInput)?;
        send(self.socket.as_raw_fd(), &frame, MsgFlags::MSG_DONTWAIT)?;
        Ok(())
    }
}

fn link_of(interface: &str) -> io::Result<LinkAddr> {
    // By index too: an alias such as `eth0:1` is listed under its own name.
    let index = usize::try_from(if_nametoindex(interface)?).unwrap_or_default();
    getifaddrs()?
        .filter_map(|entry| entry.address?.as_link_addr().copied())
        .find(|link| link.ifindex() == index)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the interface has no link-layer address"))
}

/// The Ethernet frame; `None` for a message that fits no datagram.
fn frame(from_mac: MacAddr, to_mac: MacAddr, from: Ipv4Addr, to: SocketAddrV4, message: &[u8]) -> Option<Vec<u8>> {
    let udp_len = u16::try_from(message.len()).ok()?.checked_add(UDP_HEADER)?;
    let ip_len = udp_len.checked_add(IP_HEADER)?;
    let mut header = Vec::with_capacity(IP_HEADER.into());
    // Version and header length, service, length, id, "do not fragment", time to live, protocol, checksum.
    header.extend_from_slice(&[0x45, 0]);
    header.extend_from_slice(&ip_len.to_be_bytes());
    header.extend_from_slice(&[0, 0, 0x40, 0, 64, UDP, 0, 0]);
    header.extend_from_slice(&from.octets());
    header.extend_from_slice(&to.ip().octets());
    let checksum = checksum(&[&header]).to_be_bytes();
    header.get_mut(10..12)?.copy_from_slice(&checksum);

    let ports = [SERVER_PORT.to_be_bytes(), to.port().to_be_bytes()].concat();
    let pseudo = [&from.octets()[..], &to.ip().octets(), &[0, UDP], &udp_len.to_be_bytes()].concat();
    let checksum = match self::checksum(&[&pseudo, &ports, &udp_len.to_be_bytes(), message]) {
        // Zero would mean "none" (RFC 768).
        0 => u16::MAX,
        sum => sum,
    };
    let mut frame = Vec::with_capacity(14 + usize::from(ip_len));
    for part in [&to_mac.0[..], &from_mac.0, &IPV4, &header, &ports, &udp_len.to_be_bytes(), &checksum.to_be_bytes()] {
        frame.extend_from_slice(part);
    }
    frame.extend_from_slice(message);
    Some(frame)
}

/// RFC 1071. All parts but the last have an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for part in parts {
        let (pairs, odd) = part.as_chunks::<2>();
        sum = pairs.iter().fold(sum, |sum, pair| sum + u32::from(u16::from_be_bytes(*pair)));
        sum = odd.iter().fold(sum, |sum, octet| sum + (u32::from(*octet) << 8));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header is the example of many a text book (checksum b861); the frame was summed by another program.
    #[test]
    fn a_frame_is_exactly_this() {
        let header = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(checksum(&[&header]), 0xb861);
        let frame = frame(
            MacAddr([2, 0, 0, 0, 0, 1]),
            MacAddr([2, 0, 0, 0, 0, 9]),
            Ipv4Addr::new(10, 0, 0, 1),
            SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 9), 68),
            b"abc",
        )
        .unwrap();
        let hex: String = frame.iter().map(|octet| format!("{octet:02x}")).collect();
        let expected = concat!(
            "020000000009",
            "020000000001",
            "0800",
            "4500001f",
            "00004000",
            "4011",
            "26c5",
            "0a000001",
            "0a000009",
            "0043",
            "0044",
            "000b",
            "26e5",
            "616263",
        );
        assert_eq!(hex, expected);
    }
}
