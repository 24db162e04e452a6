//! What the machine is, from what the kernel shows of it, in the shape of Metal3's `HardwareDetails`.

use std::path::Path;

use bessemer_protocol::{Firmware, HardwareDetails, Nic, SystemVendor};

use crate::{files, identity};

mod cpu;
pub(super) mod disks;
#[cfg(test)]
pub(in crate::ramdisk) mod fixture;

/// The inventory. `boot_mac` and `boot_address` are of the NIC that this boot came through.
pub(super) fn inspect(boot_mac: &str, boot_address: &str) -> HardwareDetails {
    let sys = Path::new("/sys");
    let proc = Path::new("/proc");
    HardwareDetails {
        system_vendor: system_vendor(sys),
        firmware: firmware(sys),
        ram_mebibytes: ram_mebibytes(&files::line(proc.join("meminfo")).unwrap_or_default()),
        cpu: cpu::read(sys, proc),
        nics: nics(sys, boot_mac, boot_address),
        storage: storage(disks::list(sys)),
        hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        ..HardwareDetails::default()
    }
}

fn dmi(sys: &Path, field: &str) -> String {
    files::line(sys.join("class/dmi/id").join(field)).unwrap_or_default()
}

fn system_vendor(sys: &Path) -> SystemVendor {
    SystemVendor {
        manufacturer: dmi(sys, "sys_vendor"),
        product_name: dmi(sys, "product_name"),
        serial_number: dmi(sys, "product_serial"),
        ..SystemVendor::default()
    }
}

fn firmware(sys: &Path) -> Firmware {
    Firmware {
        vendor: dmi(sys, "bios_vendor"),
        version: dmi(sys, "bios_version"),
        date: dmi(sys, "bios_date"),
        boot_mode: if sys.join("firmware/efi").exists() { "UEFI" } else { "legacy" }.to_owned(),
        ..Firmware::default()
    }
}

/// What the kernel can use, a little less than what is plugged in.
fn ram_mebibytes(meminfo: &str) -> u64 {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes: Option<u64> = total.and_then(|total| total.split_whitespace().next()?.parse().ok());
    kibibytes.unwrap_or(0) / 1024
}

/// Disks that could hold an operating system, whatever is on them now.
fn storage(found: Vec<disks::FoundDisk>) -> Vec<bessemer_protocol::Disk> {
    let could = |disk: &disks::FoundDisk| {
        disk.objection
            .as_ref()
            .is_none_or(|objection| objection.is_of_use() || *objection == disks::Objection::ReadOnly)
    };
    found.into_iter().filter(could).map(|disk| disk.inventory).collect()
}

fn nics(sys: &Path, boot_mac: &str, boot_address: &str) -> Vec<Nic> {
    let describe = |nic: identity::PhysicalNic| {
        let folder = sys.join("class/net").join(&nic.name);
        let part = |name: &str| files::line(folder.join("device").join(name));
        let pxe = nic.mac == boot_mac;
        let megabits: Option<u32> = files::number(folder.join("speed"));
        Nic {
            model: part("vendor")
                .zip(part("device"))
                .map(|(vendor, device)| format!("{vendor}:{device}"))
                .unwrap_or_default(),
            ip: if pxe { boot_address.to_owned() } else { String::new() },
            speed_gbps: megabits.unwrap_or(0) / 1000,
            name: nic.name,
            mac: nic.mac,
            pxe,
            ..Nic::default()
        }
    };
    identity::physical_nics(sys).into_iter().map(describe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_the_total_that_the_kernel_has() {
        assert_eq!(ram_mebibytes("MemTotal:        2030544 kB\nMemFree: 1 kB\n"), 1982);
        assert_eq!(ram_mebibytes("nonsense"), 0);
    }

    #[test]
    fn this_machine_can_be_inspected() {
        let hardware = inspect("", "");
        assert!(hardware.ram_mebibytes > 0);
        assert!(hardware.cpu.count > 0);
    }
}
