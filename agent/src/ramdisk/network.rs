//! The network of the ramdisk: the NIC that this machine booted from, or else the first one that gets an address.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use futures::FutureExt;
use futures::future::select_all;
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder};
use tracing::{info, warn};

use super::inspect::lldp::Listener;
use super::lease::{Client, Lease};
use crate::identity::{PhysicalNic, physical_nics};

/// How long drivers may take to show a NIC after their modules were loaded.
const NIC_DEADLINE: Duration = Duration::from_secs(60);

/// How often to look for it. Devices appear without an event that the agent listens to.
const NIC_POLL: Duration = Duration::from_millis(200);

/// Why there is no network and never will be.
#[derive(Debug, thiserror::Error)]
pub(super) enum NetworkError {
    #[error("no network interface within {} s: the ramdisk lacks its driver or the machine has none", NIC_DEADLINE.as_secs())]
    NoNic,
    #[error("netlink: {0}")]
    Netlink(String),
}

/// An interface with an address.
pub(super) struct Uplink {
    pub(super) name: String,
    pub(super) mac: String,
    pub(super) lease: Lease,
    /// To ask the kernel about links and addresses.
    pub(super) handle: Handle,
    /// Hears the switches on every NIC.
    pub(super) lldp: Listener,
}

/// The address after `BOOTIF=` on the kernel's command line, as PXE loaders give it: hardware type, then the octets, with dashes.
pub(super) fn boot_nic() -> Option<String> {
    boot_nic_of(&fs::read_to_string("/proc/cmdline").ok()?)
}

fn boot_nic_of(command_line: &str) -> Option<String> {
    let value = command_line.split_whitespace().find_map(|word| word.strip_prefix("BOOTIF="))?;
    let mac = value.to_ascii_lowercase().replace('-', ":");
    Some(if mac.len() > 17 { mac.strip_prefix("01:")?.to_owned() } else { mac })
}

/// Brings the network up. Waits for a DHCP server for as long as it takes.
pub(super) async fn bring_up(sys: &Path, boot_mac: Option<&str>) -> Result<Uplink, NetworkError> {
    let netlink = |error: &dyn std::fmt::Display| NetworkError::Netlink(error.to_string());
    let (connection, handle, _) = rtnetlink::new_connection().map_err(|error| netlink(&error))?;
    tokio::spawn(connection);
    up(&handle, 1).await.map_err(|error| netlink(&error))?;
    let nics = wait_for_nics(sys).await?;
    for nic in &nics {
        up(&handle, nic.index).await.map_err(|error| netlink(&error))?;
    }
    let lldp = Listener::start(&handle, &nics).await;
    let booted: Vec<PhysicalNic> = nics.iter().filter(|nic| Some(nic.mac.as_str()) == boot_mac).cloned().collect();
    let candidates = if booted.is_empty() { nics } else { booted };
    let mut clients = Vec::new();
    for nic in candidates {
        match octets(&nic.mac).map(|mac| Client::new(&nic.name, mac)) {
            Some(Ok(client)) => clients.push((nic, client)),
            Some(Err(error)) => warn!("{}: no DHCP: {error}", nic.name),
            None => warn!("{}: {:?} is no Ethernet address", nic.name, nic.mac),
        }
    }
    if clients.is_empty() {
        return Err(NetworkError::NoNic);
    }
    let asking = clients.iter().map(|(nic, _)| nic.name.as_str()).collect::<Vec<_>>().join(", ");
    info!("asking for an address on {asking}");
    let (lease, winner, _) = select_all(clients.iter().map(|(_, client)| client.obtain().boxed())).await;
    let (nic, client) = clients.swap_remove(winner);
    configure(&handle, nic.index, &lease).await.map_err(|error| netlink(&error))?;
    tokio::spawn(client.keep(lease.clone()));
    Ok(Uplink { name: nic.name, mac: nic.mac, lease, handle, lldp })
}

async fn wait_for_nics(sys: &Path) -> Result<Vec<PhysicalNic>, NetworkError> {
    let deadline = tokio::time::Instant::now() + NIC_DEADLINE;
    loop {
        let nics = physical_nics(sys);
        if !nics.is_empty() {
            return Ok(nics);
        }
        if tokio::time::Instant::now() > deadline {
            return Err(NetworkError::NoNic);
        }
        tokio::time::sleep(NIC_POLL).await;
    }
}

async fn up(handle: &Handle, index: u32) -> Result<(), rtnetlink::Error> {
    handle.link().set(LinkUnspec::new_with_index(index).up().build()).execute().await
}

async fn configure(handle: &Handle, index: u32, lease: &Lease) -> Result<(), rtnetlink::Error> {
    handle.address().add(index, lease.address.into(), lease.prefix).execute().await?;
    if let Some(router) = lease.router {
        let route = RouteMessageBuilder::<Ipv4Addr>::new().gateway(router).output_interface(index).build();
        handle.route().add(route).execute().await?;
    }
    let resolvers: String = lease.resolvers.iter().map(|resolver| format!("nameserver {resolver}\n")).collect();
    if let Err(error) = fs::write("/etc/resolv.conf", resolvers) {
        warn!("/etc/resolv.conf: {error}; names in image URLs will not resolve");
    }
    Ok(())
}

fn octets(mac: &str) -> Option<[u8; 6]> {
    let octets: Option<Vec<u8>> = mac.split(':').map(|octet| u8::from_str_radix(octet, 16).ok()).collect();
    octets?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_nic_is_read_in_the_forms_that_loaders_write() {
        for line in ["quiet BOOTIF=01-52-54-00-AB-00-01 x=y", "BOOTIF=52:54:00:ab:00:01", "BOOTIF=01:52:54:00:ab:00:01"]
        {
            assert_eq!(boot_nic_of(line).as_deref(), Some("52:54:00:ab:00:01"), "{line}");
        }
        assert_eq!(boot_nic_of("console=ttyS0"), None);
        assert_eq!(octets("52:54:00:ab:00:01"), Some([0x52, 0x54, 0, 0xab, 0, 1]));
        assert_eq!(octets("52:54"), None);
    }
}
