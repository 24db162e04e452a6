//! Interfaces: which are there, which have a link, making and setting them. All by netlink.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use bessemer_protocol::{BondMode, Route};
use futures::{StreamExt, TryStreamExt};
use rtnetlink::packet_core::NetlinkPayload;
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::link::{BondXmitHashPolicy, LinkAttribute, LinkMessage};
use rtnetlink::packet_route::route::{RouteMessage, RouteScope};
use rtnetlink::{Handle, LinkBond, LinkUnspec, LinkVlan, MulticastGroup, RouteMessageBuilder};
use tokio::sync::watch;
use tokio::time::timeout;

use super::NetworkError;

/// What is known of an interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) name: String,
    /// Whether something answers at the other end of the cable.
    pub(super) carrier: bool,
}

/// The kernel's interfaces, by index, as they are now.
#[derive(Debug, Clone)]
pub(super) struct Links {
    handle: Handle,
    state: watch::Receiver<BTreeMap<u32, Link>>,
}

fn netlink(what: &str) -> impl FnOnce(rtnetlink::Error) -> NetworkError {
    let what = what.to_owned();
    move |error| NetworkError::Netlink(format!("{what}: {error}"))
}

impl Links {
    /// Begins to follow the kernel's events.
    pub(super) async fn follow() -> Result<Self, NetworkError> {
        let opened = rtnetlink::new_multicast_connection(&[MulticastGroup::Link]);
        let (connection, handle, mut events) = opened.map_err(|error| NetworkError::Netlink(error.to_string()))?;
        tokio::spawn(connection);
        // Asked for after the events were ordered: nothing is missed between the two.
        let mut known = BTreeMap::new();
        let mut messages = handle.link().get().execute();
        while let Some(message) = messages.try_next().await.map_err(netlink("list interfaces"))? {
            known.insert(message.header.index, read(&message));
        }
        let (tell, state) = watch::channel(known);
        tokio::spawn(async move {
            while let Some((message, _)) = events.next().await {
                let NetlinkPayload::InnerMessage(message) = message.payload else { continue };
                tell.send_if_modified(|known| match message {
                    RouteNetlinkMessage::NewLink(message) => {
                        let link = read(&message);
                        known.insert(message.header.index, link.clone()) != Some(link)
                    }
                    RouteNetlinkMessage::DelLink(message) => known.remove(&message.header.index).is_some(),
                    _ => false,
                });
            }
        });
        Ok(Self { handle, state })
    }

    /// To ask the kernel other things.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits for the next change of any interface.
    pub(super) async fn changed(&mut self) {
        if self.state.changed().await.is_err() {
            // The kernel's socket is gone for good; nothing will ever change again.
            std::future::pending::<()>().await;
        }
    }

    /// The index of the interface of that name.
    pub(super) fn index(&self, name: &str) -> Option<u32> {
        self.state.borrow().iter().find(|(_, link)| link.name == name).map(|(index, _)| *index)
    }

    /// Waits until `index` has a link, for at most `patience`. False when it has none by then.
    pub(super) fn carrier(&self, index: u32, patience: Duration) -> impl Future<Output = bool> + use<> {
        let mut state = self.state.clone();
        async move {
            let linked = state.wait_for(|links| links.get(&index).is_some_and(|link| link.carrier));
            timeout(patience, linked).await.is_ok_and(|waited| waited.is_ok())
        }
    }

