//! DHCPv6 (RFC 8415, with boot options by RFC 5970): codec, who is asking, what to answer, and the socket of each
//! interface. Addresses come from the directory, which stores them before they are told.
//!
//! `packet` and `options` know octets and relay agents, `client` knows firmware, `decide` is the pure rule from a request
//! and the directory's answers to a reply or a reason for silence, `socket` knows the kernel, `server` moves packets.

mod client;
mod decide;
mod options;
mod packet;
mod server;
mod socket;

use std::net::{Ipv6Addr, SocketAddrV4};
use std::sync::Arc;

use crate::config::Config;
use crate::dhcp::{Programs, Sources};
use crate::error::Error;
use crate::server::Parts;
use server::Server;
use socket::Socket;

pub use options::Options;
pub use packet::{DecodeError, Envelope, Kind, Message, RelayHeader};

/// For fuzzing: whatever arrives is refused, or answered with something that decodes, as long as a message may be.
///
/// # Panics
/// If an answer would be more than the question and what the server adds to it.
#[doc(hidden)]
pub fn fuzz(datagram: &[u8]) {
    let Ok(envelope) = Envelope::decode(datagram) else { return };
    assert_eq!(Envelope::decode(&envelope.encode()).as_ref(), Ok(&envelope));
    let phase = client::phase(&envelope.message.options);
    let _ = client::identify(&envelope, Ipv6Addr::LOCALHOST, "lo".into());
    let _ = client::link(&envelope);
    let subnet = crate::config::SubnetV6 {
        network: Ipv6Addr::LOCALHOST,
        prefix: 64,
        pool: None,
        dns: vec![Ipv6Addr::LOCALHOST],
        valid: std::time::Duration::from_secs(60),
    };
    let request = &envelope.message;
    for direct in [false, true] {
        let _ = decide::not_for_us(request, &[1, 2, 3], direct);
    }
    let _ = decide::use_multicast(request, &[1, 2, 3]);
    let address = decide::Granted::Address(Ipv6Addr::LOCALHOST);
    let granted: Vec<_> = decide::associations(request).into_iter().map(|association| (association, address)).collect();
    let facts =
        decide::Facts { subnet: &subnet, server_duid: &[1, 2, 3], granted: &granted, boot_url: Some("http://[::1]/") };
    let answer = decide::answer(request, phase, &facts);
    assert!(envelope.wrap(&answer).len() <= datagram.len() + 2048, "an answer that amplifies");
    let _ = decide::confirm(request, &subnet, &[1, 2, 3]);
}

const SERVER_PORT: u16 = 547;
const CLIENT_PORT: u16 = 546;

/// Serves each interface that has an IPv6 address and a subnet. Boot files are on the same port as over IPv4: `http` says
/// where those are.
///
/// # Errors
/// [`Error`] names the interface that cannot be listened on.
pub(crate) fn start(parts: &mut Parts, http: &[SocketAddrV4]) -> Result<(), Error> {
    let config: Arc<Config> = parts.config.clone();
    for (interface, http) in config.interfaces.iter().zip(http) {
        let Some(address) = interface.v6.address.filter(|_| !interface.v6.subnets.is_empty()) else { continue };
        let socket = Socket::bind(&interface.name).map_err(|error| {
            Error::listen("DHCPv6", "UDP", (Ipv6Addr::UNSPECIFIED, SERVER_PORT).into(), &interface.name, error)
        })?;
        let server = Server {
            socket,
            interface: interface.name.as_str().into(),
            on_link: interface.v6.on_link().cloned(),
            subnets: interface.v6.subnets.clone(),
            duid: decide::server_duid(&interface.v6.subnets),
            address,
            programs: Programs::new(&config, (address, http.port())),
            observer: parts.observer.clone(),
            sources: Sources::new(),
        };
        parts.tasks.spawn(server.run(parts.cancel.clone()));
    }
    Ok(())
}
