//! A window of messages in as few system calls as possible. A call for each block is what limits a server on a fast link.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use nix::errno::Errno;

use crate::offload::{is_refused, most, send_cut};

/// How messages leave. One for all sockets of a server.
#[derive(Debug)]
pub(super) struct Sender {
    /// False once the kernel or a driver has refused to cut buffers.
    offload: bool,
}

impl Sender {
    pub(super) fn new() -> Self {
        Self { offload: true }
    }

    /// Sends `messages`, which lie one behind the other, each `segment` octets long but the last. `to` is `None` for a
    /// connected socket. A full send buffer counts as loss on the wire: what is missing is sent again in time.
    ///
    /// # Errors
    /// The system's, such as that the client's port is closed.
    pub(super) fn send(
        &mut self,
        socket: &UdpSocket,
        to: Option<SocketAddr>,
        messages: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        if messages.len() <= segment {
            return one(socket, to, messages);
        }
        for part in messages.chunks(most(segment) * segment) {
            if self.offload && part.len() > segment {
                match send_cut(socket, to, None, part, segment) {
                    Ok(()) => continue,
                    Err(Errno::EAGAIN) => return Ok(()),
                    Err(error) if is_refused(error) => self.offload = false,
                    // A route with a smaller MTU than the interface.
                    Err(Errno::EMSGSIZE) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            part.chunks(segment).try_for_each(|message| one(socket, to, message))?;
        }
        Ok(())
    }
}

fn one(socket: &UdpSocket, to: Option<SocketAddr>, message: &[u8]) -> io::Result<()> {
    let sent = match to {
        None => socket.send(message),
        Some(to) => socket.send_to(message, to),
    };
    match sent {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_buffer_arrives_as_its_messages_however_it_is_sent() {
        for (offload, connected) in [(true, true), (true, false), (false, true), (false, false)] {
            let from = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let to = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            to.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let address = to.local_addr().unwrap();
            if connected {
                from.connect(address).unwrap();
            }
            let mut sender = Sender { offload };
            for (total, segment, lengths) in [
                (3, 1472, vec![3]),
                (1472, 1472, vec![1472]),
                (3000, 1472, vec![1472, 1472, 56]),
                (1472 * 50, 1472, vec![1472; 50]),
                (12 * 70 + 4, 12, [vec![12; 70], vec![4]].concat()),
            ] {
                let messages: Vec<u8> = (0..total).map(|n| u8::try_from(n % 251).unwrap()).collect();
                sender.send(&from, (!connected).then_some(address), &messages, segment).unwrap();
                let mut received = Vec::new();
                for len in lengths {
                    let mut buffer = [0; 2048];
                    assert_eq!(to.recv(&mut buffer).unwrap(), len, "{total} in {segment}, offload {offload}");
                    received.extend_from_slice(&buffer[..len]);
                }
                assert!(received == messages);
            }
            assert_eq!(sender.offload, offload, "the kernel refused");
        }
    }
}
