//! Facts that come by themselves: what the agent says of itself, what the power was read as.

use bessemer_api::bessemer::AgentRecord;
use bessemer_api::metal3::{Bios, Cpu, Firmware, HardwareDetails, Nic, Storage, SystemVendor};
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
    let SystemVendor { manufacturer, product_name, serial_number } = &hardware.system_vendor;
    let disks = hardware.storage.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>().join(" ");
    format!(
        "{manufacturer} {product_name}, serial {serial_number}, {} CPUs, {} MiB, {} NICs, disks: {disks}",
        hardware.cpu.count,
        hardware.ram_mebibytes,
        hardware.nics.len()
    )
}

/// The agent's inventory in the words of a BareMetalHost.
pub(super) fn hardware(found: &bessemer_protocol::HardwareDetails) -> HardwareDetails {
    let count = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    HardwareDetails {
        system_vendor: SystemVendor {
            manufacturer: found.system_vendor.manufacturer.clone(),
            product_name: found.system_vendor.product_name.clone(),
            serial_number: found.system_vendor.serial_number.clone(),
        },
        firmware: Firmware {
            bios: Bios {
                date: found.firmware.date.clone(),
                vendor: found.firmware.vendor.clone(),
                version: found.firmware.version.clone(),
            },
        },
        ram_mebibytes: count(found.ram_mebibytes),
        nics: found.nics.iter().map(nic).collect(),
        storage: found.storage.iter().map(storage).collect(),
        cpu: Cpu {
            arch: found.cpu.arch.clone(),
            model: found.cpu.model.clone(),
            clock_megahertz: found.cpu.clock_megahertz,
            flags: found.cpu.flags.clone(),
            count: i32::try_from(found.cpu.count).unwrap_or(i32::MAX),
        },
        hostname: found.hostname.clone(),
        ..HardwareDetails::default()
    }
}

fn nic(found: &bessemer_protocol::Nic) -> Nic {
    Nic {
        name: found.name.clone(),
        model: found.model.clone(),
        mac: found.mac.clone(),
        ip: found.ip.clone(),
        speed_gbps: i32::try_from(found.speed_gbps).unwrap_or(i32::MAX),
        pxe: found.pxe,
        ..Nic::default()
    }
}

fn storage(found: &bessemer_protocol::Disk) -> Storage {
    Storage {
        name: found.name.clone(),
        alternate_names: found.alternate_names.clone(),
        kind: found.kind.clone(),
        size_bytes: i64::try_from(found.size_bytes).unwrap_or(i64::MAX),
        rotational: found.rotational,
        vendor: found.vendor.clone(),
        model: found.model.clone(),
        serial_number: found.serial_number.clone(),
        wwn: found.wwn.clone(),
        hctl: found.hctl.clone(),
        ..Storage::default()
    }
}
