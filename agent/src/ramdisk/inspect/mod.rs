//! What the machine is, from what the kernel and the firmware show of it, in the shape of Metal3's `HardwareDetails` and a little more.
//!
//! Each source is optional: one that cannot be read is named in the report and costs no other. All readers take paths or bytes, so that they
//! are tested from files. This room must not know who asks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::net::IpAddr;
use std::path::Path;

use bessemer_protocol::{Disk, Firmware, HardwareDetails, InBandBmc, LldpNeighbour, Nic, SystemVendor, Tpm, Unread};

use crate::files;
use crate::identity::{self, PhysicalNic};
use smbios::Smbios;

pub(super) mod addresses;
mod bmc;
mod cpu;
pub(super) mod disks;
#[cfg(test)]
pub(in crate::ramdisk) mod fixture;
pub(super) mod lldp;
mod nics;
mod pci;
mod smbios;

pub(super) use nics::Boot;

/// NICs and disks that are reported. A result must fit into one message to the controller.
const MOST_NICS: usize = 128;
const MOST_DISKS: usize = 512;

/// Where the sources are; elsewhere in tests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) sys: &'a Path,
    pub(super) proc: &'a Path,
    pub(super) dev: &'a Path,
}

impl Places<'static> {
    /// Of the running kernel.
    pub(super) fn real() -> Self {
        Self { sys: Path::new("/sys"), proc: Path::new("/proc"), dev: Path::new("/dev") }
    }
}

/// What only listening and asking the kernel tells.
#[derive(Debug, Clone, Default)]
pub(super) struct Network {
    /// By the kernel's index of the interface.
    pub(super) addresses: BTreeMap<u32, Vec<IpAddr>>,
    /// The same.
    pub(super) neighbours: BTreeMap<u32, LldpNeighbour>,
    /// Why there is no neighbour.
    pub(super) silent: BTreeMap<u32, String>,
}

/// Interfaces on which to wait for a neighbour to speak: none in a virtual machine, whose NICs are on the host's own bridge whatever their
/// kind, and which passes no LLDP on (IEEE 802.1Q, table 8-1).
pub(super) fn awaited(places: Places<'_>) -> BTreeSet<u32> {
    let sys = places.sys;
    if cpu::is_virtual(places.proc) {
        return BTreeSet::new();
    }
    let nics = identity::physical_nics(sys);
    nics.iter().filter(|nic| nics::may_have_neighbour(sys, nic)).map(|nic| nic.index).collect()
}

/// The inventory.
pub(super) fn inspect(places: Places<'_>, boot: &Boot, network: &Network) -> HardwareDetails {
    let sys = places.sys;
    let mut unread = Vec::new();
    let mut lacks = |source: &str, why: String| unread.push(Unread { source: source.to_owned(), why });
    let smbios = smbios::load(sys).unwrap_or_else(|why| {
        lacks("smbios", why);
        Smbios::default()
    });
    let memory = files::line(places.proc.join("meminfo")).unwrap_or_default();
    let plugged: u64 =
        smbios.dimms.iter().filter(|dimm| dimm.kind != "non-volatile").map(|dimm| dimm.size_mebibytes).sum();
    let mut nics: Vec<PhysicalNic> = identity::physical_nics(sys);
    if nics.len() > MOST_NICS {
        lacks("nics", format!("{} are not reported", nics.len() - MOST_NICS));
        nics.truncate(MOST_NICS);
    }
    let mut described: Vec<Nic> = Vec::new();
    for nic in nics {
        if let Some(why) = network.silent.get(&nic.index) {
            lacks(&format!("{}: lldp", nic.name), why.clone());
        }
        let neighbour = network.neighbours.get(&nic.index).cloned();
        described.push(nics::describe(sys, nic, boot, &network.addresses, neighbour));
    }
    let mut storage = storage(disks::list(sys));
    if storage.len() > MOST_DISKS {
        lacks("disks", format!("{} are not reported", storage.len() - MOST_DISKS));
        storage.truncate(MOST_DISKS);
    }
    for disk in storage.iter_mut().filter(|disk| disk.transport == "nvme") {
        let device = places.dev.join(disk.name.trim_start_matches("/dev/"));
        match File::open(&device).and_then(super::nvme::capabilities) {
            Ok(capabilities) => disk.nvme = Some(capabilities),
            Err(error) => lacks(&format!("{}: identify", disk.name), error.to_string()),
        }
    }
    let (bmc, silence) = in_band_bmc(places.dev, &smbios);
    silence.into_iter().for_each(|why| lacks("bmc", why));
    let pci = pci::devices(sys);
    if pci.len() == pci::MOST {
        lacks("pci", format!("only the first {} are reported", pci::MOST));
    }
    HardwareDetails {
        system_vendor: system_vendor(sys, &smbios),
        enclosure: smbios.enclosure.clone(),
        firmware: firmware(sys, &smbios),
        ram_mebibytes: if plugged > 0 { plugged } else { usable_mebibytes(&memory) },
        dimm_slots: smbios.dimm_slots,
        cpu: cpu::read(sys, places.proc, &smbios),
        nics: described,
        storage,
        pci,
        tpm: tpm(sys, &smbios),
        bmc,
        hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        dimms: smbios.dimms,
        unread,
    }
}

