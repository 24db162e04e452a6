//! Captured traffic, much of it hostile: every DHCP, DHCPv6 and TFTP message in it is decoded or refused, never a panic, and
//! what is decoded survives a round trip.
//!
//! The captures are in `$BESSEMER_TEST_DATA/pcap`, by default `../shared/data` beside the checkout.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use bessemer_pxe::{Dhcp6Envelope, DhcpPacket, TftpPacket, fuzz_dhcp6, fuzz_tftp};

fn captures() -> Option<PathBuf> {
    let data = std::env::var_os("BESSEMER_TEST_DATA")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"));
    let captures = data.join("pcap");
    captures.is_dir().then_some(captures)
}

#[test]
fn captured_messages_are_decoded_or_refused() {
    let Some(captures) = captures() else {
        println!("SKIP no test data: set BESSEMER_TEST_DATA");
        return;
    };
    let (mut files, mut dhcp, mut dhcp_refused, mut tftp, mut tftp_refused) = (0, 0, 0, 0, 0);
    let (mut dhcp6, mut dhcp6_refused) = (0, 0);
    let mut answered = 0;
    for entry in std::fs::read_dir(captures).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        files += 1;
        for datagram in frames(&bytes).into_iter().filter_map(udp) {
            match DhcpPacket::decode(datagram.payload) {
                Ok(packet) => {
                    let _ = (packet.mac(), packet.message_type(), packet.options.client_uuid());
                    let again = DhcpPacket::decode(&packet.encode());
                    // Overloaded fields are decoded a second time from a copy, and what was cut off is lost.
                    if !packet.options.has(52) && packet.whole {
                        assert_eq!(again.unwrap(), packet);
                    }
                    dhcp += 1;
                }
                Err(_) if [67, 68].contains(&datagram.port) => dhcp_refused += 1,
                Err(_) => {}
            }
            // Through a whole server, however it may be heard.
            for how in 0..8 {
                answered += usize::from(bessemer_pxe::fuzz_dhcp(&[&[how], datagram.payload].concat()));
            }
            match TftpPacket::decode(datagram.payload) {
                Ok(packet @ (TftpPacket::Read { .. } | TftpPacket::OptionAck { .. } | TftpPacket::Ack { .. })) => {
                    assert_eq!(TftpPacket::decode(&packet.encode()), Ok(packet));
                    tftp += 1;
                }
                Ok(_) => tftp += 1,
                Err(_) => tftp_refused += 1,
            }
            match Dhcp6Envelope::decode(datagram.payload) {
                Ok(envelope) => {
                    assert_eq!(Dhcp6Envelope::decode(&envelope.encode()), Ok(envelope));
                    dhcp6 += u32::from(datagram.port == 547);
                }
                Err(_) => dhcp6_refused += u32::from([546, 547].contains(&datagram.port)),
            }
            fuzz_dhcp6(datagram.payload);
            fuzz_tftp(&[b"\0\x01file\0octet\0blksize\x008\0", datagram.payload]);
            // Every truncation of it, too.
            for len in 0..datagram.payload.len() {
                let _ = DhcpPacket::decode(&datagram.payload[..len]);
                let _ = TftpPacket::decode(&datagram.payload[..len]);
                fuzz_dhcp6(&datagram.payload[..len]);
            }
        }
    }
    println!(
        "{files} captures: DHCP {dhcp} decoded, {dhcp_refused} refused, {answered} answers; as TFTP {tftp} decoded, {tftp_refused} refused; \
         DHCPv6 of clients and relay agents {dhcp6} decoded, {dhcp6_refused} of servers or malformed"
    );
    assert!(dhcp > 50 && tftp > 10 && dhcp6 > 10, "the captures were not read");
    assert!(answered > 0, "a server that answers nothing passes whatever is asserted of answers: {answered}");
}

struct Datagram<'a> {
    port: u16,
    payload: &'a [u8],
}

/// The frames of a classic pcap or of a pcapng file, in either byte order.
fn frames(file: &[u8]) -> Vec<&[u8]> {
    let number = |at: usize, big: bool| {
        let octets = file.get(at..at + 4)?.try_into().unwrap();
        Some(usize::try_from(if big { u32::from_be_bytes(octets) } else { u32::from_le_bytes(octets) }).unwrap())
    };
    let mut frames = Vec::new();
    if file.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
        let big = file[8] == 0x1a;
        let mut at = 0;
        while let (Some(kind), Some(len)) = (number(at, big), number(at + 4, big)) {
            if kind == 6 {
                frames.extend(number(at + 20, big).and_then(|captured| file.get(at + 28..at + 28 + captured)));
            }
            at += len.max(12);
        }
    } else {
        let big = file.starts_with(&[0xa1]);
        let mut at = 24;
        while let Some(captured) = number(at + 8, big) {
            frames.extend(file.get(at + 16..at + 16 + captured));
            at += 16 + captured;
        }
    }
    frames
}

/// The UDP datagram of an Ethernet frame, if there is one; link types other than Ethernet are not needed.
fn udp(frame: &[u8]) -> Option<Datagram<'_>> {
    let mut packet = frame.get(12..)?;
    while packet.starts_with(&[0x81, 0]) {
        packet = packet.get(4..)?;
    }
    let datagram = match packet.get(..2)? {
        [8, 0] => {
            let packet = packet.get(2..)?;
            (*packet.get(9)? == 17).then_some(())?;
            packet.get(usize::from(packet.first()? & 15) * 4..)?
        }
        [0x86, 0xdd] => {
            (*packet.get(8)? == 17).then_some(())?;
            packet.get(42..)?
        }
        _ => return None,
    };
    let port = u16::from_be_bytes(datagram.get(2..4)?.try_into().unwrap());
    Some(Datagram { port, payload: datagram.get(8..)? })
}
