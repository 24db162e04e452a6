//! What is heard of addresses that another DHCP server gives out.

use std::net::{IpAddr, SocketAddrV4};

use super::decide::{Decision, Request, Served};
use super::engine::Port;
use super::options::code;
use super::packet::MessageType;
use crate::trace::{Phase, Protocol};

/// The address that the client has or takes, as far as this request tells: a broadcast REQUEST names the one that it was
/// offered, and port 4011 is asked from the one that it has.
pub(super) fn address(request: &Request, from: SocketAddrV4, port: Port, protocol: Protocol) -> Option<IpAddr> {
    let named = match (protocol, port) {
        (Protocol::Proxy, Port::BootServer) => Some(*from.ip()),
        (Protocol::Proxy, Port::Dhcp) if request.kind == MessageType::Request => request.wanted(),
        _ => None,
    };
    named.filter(|address| !address.is_unspecified()).map(IpAddr::V4)
}

/// Whether the program that asks will itself fetch what belongs to a boot. Firmware that loads iPXE will not, and iPXE may
/// well be given another address.
pub(super) fn fetches(phase: Phase) -> bool {
    matches!(phase, Phase::Ipxe | Phase::HttpFirmware)
}

/// The rule for a REQUEST to the other server: nothing to answer, something to know.
pub(super) fn taken(request: &Request, served: Served<'_>) -> Decision {
    match (served.boot_file, request.wanted()) {
        (None, _) => Decision::Silent("no boot client"),
        (_, None) => Decision::Silent("a request without an address"),
        (Some(_), Some(address)) => {
            let server = request.packet.options.address(code::SERVER_ID);
            let server = server.map(|server| format!(" {server}")).unwrap_or_default();
            Decision::Noted(Some(format!("it takes {address} from the DHCP server{server}")))
        }
    }
}
