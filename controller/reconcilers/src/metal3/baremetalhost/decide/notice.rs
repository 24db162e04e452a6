//! Facts that come by themselves: what the agent says of itself, what the power was read as.

use bessemer_api::bessemer::AgentRecord;
use bessemer_api::metal3::{Bios, Cpu, DiskType, Firmware, HardwareDetails, Lldp, Nic, Storage, SystemVendor, Vlan};
use bessemer_protocol::{NodePhase, Role};

use super::super::observed::PowerView;
use super::{Rules, clock};
use crate::kubernetes::time;

impl Rules<'_> {
    /// Records the agent when it comes, goes or, as a node, gets further.
    pub(super) fn notice_agent(&mut self) {
        let view = &self.seen.agent;
        let before = self.decision.record.agent.clone().unwrap_or_default();
        let Some(role) = view.role else { return };
        let after = AgentRecord {
            version: view.agent_version.clone().unwrap_or_else(|| before.version.clone()),
            role: role_word(role).to_owned(),
            connected: view.connected,
            last_seen: before.last_seen.clone(),
            boot_id: view.boot_id.map(|boot| boot.to_string()),
            node_phase: view.node.as_ref().map(|node| node_phase(&node.phase)).or_else(|| before.node_phase.clone()),
        };
        if after == before {
            return;
        }
        if after.connected && !before.connected {
            self.tell("agent", format!("{} agent {} connected", after.role, after.version));
        } else if !after.connected && before.connected {
            let since = view.lost_since.unwrap_or(self.now);
            self.tell("agent", format!("{} agent gone since {}", after.role, clock(since)));
        }
        if after.node_phase != before.node_phase
            && let Some(phase) = &after.node_phase
        {
            self.tell("node", phase.clone());
        }
        let seen = if view.connected { self.now } else { view.lost_since.unwrap_or(self.now) };
        self.decision.record.agent = Some(AgentRecord { last_seen: Some(time(seen)), ..after });
    }

    pub(super) fn notice_power(&mut self) {
        if let PowerView::Known { on, .. } = self.seen.power {
            self.status().powered_on = on;
        }
    }
}

fn role_word(role: Role) -> &'static str {
    match role {
        Role::Ramdisk => "ramdisk",
        Role::Node => "node",
    }
}

/// How far a node agent is, in a few words.
pub(crate) fn node_phase(phase: &NodePhase) -> String {
    match phase {
        NodePhase::Waiting => "waits for bootstrap data".to_owned(),
        NodePhase::Applying { step } => format!("applies {step}"),
        NodePhase::Kubeadm { command, kubeadm_phase } if kubeadm_phase.is_empty() => format!("kubeadm {command}"),
        NodePhase::Kubeadm { command, kubeadm_phase } => format!("kubeadm {command}, phase {kubeadm_phase}"),
        NodePhase::Done => "bootstrapped".to_owned(),
        NodePhase::Failed { step, cause, .. } => format!("failed in {step}: {cause}"),
    }
}

/// One line about a machine.
pub(super) fn summary(hardware: &HardwareDetails) -> String {
    let vendor = hardware.system_vendor.clone().unwrap_or_default();
    let text = |text: Option<String>| text.unwrap_or_default();
    let disks = hardware.storage.iter().filter_map(|disk| disk.name.as_deref()).collect::<Vec<_>>().join(" ");
    format!(
        "{} {}, serial {}, {} CPUs, {} MiB, {} NICs, disks: {disks}",
        text(vendor.manufacturer),
        text(vendor.product_name),
        text(vendor.serial_number),
        hardware.cpu.as_ref().and_then(|cpu| cpu.count).unwrap_or_default(),
        hardware.ram_mebibytes.unwrap_or_default(),
        hardware.nics.len()
    )
}

/// The agent's inventory in the words of a BareMetalHost.
pub(super) fn hardware(found: &bessemer_protocol::HardwareDetails) -> HardwareDetails {
    HardwareDetails {
        system_vendor: Some(SystemVendor {
            manufacturer: text(&found.system_vendor.manufacturer),
            product_name: text(&found.system_vendor.product_name),
            serial_number: text(&found.system_vendor.serial_number),
        }),
        firmware: Some(Firmware {
            bios: Some(Bios {
                date: text(&found.firmware.date),
                vendor: text(&found.firmware.vendor),
                version: text(&found.firmware.version),
            }),
        }),
        ram_mebibytes: count(found.ram_mebibytes),
        nics: found.nics.iter().flat_map(nics).collect(),
        storage: found.storage.iter().map(storage).collect(),
        cpu: Some(Cpu {
            arch: text(&found.cpu.arch),
            model: text(&found.cpu.model),
            clock_megahertz: Some(found.cpu.clock_megahertz),
            flags: found.cpu.flags.clone(),
            count: count(found.cpu.count),
        }),
        hostname: text(&found.hostname),
    }
}

/// One entry for each address of a NIC, as Metal3 has room for one address in each; one entry for a NIC without any.
fn nics(found: &bessemer_protocol::Nic) -> Vec<Nic> {
    let neighbour = found.lldp.as_ref();
    let nic = |ip: String| Nic {
        name: text(&found.name),
        model: text(&found.model),
        mac: text(&found.mac),
        ip: text(&ip),
        speed_gbps: count(found.speed_gbps),
        vlans: neighbour.map(|neighbour| neighbour.vlans.iter().map(vlan).collect()).unwrap_or_default(),
        vlan_id: neighbour.and_then(|neighbour| neighbour.native_vlan).map(i32::from),
        pxe: Some(found.pxe),
        lldp: neighbour.map(|neighbour| Lldp {
            switch_id: text(&neighbour.chassis_id),
            port_id: text(&neighbour.port_id),
            switch_system_name: text(&neighbour.system_name),
        }),
        pci_address: text(&found.pci_address),
    };
    if found.addresses.is_empty() {
        return vec![nic(found.ip.clone())];
    }
    found.addresses.iter().map(|address| nic(address.to_string())).collect()
}

fn vlan((id, name): &(u16, String)) -> Vlan {
    Vlan { id: Some(i32::from(*id)), name: text(name) }
}

/// By the name that stays from boot to boot where there is one; the kernel's own is then among the others.
fn storage(found: &bessemer_protocol::Disk) -> Storage {
    let lasting = found.alternate_names.iter().find(|name| name.starts_with("/dev/disk/by-path/"));
    let name = lasting.unwrap_or(&found.name);
    let all = std::iter::once(&found.name).chain(&found.alternate_names);
    Storage {
        name: text(name),
        alternate_names: all.filter(|other| *other != name).cloned().collect(),
        kind: DiskType::from_word(&found.kind),
        size_bytes: count(found.size_bytes),
        rotational: Some(found.rotational),
        vendor: text(&found.vendor),
        model: text(&found.model),
        serial_number: text(&found.serial_number),
        wwn: text(&found.wwn),
        wwn_vendor_extension: text(&found.wwn_vendor_extension),
        wwn_with_extension: text(&found.wwn_with_extension),
        hctl: text(&found.hctl),
    }
}

/// What the agent does not know it leaves empty.
fn text(found: &str) -> Option<String> {
    (!found.is_empty()).then(|| found.to_owned())
}

fn count(found: impl Into<u64>) -> Option<i64> {
    Some(i64::try_from(found.into()).unwrap_or(i64::MAX))
}