    /// Waits until `index` loses its link and gets it again, or gets its first.
    pub(super) fn plugged(&self, index: u32) -> impl Future<Output = ()> + use<> {
        let mut state = self.state.clone();
        async move {
            let has = |links: &BTreeMap<u32, Link>| links.get(&index).is_some_and(|link| link.carrier);
            let lost = state.wait_for(|links| !has(links)).await.is_ok();
            if !lost || state.wait_for(has).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Switches an interface on.
    pub(super) async fn up(&self, index: u32) -> Result<(), NetworkError> {
        self.set(LinkUnspec::new_with_index(index).up().build(), "switch on").await
    }

    /// Sets the largest packet.
    pub(super) async fn set_mtu(&self, index: u32, mtu: u32) -> Result<(), NetworkError> {
        self.set(LinkUnspec::new_with_index(index).mtu(mtu).build(), &format!("set an MTU of {mtu}")).await
    }

    /// Makes a bond of `members`, or takes the one that is there.
    pub(super) async fn make_bond(
        &mut self,
        name: &str,
        mode: BondMode,
        address: Option<[u8; 6]>,
        members: &[u32],
    ) -> Result<u32, NetworkError> {
        let index = self.make(name, bond(name, mode, address)).await?;
        for member in members {
            // The kernel takes only interfaces that are off.
            self.set(LinkUnspec::new_with_index(*member).down().build(), "switch off").await?;
            self.set(LinkUnspec::new_with_index(*member).controller(index).build(), "put into a bond").await?;
            self.up(*member).await?;
        }
        Ok(index)
    }

    /// Makes a VLAN on `below`, or takes the one that is there.
    pub(super) async fn make_vlan(&mut self, name: &str, below: u32, vlan: u16) -> Result<u32, NetworkError> {
        self.make(name, LinkVlan::new(name, below, vlan).build()).await
    }

    async fn make(&mut self, name: &str, message: LinkMessage) -> Result<u32, NetworkError> {
        /// The kernel tells of a new interface at once.
        const TOLD: Duration = Duration::from_secs(5);
        if self.index(name).is_none() {
            self.handle.link().add(message).execute().await.map_err(netlink(&format!("make {name}")))?;
        }
        let there = self.state.wait_for(|links| links.values().any(|link| link.name == name));
        let _ = timeout(TOLD, there).await;
        self.index(name).ok_or_else(|| NetworkError::Netlink(format!("{name} was made and is not there")))
    }

    async fn set(&self, message: LinkMessage, what: &str) -> Result<(), NetworkError> {
        let index = message.header.index;
        let name = self.state.borrow().get(&index).map(|link| link.name.clone()).unwrap_or_default();
        self.handle.link().set(message).execute().await.map_err(netlink(&format!("{name}: {what}")))
    }

    /// Gives an interface an address. It may have it already.
    pub(super) async fn add_address(&self, index: u32, address: IpAddr, prefix: u8) -> Result<(), NetworkError> {
        let add = self.handle.address().add(index, address, prefix).replace();
        add.execute().await.map_err(netlink(&format!("add the address {address}/{prefix}")))
    }

    /// Sets routes through an interface, those without a gateway first: the others' gateways may lie behind them.
    pub(super) async fn add_routes(&self, index: u32, routes: &[Route]) -> Result<(), NetworkError> {
        let (direct, indirect): (Vec<&Route>, Vec<&Route>) = routes.iter().partition(|route| route.gateway.is_none());
        for wanted in direct.into_iter().chain(indirect) {
            let message = route(index, wanted).ok_or_else(|| {
                NetworkError::Config(format!("the route to {} has a gateway of the other family", wanted.destination))
            })?;
            let add = self.handle.route().add(message).replace();
            add.execute()
                .await
                .map_err(netlink(&format!("add the route to {}/{}", wanted.destination, wanted.prefix)))?;
        }
        Ok(())
    }
}

fn read(message: &LinkMessage) -> Link {
    let mut link = Link::default();
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name.clone_from(name),
            LinkAttribute::Carrier(carrier) => link.carrier = *carrier == 1,
            _ => {}
        }
    }
    link
}

fn bond(name: &str, mode: BondMode, address: Option<[u8; 6]>) -> LinkMessage {
    use rtnetlink::packet_route::link::BondMode as Kernel;
    let (mode, hashes) = match mode {
        BondMode::BalanceRr => (Kernel::BalanceRr, false),
        BondMode::ActiveBackup => (Kernel::ActiveBackup, false),
        BondMode::BalanceXor => (Kernel::BalanceXor, true),
        BondMode::Broadcast => (Kernel::Broadcast, false),
        BondMode::Lacp => (Kernel::Ieee8023Ad, true),
        BondMode::BalanceTlb => (Kernel::BalanceTlb, true),
        BondMode::BalanceAlb => (Kernel::BalanceAlb, true),
    };
    // Without monitoring the kernel never notices that a member's link went away.
    let mut builder = LinkBond::new(name).mode(mode).miimon(100);
    if hashes {
        builder = builder.xmit_hash_policy(BondXmitHashPolicy::Layer34);
    }
    if let Some(address) = address {
        builder = builder.address(address.to_vec());
    }
    builder.build()
}

