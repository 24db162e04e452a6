//! The network of the ramdisk. Without a configuration it asks by DHCP, on the NIC that the machine booted through and, if nobody answers
//! there, on all; with one it makes what is written. What comes first is taken, the rest goes on beside.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use bessemer_protocol::{AddressSource, LinkKind, NetworkConfig};
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use rtnetlink::Handle;
use tokio::time::{Instant, sleep_until, timeout_at};
use tracing::{info, warn};

use super::inspect::lldp::Listener;
use crate::identity::{PhysicalNic, physical_nics};
use links::Links;
use resolvers::Resolvers;

mod boot_nic;
mod dhcp4;
mod dhcp6;
mod lease4;
mod lease6;
mod links;
mod plan;
mod resolvers;
#[cfg(test)]
mod tests;

pub(super) use boot_nic::boot_nic;

/// How long drivers may take to show a NIC after their modules were loaded.
const NIC_DEADLINE: Duration = Duration::from_secs(60);

/// How long the NIC that the machine booted through is asked through alone.
const BOOT_NIC_ALONE: Duration = Duration::from_secs(60);

/// How long a configured NIC may take to get its link before its address is used without.
const LINK_DEADLINE: Duration = Duration::from_secs(30);

/// The interface that loopback always is.
const LOOPBACK: u32 = 1;

/// Why there is no network and never will be.
#[derive(Debug, thiserror::Error)]
pub(super) enum NetworkError {
    #[error("no network interface within {} s: the ramdisk lacks its driver or the machine has none", NIC_DEADLINE.as_secs())]
    NoNic,
    #[error("the network configuration names the NIC {mac}, which did not show within {} s", NIC_DEADLINE.as_secs())]
    NotHere { mac: String },
    #[error("network configuration: {0}")]
    Config(String),
    #[error("netlink: {0}")]
    Netlink(String),
}

/// An interface with an address.
pub(super) struct Uplink {
    pub(super) name: String,
    /// Permanent address of the NIC that the machine booted through, else of the one beneath this interface.
    pub(super) mac: String,
    pub(super) address: IpAddr,
    pub(super) prefix: u8,
    /// To ask the kernel about links and addresses.
    pub(super) handle: Handle,
    /// Hears the switches on every NIC.
    pub(super) lldp: Listener,
}

/// An interface to be given addresses.
#[derive(Debug, Clone)]
struct Interface {
    index: u32,
    name: String,
    /// Of the NIC, or of the first one beneath.
    mac: String,
}

/// Which interface has which address.
struct Ready {
    interface: Interface,
    address: IpAddr,
    prefix: u8,
}

/// Brings the network up. Waits for an address for as long as it takes.
pub(super) async fn bring_up(
    sys: &Path,
    config: Option<&NetworkConfig>,
    boot_mac: Option<&str>,
) -> Result<Uplink, NetworkError> {
    if let Some(config) = config {
        plan::check(config).map_err(NetworkError::Config)?;
    }
    let mut links = Links::follow().await?;
    links.up(LOOPBACK).await?;
    let nics = wait_for_nics(sys, &mut links).await?;
    for nic in &nics {
        links.up(nic.index).await?;
    }
    let lldp = Listener::start(links.handle(), &nics).await;
    let resolvers = Resolvers::new(Path::new("/etc/resolv.conf"));
    let handle = links.handle().clone();
    let ready = match config {
        Some(config) => configured(sys, &mut links, config, &resolvers).await?,
        None => by_asking(sys, links, nics, boot_mac, &resolvers, BOOT_NIC_ALONE).await?,
    };
    let Ready { interface, address, prefix } = ready;
    let mac = boot_mac.map_or(interface.mac, str::to_owned);
    Ok(Uplink { name: interface.name, mac, address, prefix, handle, lldp })
}

async fn wait_for_nics(sys: &Path, links: &mut Links) -> Result<Vec<PhysicalNic>, NetworkError> {
    let deadline = Instant::now() + NIC_DEADLINE;
    loop {
        let nics = physical_nics(sys);
        if !nics.is_empty() {
            return Ok(nics);
        }
        timeout_at(deadline, links.changed()).await.map_err(|_| NetworkError::NoNic)?;
    }
}

