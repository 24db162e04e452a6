//! TFTP (RFC 1350, 2347, 2348, 2349, 7440), read-only and from memory: the boot programs that plain firmware fetches,
//! and nothing else. It knows names and octets; which machine shall fetch what is said by DHCP.
//!
//! Any machine of the subnets served may read them; they are public binaries without secrets.
//!
//! From the wire inwards: [`engine`] waits on the sockets and sends, [`admission`] judges a request, [`terms`] settles
//! its options, [`files`] finds the file, and [`transfer`] is the state of one transfer, without a socket or a clock.

mod admission;
mod clients;
mod engine;
mod files;
mod limits;
mod packet;
mod send;
mod server;
mod terms;
mod trace;
mod transfer;

use std::net::{IpAddr, SocketAddr};

use crate::config::Config;
use crate::error::Error;
use crate::server::Parts;
use clients::Clients;
use files::Files;
use server::{Listener, TftpServer};

pub use limits::TftpLimits;
pub use packet::{DecodeError, Packet};

/// For fuzzing: a request is judged and its transfer driven by the messages that follow it.
///
/// # Panics
/// If more than a window would be sent for one message.
#[doc(hidden)]
pub fn fuzz(messages: &[&[u8]]) {
    let mut files = Files::default();
    files.insert("file", bytes::Bytes::from_static(&[7; 3000]));
    let limits = TftpLimits::default();
    let mut out = Vec::new();
    let Some((request, rest)) = messages.split_first() else { return };
    let Ok(mut admitted) = admission::admit(request, &files, &limits, 1468) else { return };
    admitted.transfer.start();
    admitted.transfer.write(&mut out);
    for message in rest {
        if admitted.transfer.receive(message) == transfer::Step::Send {
            out.clear();
            let segment = admitted.transfer.write(&mut out);
            assert!(out.len() <= segment * usize::from(limits.window_size), "more than a window for one message");
        }
    }
}

/// The files served, as DHCP names them.
pub(crate) mod names {
    pub(crate) const IPXE_EFI: &str = "ipxe.efi";
    pub(crate) const IPXE_ARM64: &str = "ipxe-arm64.efi";
    /// Never served: firmware is sent here when it shall go on to its disk.
    pub(crate) const ABSENT: &str = "boot-from-disk";
    pub(crate) const UNDIONLY: &str = "undionly.kpxe";
}

/// RFC 1350.
const PORT: u16 = 69;

/// The files of a configuration, by the names that DHCP gives them.
fn files(config: &Config) -> Files {
    let mut files = Files::default();
    files.insert(names::IPXE_EFI, config.ipxe.x64.clone());
    for (name, program) in [(names::UNDIONLY, &config.ipxe.bios), (names::IPXE_ARM64, &config.ipxe.arm64)] {
        if let Some(program) = program {
            files.insert(name, program.clone());
        }
    }
    files
}

/// The names that TFTP serves for this configuration, with the lengths of the files.
pub fn served(config: &Config) -> Vec<(String, usize)> {
    files(config).list().map(|(name, len)| (name.to_owned(), len)).collect()
}

/// Listens on the addresses of each interface.
///
/// # Errors
/// [`Error`] names the address that cannot be listened on.
pub(crate) fn start(parts: &mut Parts) -> Result<(), Error> {
    let config = &parts.config;
    let mut listeners = Vec::new();
    for interface in &config.interfaces {
        let addresses = [Some(IpAddr::V4(interface.address)), interface.v6.address.map(IpAddr::V6)];
        for at in addresses.into_iter().flatten().map(|address| SocketAddr::new(address, PORT)) {
            let listener = Listener::bind(&interface.name, at)
                .map_err(|error| Error::listen("TFTP", "UDP", at, &interface.name, error))?;
            listeners.push(listener);
        }
    }
    let v4 = config.subnets.iter().map(|subnet| (IpAddr::V4(subnet.prefix.network()), subnet.prefix.len()));
    let v6 = config.interfaces.iter().flat_map(|interface| &interface.v6.subnets);
    let v6 = v6.map(|subnet| (IpAddr::V6(subnet.network), subnet.prefix));
    let server = TftpServer {
        listeners,
        files: files(config),
        clients: Clients::new(v4.chain(v6)),
        limits: config.tftp,
        observer: parts.observer.clone(),
    };
    parts.tasks.spawn(server.run(parts.cancel.clone()));
    Ok(())
}

#[cfg(test)]
mod simulation_tests;