/// None when destination and gateway are of different families.
fn route(index: u32, wanted: &Route) -> Option<RouteMessage> {
    let metric = wanted.metric;
    match (wanted.destination, wanted.gateway) {
        (IpAddr::V4(destination), gateway) => {
            let mut builder = RouteMessageBuilder::<Ipv4Addr>::new()
                .output_interface(index)
                .destination_prefix(destination, wanted.prefix);
            builder = match gateway {
                Some(IpAddr::V4(gateway)) => builder.gateway(gateway),
                Some(IpAddr::V6(_)) => return None,
                None => builder.scope(RouteScope::Link),
            };
            Some(metric.map_or(builder.clone(), |metric| builder.priority(metric)).build())
        }
        (IpAddr::V6(destination), gateway) => {
            let mut builder = RouteMessageBuilder::<Ipv6Addr>::new()
                .output_interface(index)
                .destination_prefix(destination, wanted.prefix);
            match gateway {
                Some(IpAddr::V6(gateway)) => builder = builder.gateway(gateway),
                Some(IpAddr::V4(_)) => return None,
                None => {}
            }
            Some(metric.map_or(builder.clone(), |metric| builder.priority(metric)).build())
        }
    }
}

#[cfg(test)]
mod tests {
    use rtnetlink::packet_route::link::{InfoBond, InfoData, InfoKind, InfoVlan, LinkInfo};

    use super::*;

    /// This machine's kernel has neither; the messages are those that `ip link add` sends.
    #[test]
    fn bonds_and_vlans_are_asked_for_as_the_kernel_wants_it() {
        let info = |message: &LinkMessage| {
            let found = message.attributes.iter().find_map(|attribute| match attribute {
                LinkAttribute::LinkInfo(info) => Some(info.clone()),
                _ => None,
            });
            found.unwrap()
        };
        let message = bond("bond0", BondMode::Lacp, Some([2, 0, 0, 0, 0, 1]));
        assert!(message.attributes.contains(&LinkAttribute::IfName("bond0".into())));
        assert!(message.attributes.contains(&LinkAttribute::Address(vec![2, 0, 0, 0, 0, 1])));
        let parts = info(&message);
        assert!(parts.contains(&LinkInfo::Kind(InfoKind::Bond)), "{parts:?}");
        let Some(LinkInfo::Data(InfoData::Bond(data))) = parts.iter().find(|part| matches!(part, LinkInfo::Data(_)))
        else {
            panic!("{parts:?}")
        };
        use rtnetlink::packet_route::link::BondMode as Kernel;
        assert_eq!(
            data.as_slice(),
            [
                InfoBond::Mode(Kernel::Ieee8023Ad),
                InfoBond::MiiMon(100),
                InfoBond::XmitHashPolicy(BondXmitHashPolicy::Layer34)
            ]
        );

        let message = LinkVlan::new("bond0.7", 9, 7).build();
        assert!(message.attributes.contains(&LinkAttribute::Link(9)));
        let parts = info(&message);
        assert!(parts.contains(&LinkInfo::Kind(InfoKind::Vlan)));
        assert!(parts.contains(&LinkInfo::Data(InfoData::Vlan(vec![InfoVlan::Id(7)]))), "{parts:?}");
    }

    #[test]
    fn a_route_stays_within_its_family() {
        let of = |destination: &str, gateway: Option<&str>| Route {
            destination: destination.parse().unwrap(),
            prefix: 0,
            gateway: gateway.map(|gateway| gateway.parse().unwrap()),
            metric: Some(7),
        };
        assert!(route(2, &of("0.0.0.0", Some("fe80::1"))).is_none());
        assert!(route(2, &of("::", Some("192.0.2.1"))).is_none());
        assert!(route(2, &of("::", Some("fe80::1"))).is_some());
        let direct = route(2, &of("192.0.2.0", None)).unwrap();
        assert_eq!(direct.header.scope, RouteScope::Link);
    }
}