fn dmi(sys: &Path, field: &str) -> String {
    files::line(sys.join("class/dmi/id").join(field)).unwrap_or_default()
}

/// From the table, or from what the kernel read of it when only that is shown.
fn system_vendor(sys: &Path, smbios: &Smbios) -> SystemVendor {
    if smbios.system != SystemVendor::default() {
        return smbios.system.clone();
    }
    SystemVendor {
        manufacturer: dmi(sys, "sys_vendor"),
        product_name: dmi(sys, "product_name"),
        serial_number: dmi(sys, "product_serial"),
        uuid: dmi(sys, "product_uuid").to_lowercase(),
        ..SystemVendor::default()
    }
}

fn firmware(sys: &Path, smbios: &Smbios) -> Firmware {
    let or = |known: &str, field: &str| if known.is_empty() { dmi(sys, field) } else { known.to_owned() };
    let efi = sys.join("firmware/efi");
    // Four bytes of attributes, then the value (UEFI specification 2.10, section 3.3).
    let variable = fs::read(efi.join("efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c")).ok();
    Firmware {
        vendor: or(&smbios.bios.vendor, "bios_vendor"),
        version: or(&smbios.bios.version, "bios_version"),
        date: or(&smbios.bios.date, "bios_date"),
        boot_mode: if efi.exists() { "UEFI" } else { "legacy" }.to_owned(),
        secure_boot: variable.and_then(|bytes| bytes.get(4).map(|value| *value == 1)),
    }
}

fn tpm(sys: &Path, smbios: &Smbios) -> Option<Tpm> {
    let folder = sys.join("class/tpm/tpm0");
    if !folder.exists() {
        return smbios.tpm.clone();
    }
    let mut found = smbios.tpm.clone().unwrap_or_default();
    found.usable = true;
    if let Some(major) = files::line(folder.join("tpm_version_major")) {
        found.version = if major == "1" { "1.2" } else { "2.0" }.to_owned();
    }
    Some(found)
}

/// By IPMI; else what the firmware's table says, and why it is no more when there should be.
fn in_band_bmc(dev: &Path, smbios: &Smbios) -> (Option<InBandBmc>, Option<String>) {
    let device = dev.join("ipmi0");
    let told = smbios.host_interface.as_ref().map(|interface| InBandBmc {
        interface: if interface.ipmi.is_empty() { "redfish host interface" } else { interface.ipmi }.to_owned(),
        addresses: interface.redfish.into_iter().collect(),
        ipmi_version: interface.ipmi_version.clone(),
        ..InBandBmc::default()
    });
    let is_expected = told.as_ref().is_some_and(|told| told.interface != "redfish host interface");
    if !device.exists() && !is_expected {
        return (told, None);
    }
    match bmc::ask(&device) {
        Ok(mut found) => {
            let told = told.unwrap_or_default();
            found.interface = told.interface;
            found.addresses.extend(told.addresses);
            (Some(found), None)
        }
        Err(why) => (told, Some(why)),
    }
}

/// Disks that could hold an operating system, whatever is on them now.
fn storage(found: Vec<disks::FoundDisk>) -> Vec<Disk> {
    let could = |disk: &disks::FoundDisk| {
        disk.objection
            .as_ref()
            .is_none_or(|objection| objection.is_of_use() || *objection == disks::Objection::ReadOnly)
    };
    found.into_iter().filter(could).map(|disk| disk.inventory).collect()
}

/// What the kernel can use, a little less than what is plugged in.
fn usable_mebibytes(meminfo: &str) -> u64 {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes: Option<u64> = total.and_then(|total| total.split_whitespace().next()?.parse().ok());
    kibibytes.unwrap_or(0) / 1024
}

