//! What the system says of one network interface.

use std::net::{IpAddr, Ipv4Addr};

use futures::TryStreamExt;
use rtnetlink::packet_route::address::AddressAttribute;

use crate::up::Subnet;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InterfaceError {
    #[error("interface {0} does not exist; `ip link` lists the interfaces of this machine")]
    Missing(String),
    #[error("interface {0} has no IPv4 address; give it one (`ip address add 10.77.0.1/24 dev {0}`)")]
    NoAddress(String),
    #[error(
        "interface {interface} does not have the address {address}; add it (`ip address add {wanted} dev {interface}`) or choose another"
    )]
    OtherAddress { interface: String, address: Ipv4Addr, wanted: Subnet },
    #[error("cannot ask the kernel about interface {interface}: {why}")]
    Netlink { interface: String, why: String },
}

/// Our address on `interface`: the wanted one if it is there, else the first.
pub(crate) async fn address(interface: &str, wanted: Option<Subnet>) -> Result<Subnet, InterfaceError> {
    let netlink =
        |why: &dyn std::fmt::Display| InterfaceError::Netlink { interface: interface.into(), why: why.to_string() };
    let (connection, handle, _) = rtnetlink::new_connection().map_err(|error| netlink(&error))?;
    let connection = tokio::spawn(connection);
    let found = async {
        let mut links = handle.link().get().match_name(interface).execute();
        let index = match links.try_next().await {
            Ok(Some(link)) => link.header.index,
            _ => return Err(InterfaceError::Missing(interface.into())),
        };
        let messages = handle.address().get().set_link_index_filter(index).execute();
        let messages: Vec<_> = messages.try_collect().await.map_err(|error| netlink(&error))?;
        Ok(messages
            .into_iter()
            .filter_map(|message| {
                let prefix = message.header.prefix_len;
                // `Local` is ours; `Address` is the far end on point-to-point links and the same elsewhere.
                message.attributes.into_iter().find_map(|attribute| match attribute {
                    AddressAttribute::Local(IpAddr::V4(address)) => Some(Subnet { address, prefix }),
                    _ => None,
                })
            })
            .collect::<Vec<_>>())
    };
    let found = found.await;
    connection.abort();
    let found = found?;
    match wanted {
        None => found.first().copied().ok_or_else(|| InterfaceError::NoAddress(interface.into())),
        Some(wanted) if found.iter().any(|subnet| subnet.address == wanted.address) => Ok(wanted),
        Some(wanted) => {
            Err(InterfaceError::OtherAddress { interface: interface.into(), address: wanted.address, wanted })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_loopback_interface_has_its_address() {
        let loopback: Subnet = Subnet { address: Ipv4Addr::LOCALHOST, prefix: 8 };
        assert_eq!(address("lo", None).await.unwrap(), loopback);
        assert_eq!(address("lo", Some(loopback)).await.unwrap(), loopback);
        let other = "192.0.2.1/24".parse().unwrap();
        assert!(matches!(address("lo", Some(other)).await, Err(InterfaceError::OtherAddress { .. })));
    }

    #[tokio::test]
    async fn a_missing_interface_is_named() {
        let error = address("bessemer-none", None).await.unwrap_err();
        assert!(error.to_string().starts_with("interface bessemer-none does not exist"), "{error}");
    }
}
