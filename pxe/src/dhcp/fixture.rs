//! What the tests of these rooms share: requests by their options, a configuration, a directory in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::boot_file::Programs;
use super::engine::{Engine, Outcome, Port};
use super::options::code;
use super::packet::Packet;
use super::place::Destination;
use crate::client::ClientIdentity;
use crate::config::{Config, Interface, Ipxe, Mode, Reach, Subnet, TftpLimits};
use crate::directory::{BootTarget, DirectoryError, HostDirectory, Lease};
use crate::identity::{BootId, MacAddr};
use crate::overlay::BootFiles;
use crate::pool::Pool;
use crate::trace::{Exchange, Observer};

pub(super) const MAC: MacAddr = MacAddr([0x52, 0x54, 0, 0, 0, 1]);
pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(super) const LEASE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 160);
pub(super) const BOOT: BootId = BootId(7);
pub(super) const DISCOVER: (u8, &[u8]) = (53, &[1]);
pub(super) const REQUEST: (u8, &[u8]) = (53, &[3]);
pub(super) const INFORM: (u8, &[u8]) = (53, &[8]);
pub(super) const PXE: (u8, &[u8]) = (60, b"PXEClient:Arch:00007:UNDI:003001");
pub(super) const HTTP: (u8, &[u8]) = (60, b"HTTPClient:Arch:00016:UNDI:003001");
pub(super) const IPXE: (u8, &[u8]) = (175, &[1, 1, 1]);

/// A request from [`MAC`] with transaction id cafe0001.
pub(super) fn request(options: &[(u8, &[u8])]) -> Packet {
    let mut bytes = vec![0; 240];
    bytes[..4].copy_from_slice(&[1, 1, 6, 0]);
    bytes[4..8].copy_from_slice(&0xcafe_0001_u32.to_be_bytes());
    bytes[28..34].copy_from_slice(&MAC.0);
    bytes[236..].copy_from_slice(&[99, 130, 83, 99]);
    for (code, value) in options {
        bytes.extend_from_slice(&[*code, u8::try_from(value.len()).unwrap()]);
        bytes.extend_from_slice(value);
    }
    Packet::decode(&bytes).unwrap()
}

pub(super) fn from(mac: MacAddr, mut packet: Packet) -> Packet {
    packet.chaddr[..6].copy_from_slice(&mac.0);
    packet
}

pub(super) fn relayed(giaddr: Ipv4Addr, mut packet: Packet) -> Packet {
    packet.giaddr = giaddr;
    packet.hops = 1;
    packet
}

pub(super) fn pool(third: u8, first: u8, last: u8) -> Pool {
    Pool::new([10, 77, third, first].into(), [10, 77, third, last].into()).unwrap()
}

/// 10.77.0.0/24 on br0, with a pool; 10.77.1.0/24 behind relay agents.
pub(super) fn config() -> Config {
    let on_link = Subnet {
        pool: Some(pool(0, 100, 200)),
        router: Some(SERVER),
        dns: vec![SERVER],
        lease_time: Duration::from_secs(600),
        ..Subnet::new("10.77.0.0/24".parse().unwrap(), Reach::OnLink("br0".into()))
    };
    let behind = Subnet {
        pool: Some(pool(1, 100, 200)),
        router: Some([10, 77, 1, 1].into()),
        ..Subnet::new("10.77.1.0/24".parse().unwrap(), Reach::Relayed)
    };
    Config {
        interfaces: vec![Interface::new("br0", SERVER)],
        subnets: vec![on_link, behind],
        http_port: 8080,
        tftp: TftpLimits::default(),
        ipxe: Ipxe { x64: "efi".into(), bios: Some("bios".into()), arm64: None },
        ..Config::default()
    }
}

pub(super) fn proxy_config() -> Config {
    let mut config = config();
    config.subnets.iter_mut().for_each(|subnet| subnet.mode = Mode::Proxy);
    config
}

/// Leases in memory, stored before they are returned, as several servers may share them. Knows everybody, or only
/// those with a reservation.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) target: Mutex<Option<BootTarget>>,
    pub(super) only_reserved: bool,
    pub(super) leases: Mutex<BTreeMap<(MacAddr, String), Ipv4Addr>>,
    pub(super) writes: Mutex<usize>,
    pub(super) told: Mutex<Vec<Exchange>>,
    pub(super) declined: Mutex<Vec<(MacAddr, std::net::IpAddr)>>,
}

impl Memory {
    pub(super) fn new(target: BootTarget) -> Arc<Self> {
        Arc::new(Self { target: Mutex::new(Some(target)), ..Self::default() })
    }

