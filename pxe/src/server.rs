//! Sockets and tasks of one boot server.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::info;

use crate::config::Config;
use crate::dhcp::decide::Subnet;
use crate::dhcp::server::DhcpServer;
use crate::directory::HostDirectory;
use crate::error::Error;
use crate::http::{Site, listener, router};
use crate::pool::netmask;
use crate::router_advert::RouterAdvertiser;
use crate::script::{Scripts, Urls};
use crate::tftp::names;
use crate::tftp::server::TftpServer;

const DHCP_PORT: u16 = 67;
const TFTP_PORT: u16 = 69;

/// A running boot server. It ends when it is dropped or the token given to [`BootServer::start`] is cancelled.
#[derive(Debug)]
pub struct BootServer {
    http_address: SocketAddrV4,
    tasks: JoinSet<()>,
    _stop: DropGuard,
}

impl BootServer {
    /// Binds DHCP, TFTP and HTTP and starts to serve. All sockets are bound when it returns: hosts may be powered on.
    ///
    /// # Errors
    /// [`Error`] names the port or setting and what to do about it.
    pub async fn start(
        config: Config,
        directory: Arc<dyn HostDirectory>,
        cancel: CancellationToken,
    ) -> Result<Self, Error> {
        config.check()?;
        let (address, interface) = (config.address, config.interface.clone());
        let dhcp = dhcp_socket(&interface).map_err(|error| {
            Error::listen("DHCP", "UDP", (Ipv4Addr::UNSPECIFIED, DHCP_PORT).into(), &interface, error)
        })?;
        let tftp = UdpSocket::bind((address, TFTP_PORT))
            .await
            .map_err(|error| Error::listen("TFTP", "UDP", (address, TFTP_PORT).into(), &interface, error))?;
        let wanted = SocketAddr::from((address, config.http_port));
        let bound = async {
            let listener = TcpListener::bind(wanted).await?;
            Ok((listener.local_addr()?.port(), listener))
        };
        let (http_port, http) = bound.await.map_err(|error| Error::listen("HTTP", "TCP", wanted, &interface, error))?;
        let http_address = SocketAddrV4::new(address, http_port);
        let urls = Urls(http_address);

        let cancel = cancel.child_token();
        let mut tasks = JoinSet::new();
        let subnet = Subnet {
            server: address,
            netmask: netmask(config.prefix),
            pool: config.pool,
            router: config.router,
            dns: config.dns,
            lease_time: config.lease_time,
            has_undionly: config.undionly.is_some(),
        };
        let mut files = BTreeMap::from([(names::IPXE_EFI, config.ipxe_efi.clone())]);
        files.extend(config.undionly.map(|program| (names::UNDIONLY, program)));
        let site = Site {
            scripts: Scripts::new(urls, config.kernel_args)?,
            ipxe_efi: config.ipxe_efi,
            kernel: config.kernel,
            ramdisk: config.ramdisk,
            images_dir: config.images_dir,
            directory: directory.clone(),
        };
        let dhcp = DhcpServer { socket: dhcp, interface: interface.clone(), subnet, urls, directory };
        let tftp =
            TftpServer { socket: tftp, address, prefix: config.prefix, files: Arc::new(files), limits: config.tftp };
        tasks.spawn(dhcp.run(cancel.clone()));
        tasks.spawn(tftp.run(cancel.clone()));
        tasks.spawn(listener::run(http, router(site), cancel.clone()));
        if config.answer_router_solicitations {
            match RouterAdvertiser::bind(&interface) {
                Ok(advertiser) => drop(tasks.spawn(advertiser.run(cancel.clone()))),
                // It only saves time.
                Err(error) => info!(phase = "start", interface, %error, "router solicitations are not answered"),
            }
        }
        info!(phase = "start", interface, %http_address, "the boot server answers DHCP, TFTP and HTTP");
        Ok(Self { http_address, tasks, _stop: cancel.drop_guard() })
    }

    /// Where the boot files are served.
    pub fn http_address(&self) -> SocketAddrV4 {
        self.http_address
    }

    /// Waits until everything has ended after the cancellation.
    pub async fn stopped(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Bound to the interface, so that two servers on two interfaces do not hear each other's clients. Without
/// `SO_REUSEADDR`: a second server on this interface is an error here instead of a riddle later.
fn dhcp_socket(interface: &str) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind_device(Some(interface.as_bytes()))?;
    socket.set_broadcast(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, DHCP_PORT)).into())?;
    UdpSocket::from_std(socket.into())
}
