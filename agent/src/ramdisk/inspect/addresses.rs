//! The addresses of every interface, from the kernel.

use std::collections::BTreeMap;
use std::net::IpAddr;

use futures::TryStreamExt;
use rtnetlink::Handle;
use rtnetlink::packet_route::address::{AddressAttribute, AddressMessage};

/// Addresses of one interface that are kept.
const MOST: usize = 32;

/// By the kernel's index; link-local ones, which mean nothing elsewhere, are left out.
pub(in crate::ramdisk) async fn read(handle: &Handle) -> Result<BTreeMap<u32, Vec<IpAddr>>, rtnetlink::Error> {
    let mut messages = handle.address().get().execute();
    let mut found: BTreeMap<u32, Vec<IpAddr>> = BTreeMap::new();
    while let Some(message) = messages.try_next().await? {
        let known = found.entry(message.header.index).or_default();
        known.extend(address(&message).filter(|_| known.len() < MOST));
    }
    Ok(found)
}

fn address(message: &AddressMessage) -> Option<IpAddr> {
    // On a link between two points the address is the other end's, and the local one is ours.
    let local = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    let any = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Address(address) => Some(*address),
        _ => None,
    });
    local.or(any).filter(|address| match address {
        IpAddr::V4(address) => !address.is_link_local() && !address.is_loopback(),
        IpAddr::V6(address) => !address.is_unicast_link_local() && !address.is_loopback(),
    })
}