    pub(super) fn reserve(&self, mac: MacAddr, subnet: &str, address: Ipv4Addr) {
        self.leases.lock().unwrap().insert((mac, subnet.to_owned()), address);
    }

    /// With [`LEASE`] reserved for [`MAC`].
    pub(super) fn with_lease(target: BootTarget) -> Arc<Self> {
        let memory = Self::new(target);
        memory.reserve(MAC, "10.77.0.0/24", LEASE);
        memory.reserve(MAC, "10.77.1.0/24", [10, 77, 1, 160].into());
        memory
    }

    pub(super) fn leases(&self) -> Vec<(MacAddr, Ipv4Addr)> {
        self.leases.lock().unwrap().iter().map(|((mac, _), address)| (*mac, *address)).collect()
    }

    pub(super) fn writes(&self) -> usize {
        *self.writes.lock().unwrap()
    }

    pub(super) fn last(&self) -> Exchange {
        self.told.lock().unwrap().last().unwrap().clone()
    }
}

#[async_trait::async_trait]
impl HostDirectory for Memory {
    async fn boot_target(&self, _: &ClientIdentity) -> Result<BootTarget, DirectoryError> {
        self.target.lock().unwrap().clone().ok_or_else(|| DirectoryError::new("the API is away"))
    }

    async fn lease(
        &self,
        who: &ClientIdentity,
        subnet: &Subnet,
        wanted: Option<Ipv4Addr>,
    ) -> Result<Option<Lease>, DirectoryError> {
        let Some(mac) = who.mac() else { return Ok(None) };
        let key = (mac, subnet.prefix.to_string());
        loop {
            let taken: BTreeSet<Ipv4Addr> = {
                let leases = self.leases.lock().unwrap();
                if let Some(address) = leases.get(&key) {
                    return Ok(Some(Lease { address: *address }));
                }
                if self.only_reserved {
                    return Ok(None);
                }
                leases.values().copied().collect()
            };
            let Some(pool) = &subnet.pool else { return Ok(None) };
            let free = |address: &Ipv4Addr| pool.contains(*address) && !taken.contains(address);
            let address = match wanted.filter(free) {
                Some(address) => address,
                None => pool.pick(mac, |address| taken.contains(&address))?,
            };
            // Between the choice and the store, others choose too.
            tokio::task::yield_now().await;
            let mut leases = self.leases.lock().unwrap();
            if !leases.contains_key(&key) && !leases.values().any(|other| *other == address) {
                leases.insert(key, address);
                *self.writes.lock().unwrap() += 1;
                return Ok(Some(Lease { address }));
            }
        }
    }

    async fn declined(&self, who: &ClientIdentity, address: std::net::IpAddr) -> Result<(), DirectoryError> {
        self.declined.lock().unwrap().push((who.mac().unwrap(), address));
        Ok(())
    }

    async fn overlay(&self, _: &BootId) -> Result<BootFiles, DirectoryError> {
        Ok(BootFiles::Unknown)
    }

    fn observed(&self, exchange: &Exchange) {
        self.told.lock().unwrap().push(exchange.clone());
    }
}

pub(super) fn engine(config: Config, directory: Arc<Memory>) -> Engine {
    config.check().unwrap();
    let http: SocketAddrV4 = "10.77.0.1:8080".parse().unwrap();
    let programs = Programs::new(&config, http);
    let observer = Observer::new(directory, &config);
    Engine::new("br0", SERVER, Arc::new(config), programs, observer)
}

/// One exchange on port 67 with a client that has no address yet, or a relay agent.
pub(super) async fn ask(engine: &Engine, request: &Packet) -> Option<(Packet, Destination)> {
    let source = if request.giaddr.is_unspecified() { request.ciaddr } else { request.giaddr };
    ask_from(engine, request, SocketAddrV4::new(source, 68), Port::Dhcp).await
}

pub(super) async fn ask_from(
    engine: &Engine,
    request: &Packet,
    from: SocketAddrV4,
    port: Port,
) -> Option<(Packet, Destination)> {
    let mut outcome: Outcome = engine.answer(engine.admit(&request.encode(), from, port)?).await;
    let reply = outcome.reply.take();
    engine.ended(outcome, Ok(()));
    reply.map(|(bytes, to)| (Packet::decode(&bytes).unwrap(), to))
}

/// The name in the fixed field.
pub(super) fn file_of(packet: &Packet) -> String {
    let field = packet.file.split(|octet| *octet == 0).next().unwrap();
    let named = String::from_utf8(field.to_vec()).unwrap();
    match packet.options.get(code::BOOT_FILE) {
        Some(option) if named.is_empty() => String::from_utf8(option.into_owned()).unwrap(),
        _ => named,
    }
}
