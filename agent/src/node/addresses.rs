//! The host's addresses as the OS sees them, in the words of the Kubernetes Node API.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use bessemer_protocol::NodeAddress;
use futures::TryStreamExt;
use rtnetlink::packet_route::address::{AddressAttribute, AddressMessage, AddressScope};
use rtnetlink::packet_route::route::RouteAttribute;
use rtnetlink::{Handle, RouteMessageBuilder};
use tracing::warn;

use crate::identity::physical_nics;

/// Addresses of physical NICs, those of the default route's NIC first, then the host name.
pub(super) async fn read(hostname: &str) -> Vec<NodeAddress> {
    let internal = match Box::pin(internal()).await {
        Ok(addresses) => addresses,
        Err(error) => {
            warn!("cannot read the host's addresses: {error}");
            Vec::new()
        }
    };
    let named = |kind: &str, address: String| NodeAddress { kind: kind.to_owned(), address };
    let mut all: Vec<NodeAddress> =
        internal.into_iter().map(|address| named("InternalIP", address.to_string())).collect();
    all.push(named("Hostname", hostname.to_owned()));
    all
}

async fn internal() -> Result<Vec<IpAddr>, rtnetlink::Error> {
    let (connection, handle, _) = rtnetlink::new_connection().map_err(|error| {
        warn!("netlink: {error}");
        rtnetlink::Error::RequestFailed
    })?;
    let connection = tokio::spawn(connection);
    let uplink = default_interface(&handle).await?;
    let nics: Vec<u32> = physical_nics(Path::new("/sys")).into_iter().map(|nic| nic.index).collect();
    let mut by_nic: BTreeMap<(bool, u32), Vec<IpAddr>> = BTreeMap::new();
    let mut messages = handle.address().get().execute();
    while let Some(message) = messages.try_next().await? {
        let index = message.header.index;
        let wanted = nics.contains(&index) || uplink == Some(index);
        if let Some(address) = global(&message).filter(|_| wanted) {
            by_nic.entry((uplink != Some(index), index)).or_default().push(address);
        }
    }
    connection.abort();
    Ok(by_nic.into_values().flatten().collect())
}

async fn default_interface(handle: &Handle) -> Result<Option<u32>, rtnetlink::Error> {
    let mut routes = handle.route().get(RouteMessageBuilder::<Ipv4Addr>::new().build()).execute();
    while let Some(route) = routes.try_next().await? {
        if route.header.destination_prefix_length == 0 {
            let interface = route.attributes.iter().find_map(|attribute| match attribute {
                RouteAttribute::Oif(index) => Some(*index),
                _ => None,
            });
            if interface.is_some() {
                return Ok(interface);
            }
        }
    }
    Ok(None)
}

/// The address that others can use.
fn global(message: &AddressMessage) -> Option<IpAddr> {
    if message.header.scope != AddressScope::Universe {
        return None;
    }
    let attribute = |local: bool| {
        message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Local(address) if local => Some(*address),
            AddressAttribute::Address(address) if !local => Some(*address),
            _ => None,
        })
    };
    attribute(true).or_else(|| attribute(false))
}
