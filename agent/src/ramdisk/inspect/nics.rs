//! Network interfaces with hardware behind them.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use bessemer_protocol::{LldpNeighbour, Nic};

use super::disks::is_pci;
use crate::files;
use crate::identity::PhysicalNic;

/// The NIC that this boot came through, or that the controller is reached by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::ramdisk) struct Boot {
    /// Its permanent address.
    pub(in crate::ramdisk) mac: String,
    /// Its own first address.
    pub(in crate::ramdisk) address: Option<IpAddr>,
}

/// Drivers of NICs whose other end is the host's own bridge, which passes no LLDP on (IEEE 802.1Q, table 8-1).
const VIRTUAL: [&str; 6] = ["virtio_net", "vmxnet3", "hv_netvsc", "xen_netfront", "veth", "ena"];

/// Whether a switch may be at the other end of `nic`: it has a link, and is no virtual one.
pub(super) fn may_have_neighbour(sys: &Path, nic: &PhysicalNic) -> bool {
    let folder = sys.join("class/net").join(&nic.name);
    carrier(&folder) == Some(true) && !VIRTUAL.contains(&driver(&folder).as_str())
}

/// One of them as it is reported.
pub(super) fn describe(
    sys: &Path,
    nic: PhysicalNic,
    boot: &Boot,
    addresses: &BTreeMap<u32, Vec<IpAddr>>,
    lldp: Option<LldpNeighbour>,
) -> Nic {
    let folder = sys.join("class/net").join(&nic.name);
    let part = |name: &str| files::line(folder.join("device").join(name));
    let pxe = !boot.mac.is_empty() && nic.mac == boot.mac;
    let place = fs::canonicalize(folder.join("device")).unwrap_or_default();
    let components: Vec<String> =
        place.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    // The machine may have booted through one NIC and be reached through another, whose address it is then.
    let is_known = boot.address.is_some_and(|own| addresses.values().flatten().any(|address| *address == own));
    let mut addresses = addresses.get(&nic.index).cloned().unwrap_or_default();
    addresses.extend(boot.address.filter(|_| pxe && !is_known));
    // -1 while there is no link.
    let megabits: u32 = files::number(folder.join("speed")).unwrap_or(0);
    // What virtio sits on is what has ids that mean something.
    let ids = part("vendor").zip(part("device")).or_else(|| {
        let pci = sys.join("bus/pci/devices").join(components.iter().rev().find(|name| is_pci(name))?);
        files::line(pci.join("vendor")).zip(files::line(pci.join("device")))
    });
    Nic {
        model: ids.map(|(vendor, device)| format!("{vendor}:{device}")).unwrap_or_default(),
        ip: addresses.first().map(ToString::to_string).unwrap_or_default(),
        addresses,
        speed_gbps: megabits / 1000,
        speed_mbps: megabits,
        pxe,
        carrier: carrier(&folder),
        driver: driver(&folder),
        pci_address: components.iter().rev().find(|name| is_pci(name)).cloned().unwrap_or_default(),
        usb: components.iter().any(|name| name.starts_with("usb")),
        lldp,
        name: nic.name,
        mac: nic.mac,
    }
}

/// Unknown while the interface is down: the file cannot be read then.
fn carrier(folder: &Path) -> Option<bool> {
    files::number::<u8>(folder.join("carrier")).map(|carrier| carrier == 1)
}