#[cfg(test)]
mod tests {
    use super::fixture::{Sys, data};
    use super::*;

    #[test]
    fn memory_is_the_total_that_the_kernel_has() {
        assert_eq!(usable_mebibytes("MemTotal:        2030544 kB\nMemFree: 1 kB\n"), 1982);
        assert_eq!(usable_mebibytes("nonsense"), 0);
    }

    #[test]
    fn this_machine_can_be_inspected() {
        let hardware = inspect(Places::real(), &Boot::default(), &Network::default());
        assert!(hardware.ram_mebibytes > 0);
        assert!(hardware.cpu.count > 0 && hardware.cpu.cores > 0);
        let length = serde_json::to_string(&hardware).unwrap().len();
        assert!(length < bessemer_protocol::MAX_LINE / 2, "{length} bytes");
    }

    /// Nothing can be read, and the report says so; nothing fails.
    #[test]
    fn a_machine_that_shows_nothing_is_reported_as_such() {
        let nothing = Sys::new();
        let places = Places { sys: nothing.path(), proc: nothing.path(), dev: nothing.path() };
        let hardware = inspect(places, &Boot::default(), &Network::default());
        assert_eq!((hardware.ram_mebibytes, hardware.nics.len(), hardware.tpm), (0, 0, None));
        assert_eq!(hardware.unread.iter().map(|unread| unread.source.as_str()).collect::<Vec<_>>(), ["smbios"]);
        assert_eq!(hardware.firmware.boot_mode, "legacy");
    }

    #[test]
    fn nobody_waits_for_a_switch_in_a_virtual_machine() {
        let sys = Sys::new();
        sys.file("class/net/eth0/type", "1\n").file("class/net/eth0/address", "52:54:00:00:00:01\n");
        sys.file("class/net/eth0/ifindex", "2\n")
            .file("class/net/eth0/carrier", "1\n")
            .file("class/net/eth0/device/x", "");
        let places = Places { sys: sys.path(), proc: sys.path(), dev: sys.path() };
        sys.file("cpuinfo", "processor : 0\nflags : fpu de\n");
        assert_eq!(awaited(places), BTreeSet::from([2]));
        sys.file("cpuinfo", "processor : 0\nflags : fpu de hypervisor\n");
        assert_eq!(awaited(places), BTreeSet::new());
    }

    #[test]
    fn a_server_is_told_from_its_tables() {
        let Some(table) = data("smbios/siderolabs-Dell-PowerEdge-R630-Dual-Xeon.dmi") else { return };
        let sys = Sys::new();
        sys.file("firmware/dmi/tables/DMI", table).file("firmware/dmi/tables/smbios_entry_point", b"_SM3_\0\x18\x03\0");
        sys.file("firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", [6, 0, 0, 0, 1]);
        sys.file("class/tpm/tpm0/tpm_version_major", "2\n");
        sys.file("class/net/eth0/type", "1\n")
            .file("class/net/eth0/address", "52:54:00:00:00:01\n")
            .file("class/net/eth0/ifindex", "2\n");
        sys.file("class/net/eth0/device/vendor", "0x14e4\n").file("class/net/eth0/device/device", "0x165f\n");
        let network = Network { silent: BTreeMap::from([(2, "nothing was heard".to_owned())]), ..Network::default() };
        let places = Places { sys: sys.path(), proc: sys.path(), dev: sys.path() };
        let hardware = inspect(places, &Boot::default(), &network);
        assert_eq!(hardware.system_vendor.manufacturer, "Dell Inc.");
        assert_eq!((hardware.cpu.sockets, hardware.firmware.secure_boot), (1, Some(true)));
        assert_eq!((hardware.firmware.boot_mode.as_str(), hardware.nics[0].model.as_str()), ("UEFI", "0x14e4:0x165f"));
        assert_eq!(hardware.tpm.map(|tpm| (tpm.version, tpm.usable)), Some(("2.0".into(), true)));
        assert_eq!(hardware.ram_mebibytes, hardware.dimms.iter().map(|dimm| dimm.size_mebibytes).sum::<u64>());
        // The table says that there is a controller, and there is no way to it here.
        let sources: Vec<&str> = hardware.unread.iter().map(|unread| unread.source.as_str()).collect();
        assert_eq!(sources, ["eth0: lldp", "bmc"]);
        assert_eq!(hardware.bmc.map(|bmc| bmc.interface), Some("KCS".into()));
    }
}