impl From<PhysicalNic> for Interface {
    fn from(nic: PhysicalNic) -> Self {
        Self { index: nic.index, name: nic.name, mac: nic.mac }
    }
}

/// By DHCP of both versions on every NIC, those that show up later too; alone on the boot NIC at first.
async fn by_asking(
    sys: &Path,
    mut links: Links,
    nics: Vec<PhysicalNic>,
    boot_mac: Option<&str>,
    resolvers: &Resolvers,
    alone: Duration,
) -> Result<Ready, NetworkError> {
    let others_from = Instant::now() + alone;
    let is_boot = |nic: &PhysicalNic| Some(nic.mac.as_str()) == boot_mac;
    let mut known = BTreeSet::new();
    let mut asking: FuturesUnordered<BoxFuture<'static, Ready>> = FuturesUnordered::new();
    let mut nics = nics;
    loop {
        for nic in nics.into_iter().filter(|nic| known.insert(nic.index)) {
            let begin = if boot_mac.is_none() || is_boot(&nic) { Instant::now() } else { others_from };
            links.up(nic.index).await?;
            info!("asking for an address on {}", nic.name);
            let (interface, links, resolvers) = (Interface::from(nic), links.clone(), resolvers.clone());
            asking.push(Box::pin(async move {
                sleep_until(begin).await;
                first_of_both(&links, &interface, &resolvers).await
            }));
        }
        tokio::select! {
            Some(ready) = asking.next() => return Ok(ready),
            () = links.changed() => nics = physical_nics(sys),
        }
    }
}

/// The first address by DHCP of either version; the other version goes on, as a controller may be reached by that one only. Nothing goes on
/// for a NIC whose first address nobody waits for any more: a second one's default route would take the place of the first.
async fn first_of_both(links: &Links, interface: &Interface, resolvers: &Resolvers) -> Ready {
    let mut four = by_dhcp4(links.clone(), interface.clone(), resolvers.clone()).boxed().fuse();
    let mut six = by_dhcp6(links.clone(), interface.clone(), resolvers.clone()).boxed().fuse();
    tokio::select! {
        Some(ready) = &mut four => {
            tokio::spawn(six);
            ready
        }
        Some(ready) = &mut six => {
            tokio::spawn(four);
            ready
        }
        else => std::future::pending().await,
    }
}

/// Obtains, sets and keeps an address. None, with a line on the console, when the client cannot even begin.
async fn by_dhcp4(links: Links, interface: Interface, resolvers: Resolvers) -> Option<Ready> {
    let client = plan::octets(&interface.mac).map(|mac| lease4::Client::new(&interface.name, interface.index, mac));
    let client = begun(client, &interface, "DHCP")?;
    loop {
        let lease = client.obtain(&links).await;
        let set = async {
            if let Some(mtu) = lease.mtu {
                // A driver that cannot is no reason to do without a network.
                links.set_mtu(interface.index, mtu).await.unwrap_or_else(|error| warn!("{error}"));
            }
            links.add_address(interface.index, lease.address.into(), lease.prefix).await?;
            links.add_routes(interface.index, &lease.routes).await
        };
        if let Err(error) = set.await {
            warn!("{}: {error}; asking again", interface.name);
            tokio::time::sleep(Duration::from_secs(2)).await;
            continue;
        }
        resolvers.learn(lease.resolvers.iter().map(|resolver| IpAddr::V4(*resolver)));
        let ready = Ready { address: lease.address.into(), prefix: lease.prefix, interface };
        tokio::spawn(client.keep(lease));
        return Some(ready);
    }
}

/// The same of IPv6. The prefix on the link and the routes are in router advertisements, which the kernel follows.
async fn by_dhcp6(links: Links, interface: Interface, resolvers: Resolvers) -> Option<Ready> {
    const PREFIX: u8 = 128;
    let client = plan::octets(&interface.mac).map(|mac| lease6::Client6::new(&interface.name, interface.index, mac));
    let client = begun(client, &interface, "DHCPv6")?;
    let lease = client.obtain(&links).await;
    if let Err(error) = links.add_address(interface.index, lease.address.into(), PREFIX).await {
        warn!("{}: {error}", interface.name);
        return None;
    }
    info!("{} has {} by DHCPv6", interface.name, lease.address);
    resolvers.learn(lease.resolvers.iter().map(|resolver| IpAddr::V6(*resolver)));
    let ready = Ready { address: lease.address.into(), prefix: PREFIX, interface };
    tokio::spawn(client.keep(lease));
    Some(ready)
}