fn driver(folder: &Path) -> String {
    fs::canonicalize(folder.join("device/driver")).map(|path| files::name(&path)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::fixture::{Sys, data};
    use super::*;
    use crate::identity::physical_nics;

    fn nic(sys: &Sys, name: &str, place: &str, index: u32, files: &[(&str, &str)]) {
        let folder = format!("devices/{place}/net/{name}");
        sys.file(&format!("{folder}/type"), "1\n").file(&format!("{folder}/ifindex"), format!("{index}\n"));
        sys.link(&format!("{folder}/device"), &format!("devices/{place}"));
        for (path, content) in files {
            sys.file(&format!("{folder}/{path}"), content);
        }
        sys.link(&format!("class/net/{name}"), &folder);
    }

    #[test]
    fn c186_members_of_a_bond_are_known_by_their_own_addresses() {
        let sys = Sys::new();
        let shared = ("address", "52:54:00:00:00:0a\n");
        let own = |mac| ("bonding_slave/perm_hwaddr", mac);
        nic(&sys, "eth0", "pci0000:00/0000:00:03.0", 2, &[shared, own("52:54:00:00:00:0A\n")]);
        nic(&sys, "eth1", "pci0000:00/0000:00:04.0", 3, &[shared, own("52:54:00:00:00:0B\n")]);
        sys.file("class/net/bond0/type", "1\n")
            .file("class/net/bond0/address", shared.1)
            .file("class/net/bond0/ifindex", "4\n");
        let macs: Vec<String> = physical_nics(sys.path()).into_iter().map(|nic| nic.mac).collect();
        assert_eq!(macs, ["52:54:00:00:00:0a", "52:54:00:00:00:0b"]);
    }

    #[test]
    fn c189_the_boot_nic_has_its_address_though_nobody_else_knows_it() {
        let sys = Sys::new();
        nic(
            &sys,
            "eth0",
            "pci0000:00/0000:00:03.0/virtio0",
            2,
            &[("address", "52:54:00:00:00:01\n"), ("carrier", "1\n"), ("speed", "-1\n")],
        );
        sys.file("bus/pci/devices/0000:00:03.0/vendor", "0x1af4\n")
            .file("bus/pci/devices/0000:00:03.0/device", "0x1000\n");
        sys.link("devices/pci0000:00/0000:00:03.0/virtio0/driver", "bus/virtio/drivers/virtio_net");
        nic(
            &sys,
            "eth1",
            "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0",
            3,
            &[("address", "52:54:00:00:00:02\n"), ("speed", "25000\n"), ("carrier", "1\n")],
        );
        let boot = Boot { mac: "52:54:00:00:00:01".into(), address: Some("192.0.2.7".parse().unwrap()) };
        let second = BTreeMap::from([(3, vec!["192.0.2.8".parse().unwrap(), "2001:db8::8".parse().unwrap()])]);
        let nics = physical_nics(sys.path());
        assert_eq!(nics.iter().map(|nic| may_have_neighbour(sys.path(), nic)).collect::<Vec<_>>(), [false, true]);
        let all: Vec<Nic> = nics.into_iter().map(|nic| describe(sys.path(), nic, &boot, &second, None)).collect();
        let [first, second] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((first.pxe, first.ip.as_str(), first.driver.as_str()), (true, "192.0.2.7", "virtio_net"));
        assert_eq!((first.model.as_str(), first.pci_address.as_str()), ("0x1af4:0x1000", "0000:00:03.0"));
        assert_eq!((first.speed_mbps, first.carrier), (0, Some(true)));
        assert_eq!((second.pxe, second.usb, second.speed_gbps, second.addresses.len()), (false, true, 25, 2));
    }

    /// A tree as the kernel showed it where `lshw` said this of three servers.
    #[test]
    fn what_lshw_says_of_nics_is_what_we_say() {
        let mut compared = 0;
        for server in ["dell-r6515", "supermicro-x11dph-t", "asrr-e3c246d4i-nl"] {
            let Some(bytes) = data(&format!("host-tools/ironlib-{server}-lshw.json")) else { return };
            let said: Value = serde_json::from_slice(&bytes).unwrap();
            let mut found = Vec::new();
            networks(&said, &mut found);
            let sys = Sys::new();
            let text =
                |said: &Value, path: &str| said.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
            let interfaces: Vec<(&Value, String)> = found
                .into_iter()
                .map(|said| (said, text(said, "/businfo").trim_start_matches("pci@").to_owned()))
                .filter(|(said, pci)| said["logicalname"].is_string() && is_pci(pci))
                .collect();
            for (number, (said, pci)) in interfaces.iter().enumerate() {
                let name = text(said, "/logicalname");
                let has_link = text(said, "/configuration/link") == "yes";
                let mut files =
                    vec![("address", text(said, "/serial")), ("carrier", if has_link { "1" } else { "0" }.to_owned())];
                let bits = said["size"].as_u64().unwrap_or(0);
                files.push(("speed", if bits == 0 { "-1".to_owned() } else { (bits / 1_000_000).to_string() }));
                let files: Vec<(&str, &str)> = files.iter().map(|(path, content)| (*path, content.as_str())).collect();
                nic(&sys, &name, &format!("pci0000:00/{pci}"), u32::try_from(number).unwrap() + 2, &files);
                sys.link(
                    &format!("devices/pci0000:00/{pci}/driver"),
                    &format!("bus/pci/drivers/{}", text(said, "/configuration/driver")),
                );
            }
            let nics = physical_nics(sys.path());
            assert_eq!(nics.len(), interfaces.len(), "{server}");
            for (said, pci) in &interfaces {
                let nic = nics.iter().find(|nic| nic.name == text(said, "/logicalname")).unwrap().clone();
                assert_eq!(may_have_neighbour(sys.path(), &nic), text(said, "/configuration/link") == "yes");
                let ours = describe(sys.path(), nic, &Boot::default(), &BTreeMap::new(), None);
                assert_eq!((&ours.mac, &ours.pci_address), (&text(said, "/serial"), pci), "{server}");
                assert_eq!(ours.driver, text(said, "/configuration/driver"), "{server}");
                assert_eq!(u64::from(ours.speed_mbps) * 1_000_000, said["size"].as_u64().unwrap_or(0), "{server}");
                assert_eq!(ours.carrier, Some(text(said, "/configuration/link") == "yes"), "{server}");
                compared += 1;
            }
        }
        assert!(compared >= 6, "only {compared} NICs were compared");
    }

    fn networks<'a>(said: &'a Value, found: &mut Vec<&'a Value>) {
        if said["class"] == "network" {
            found.push(said);
        }
        let children = said["children"].as_array().or_else(|| said.as_array());
        children.into_iter().flatten().for_each(|child| networks(child, found));
    }
}
