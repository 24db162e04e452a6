//! TFTP (RFC 1350) with options (RFC 2347 to 2349), read-only and from memory: the boot programs that plain firmware
//! fetches, and nothing else.
//!
//! Any machine on the segment may read them; they are public binaries without secrets.

mod limits;
mod packet;
mod server;
mod transfer;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::net::UdpSocket;

use crate::error::Error;
use crate::server::Parts;
use server::TftpServer;

pub use limits::TftpLimits;
pub use packet::{DecodeError, Packet};

/// The files served, as DHCP names them.
pub(crate) mod names {
    pub(crate) const IPXE_EFI: &str = "ipxe.efi";
    /// Never served: firmware is sent here when it shall go on to its disk.
    pub(crate) const ABSENT: &str = "boot-from-disk";
    pub(crate) const UNDIONLY: &str = "undionly.kpxe";
}

const PORT: u16 = 69;

/// Listens on the address of each interface.
///
/// # Errors
/// [`Error`] names the address that cannot be listened on.
pub(crate) async fn start(parts: &mut Parts) -> Result<(), Error> {
    let config = parts.config.clone();
    let mut files = BTreeMap::from([(names::IPXE_EFI, config.ipxe.x64.clone())]);
    files.extend(config.ipxe.bios.clone().map(|program| (names::UNDIONLY, program)));
    let files = Arc::new(files);
    for interface in &config.interfaces {
        let address = interface.address;
        let socket = UdpSocket::bind((address, PORT))
            .await
            .map_err(|error| Error::listen("TFTP", "UDP", (address, PORT).into(), &interface.name, error))?;
        let server = TftpServer { socket, address, config: config.clone(), files: files.clone(), limits: config.tftp };
        parts.tasks.spawn(server.run(parts.cancel.clone()));
    }
    Ok(())
}