fn begun<T>(client: Option<std::io::Result<T>>, interface: &Interface, protocol: &str) -> Option<T> {
    match client {
        Some(Ok(client)) => return Some(client),
        Some(Err(error)) => warn!("{}: no {protocol}: {error}", interface.name),
        None => warn!("{}: {:?} is no Ethernet address", interface.name, interface.mac),
    }
    None
}

/// As written. Ends with the first address.
async fn configured(
    sys: &Path,
    links: &mut Links,
    config: &NetworkConfig,
    resolvers: &Resolvers,
) -> Result<Ready, NetworkError> {
    resolvers.learn(config.resolvers.iter().copied());
    let mut made: Vec<(&str, Interface)> = Vec::new();
    let mut asking: FuturesUnordered<BoxFuture<'static, Option<Ready>>> = FuturesUnordered::new();
    for link in &config.links {
        let of = |id: &str| {
            let found = made.iter().find(|(known, _)| *known == id).map(|(_, interface)| interface.clone());
            found.ok_or_else(|| NetworkError::Config(format!("link {:?}: there is no link {id:?} before it", link.id)))
        };
        let interface = match &link.kind {
            LinkKind::Physical { mac } => wait_for_nic(sys, links, mac).await?.into(),
            LinkKind::Vlan { on, vlan } => {
                let below = of(on)?;
                let index = links.make_vlan(&link.id, below.index, *vlan).await?;
                Interface { index, name: link.id.clone(), mac: below.mac }
            }
            LinkKind::Bond { members, mode, mac } => {
                let members = members.iter().map(|member| of(member)).collect::<Result<Vec<_>, _>>()?;
                let indices: Vec<u32> = members.iter().map(|member| member.index).collect();
                let address = mac.as_deref().and_then(plan::octets);
                let index = links.make_bond(&link.id, *mode, address, &indices).await?;
                let first = members.first().map(|member| member.mac.clone()).unwrap_or_default();
                Interface { index, name: link.id.clone(), mac: mac.clone().unwrap_or(first) }
            }
        };
        if let Some(mtu) = link.mtu {
            links.set_mtu(interface.index, mtu).await?;
        }
        links.up(interface.index).await?;
        let mut fixed = Vec::new();
        for source in &link.addresses {
            match source {
                AddressSource::Static { address, prefix } => {
                    links.add_address(interface.index, *address, *prefix).await?;
                    fixed.push((*address, *prefix));
                }
                AddressSource::Dhcp4 => {
                    asking.push(Box::pin(by_dhcp4(links.clone(), interface.clone(), resolvers.clone())));
                }
                AddressSource::Dhcp6 => {
                    asking.push(Box::pin(by_dhcp6(links.clone(), interface.clone(), resolvers.clone())));
                }
            }
        }
        links.add_routes(interface.index, &link.routes).await?;
        if let Some((address, prefix)) = fixed.first().copied() {
            let ready = Ready { interface: interface.clone(), address, prefix };
            let linked = links.carrier(interface.index, LINK_DEADLINE);
            asking.push(Box::pin(async move {
                if !linked.await {
                    warn!("{}: no link within {} s", ready.interface.name, LINK_DEADLINE.as_secs());
                }
                Some(ready)
            }));
        }
        made.push((&link.id, interface));
    }
    while let Some(ended) = asking.next().await {
        if let Some(ready) = ended {
            // The others may yet get theirs.
            tokio::spawn(asking.for_each(|_| std::future::ready(())));
            return Ok(ready);
        }
    }
    Err(NetworkError::Config("no link got an address, and none is being asked for any more".to_owned()))
}

async fn wait_for_nic(sys: &Path, links: &mut Links, mac: &str) -> Result<PhysicalNic, NetworkError> {
    let deadline = Instant::now() + NIC_DEADLINE;
    let wanted = mac.to_ascii_lowercase();
    loop {
        if let Some(nic) = physical_nics(sys).into_iter().find(|nic| nic.mac == wanted) {
            return Ok(nic);
        }
        timeout_at(deadline, links.changed()).await.map_err(|_| NetworkError::NotHere { mac: wanted.clone() })?;
    }
}
