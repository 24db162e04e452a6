//! The boot server's questions, answered for one host; and the server as the scenarios start it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bessemer_pxe::{
    Answer, BootFiles, BootId, BootServer, BootTarget, ClientIdentity, Config, DirectoryError, Error, Exchange,
    HostDirectory, Interface, Ipxe, Lease, LeaseV6, Overlay, OverlayFile, Pool, Protocol, Ramdisk, Reach, Subnet,
    SubnetV6, TftpLimits,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::artefacts::Artefacts;
use crate::network;
use crate::{BOOT, MAC, MARKER};

/// One host, one boot.
pub(crate) struct OneHost {
    pub(crate) target: Mutex<BootTarget>,
    /// Questions for the overlay that are answered "no such boot" before it is there.
    pub(crate) refusals: AtomicUsize,
    events: Mutex<Vec<Exchange>>,
    changed: Notify,
}

impl OneHost {
    pub(crate) fn new(target: BootTarget) -> Arc<Self> {
        Arc::new(Self {
            target: Mutex::new(target),
            refusals: AtomicUsize::new(0),
            events: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Waits until an exchange is told as `wanted`, such as `request (renewing): confirmed 10.77.0.160`.
    pub(crate) async fn until(&self, wanted: &str) {
        let told = async {
            while !self.told().iter().any(|told| told == wanted) {
                self.changed.notified().await;
            }
        };
        let patience = Duration::from_secs(20);
        assert!(tokio::time::timeout(patience, told).await.is_ok(), "no `{wanted}` in {:?}", self.told());
    }

    /// What was asked over DHCP and what came of it, without repeats that follow one another.
    pub(crate) fn told(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let dhcp = events.iter().filter(|event| event.protocol == Protocol::Dhcp4);
        let mut told: Vec<String> = dhcp.map(|event| format!("{}: {}", event.asked, event.answer)).collect();
        told.dedup();
        told
    }

    /// The ports of relay agents that its requests came through (option 82's circuit id), without repeats.
    pub(crate) fn circuits(&self) -> Vec<Vec<u8>> {
        let events = self.events.lock().unwrap();
        let circuit = |event: &Exchange| event.client.as_ref()?.relay.as_ref()?.circuit_id.clone();
        let mut found: Vec<_> = events.iter().filter_map(circuit).collect();
        found.dedup();
        found
    }

    /// What it was told to boot and what it fetched over HTTP, in order.
    pub(crate) fn files(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let name = |event: &Exchange| match &event.answer {
            Answer::Confirmed { boot_file, .. } => boot_file.clone(),
            Answer::Sent { .. } if event.protocol == Protocol::Http => {
                event.asked.rsplit('/').next().map(str::to_owned)
            }
            _ => None,
        };
        events.iter().filter_map(name).collect()
    }

    /// The addresses that were confirmed, without repeats.
    pub(crate) fn leased(&self) -> Vec<IpAddr> {
        self.each(|event| match event.answer {
            Answer::Confirmed { address, .. } => address,
            _ => None,
        })
    }

    /// The relay agents that its requests came through, without repeats.
    pub(crate) fn relays(&self) -> Vec<IpAddr> {
        self.each(|event| Some(event.client.as_ref()?.relay.as_ref()?.address))
    }

    /// What was asked over one protocol, what was answered, and why.
    pub(crate) fn answers(&self, protocol: Protocol) -> Vec<(String, Answer, String)> {
        let events = self.events.lock().unwrap();
        let of_protocol = events.iter().filter(|event| event.protocol == protocol);
        let text = |event: &Exchange| event.why.clone().unwrap_or_default().into_owned();
        of_protocol.map(|event| (event.asked.to_string(), event.answer.clone(), text(event))).collect()
    }

    fn each(&self, of: impl Fn(&Exchange) -> Option<IpAddr>) -> Vec<IpAddr> {
        let mut found: Vec<IpAddr> = self.events.lock().unwrap().iter().filter_map(of).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[async_trait::async_trait]
impl HostDirectory for OneHost {
    async fn boot_target(&self, _: &ClientIdentity) -> Result<BootTarget, DirectoryError> {
        Ok(self.target.lock().unwrap().clone())
    }

    async fn lease(
        &self,
        who: &ClientIdentity,
        subnet: &Subnet,
        _: Option<Ipv4Addr>,
    ) -> Result<Option<Lease>, DirectoryError> {
        let Some(pool) = &subnet.pool else { return Ok(None) };
        let address = pool.pick(MAC, |_| false).unwrap();
        Ok((who.mac() == Some(MAC)).then_some(Lease { address }))
    }

    async fn lease_v6(
        &self,
        who: &ClientIdentity,
        subnet: &SubnetV6,
        _: u32,
        _: Option<Ipv6Addr>,
    ) -> Result<Option<LeaseV6>, DirectoryError> {
        let address = Ipv6Addr::from_bits(subnet.network.to_bits() | 0x1_0007);
        Ok(who.macs.contains(&MAC).then_some(LeaseV6 { address }))
    }

    async fn overlay(&self, boot_id: &BootId) -> Result<BootFiles, DirectoryError> {
        let refused =
            self.refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if refused || *boot_id != BOOT {
            return Ok(BootFiles::Unknown);
        }
        let marker = OverlayFile { path: "etc/bessemer/marker".into(), mode: 0o600, content: MARKER.into() };
        Ok(BootFiles::Ready(Overlay { files: vec![marker], ..Overlay::default() }))
    }

    fn observed(&self, exchange: &Exchange) {
        self.events.lock().unwrap().push(exchange.clone());
        self.changed.notify_one();
    }
}

/// The server as most scenarios have it.
pub(crate) async fn serve(artefacts: &Artefacts, directory: Arc<OneHost>) -> BootServer {
    start(artefacts, directory, CancellationToken::new()).await.unwrap()
}

pub(crate) async fn start(
    artefacts: &Artefacts,
    directory: Arc<OneHost>,
    cancel: CancellationToken,
) -> Result<BootServer, Error> {
    BootServer::start(config(artefacts), directory, cancel).await
}

/// One interface, one subnet with a pool, what is booted.
pub(crate) fn config(artefacts: &Artefacts) -> Config {
    let pool = Pool::new(Ipv4Addr::new(10, 77, 0, 100), Ipv4Addr::new(10, 77, 0, 200)).unwrap();
    let subnet = Subnet {
        pool: Some(pool),
        lease_time: Duration::from_secs(600),
        ..Subnet::new("10.77.0.0/24".parse().unwrap(), Reach::OnLink(network::BRIDGE.into()))
    };
    let mut interface = Interface::new(network::BRIDGE, network::ADDRESS);
    interface.v6.answer_router_solicitations = true;
    Config {
        interfaces: vec![interface],
        subnets: vec![subnet],
        http_port: 8080,
        tftp: TftpLimits::default(),
        ipxe: Ipxe { x64: artefacts.ipxe_efi.clone(), ..Ipxe::default() },
        ramdisk: Ramdisk {
            kernel: artefacts.kernel.clone(),
            initrd: artefacts.ramdisk.clone(),
            kernel_args: "console=ttyS0 panic=-1".into(),
        },
        ..Config::default()
    }
}

/// IPv6 beside it: an address of ours, a subnet with a pool, and advertisements.
pub(crate) fn config_v6(artefacts: &Artefacts) -> Config {
    let mut config = config(artefacts);
    let address: Ipv6Addr = network::ADDRESS_V6.parse().unwrap();
    let v6 = &mut config.interfaces[0].v6;
    v6.address = Some(address);
    v6.subnets = vec![SubnetV6 {
        network: "fd77::".parse().unwrap(),
        prefix: 64,
        pool: Some(("fd77::1:0".parse().unwrap(), "fd77::1:ffff".parse().unwrap())),
        dns: vec![address],
        valid: Duration::from_secs(3600),
    }];
    config
}

pub(crate) fn ramdisk() -> BootTarget {
    BootTarget::Ramdisk { boot_id: BOOT }
}
