//! Why a boot server does not start.

use std::io;
use std::net::SocketAddr;

use crate::config::InvalidConfig;
use crate::media::{IsoError, UkiError};

/// Why a boot server does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration cannot work.
    #[error(transparent)]
    Config(#[from] InvalidConfig),
    /// Another program has the port.
    #[error("{service} cannot listen on {protocol} {address} of {interface}: the port is taken; stop the other {service} server (`ss -lpn sport = :{}` names it) or choose another interface", .address.port())]
    PortTaken {
        /// DHCP, TFTP or HTTP.
        service: &'static str,
        /// UDP or TCP.
        protocol: &'static str,
        /// Where it should have listened.
        address: SocketAddr,
        /// On which interface.
        interface: String,
    },
    /// Not allowed to bind a low port or an interface.
    #[error(
        "{service} may not listen on {protocol} {address} of {interface}: run as root or with CAP_NET_BIND_SERVICE and CAP_NET_RAW"
    )]
    NotPermitted {
        /// DHCP, TFTP or HTTP.
        service: &'static str,
        /// UDP or TCP.
        protocol: &'static str,
        /// Where it should have listened.
        address: SocketAddr,
        /// On which interface.
        interface: String,
    },
    /// The address is not this machine's.
    #[error(
        "{service} cannot listen on {protocol} {address}: the address is not on this machine; add it to {interface} first"
    )]
    NoSuchAddress {
        /// DHCP, TFTP or HTTP.
        service: &'static str,
        /// UDP or TCP.
        protocol: &'static str,
        /// Where it should have listened.
        address: SocketAddr,
        /// On which interface.
        interface: String,
    },
    /// Any other failure.
    #[error("{service} cannot listen on {protocol} {address} of {interface}: {source}")]
    Listen {
        /// DHCP, TFTP or HTTP.
        service: &'static str,
        /// UDP or TCP.
        protocol: &'static str,
        /// Where it should have listened.
        address: SocketAddr,
        /// On which interface.
        interface: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The UKI cannot be served.
    #[error(transparent)]
    Uki(#[from] UkiError),
    /// The ISO cannot be served.
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// The certificate or key of TLS for firmware.
    #[error("TLS for firmware: {0}")]
    Tls(String),
    /// A task of this crate's ended in a panic.
    #[error("the boot server cannot start: {0}")]
    Internal(String),
    /// A script template is broken, which only a change of this crate can cause.
    #[error("a boot script cannot be rendered")]
    Script(#[from] minijinja::Error),
}

impl Error {
    pub(crate) fn listen(
        service: &'static str,
        protocol: &'static str,
        address: SocketAddr,
        interface: &str,
        source: io::Error,
    ) -> Self {
        let interface = interface.to_owned();
        match source.kind() {
            io::ErrorKind::AddrInUse => Self::PortTaken { service, protocol, address, interface },
            io::ErrorKind::PermissionDenied => Self::NotPermitted { service, protocol, address, interface },
            io::ErrorKind::AddrNotAvailable => Self::NoSuchAddress { service, protocol, address, interface },
            _ => Self::Listen { service, protocol, address, interface, source },
        }
    }
}
