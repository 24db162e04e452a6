//! `bmc info`.

use bessemer_bmc::{Bmc, BootFirmware, Capabilities, Identity, Inventory};
use serde::Serialize;

use super::exit::Failure;
use super::options::InfoOptions;
use super::output::{Format, show as output};
use super::table::{Table, facts};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    #[serde(flatten)]
    identity: Identity,
    #[serde(skip_serializing_if = "Option::is_none")]
    capabilities: Option<Capabilities>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inventory: Option<Inventory>,
}

pub(super) async fn show(bmc: &dyn Bmc, options: &InfoOptions, format: Format) -> Result<(), Failure> {
    let identity = bmc.identify().await?;
    let capabilities = if options.capabilities { Some(bmc.capabilities().await?) } else { None };
    let inventory = if options.inventory { Some(bmc.inventory().await?) } else { None };
    output(format, &Info { identity, capabilities, inventory }, |info| {
        let mut parts = vec![identity_facts(&info.identity)];
        parts.extend(info.capabilities.as_ref().map(capability_rows));
        parts.extend(info.inventory.as_ref().map(inventory_rows));
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    })
}

fn identity_facts(identity: &Identity) -> String {
    let id = identity.clone();
    let firmware = id.boot_mode.map(|mode| match mode {
        BootFirmware::Uefi => "uefi".to_owned(),
        BootFirmware::Legacy => "legacy".to_owned(),
    });
    let macs: Vec<String> = id.macs.iter().map(ToString::to_string).collect();
    facts(&[
        ("vendor", id.vendor),
        ("model", id.model),
        ("serial", id.serial),
        ("uuid", id.uuid),
        ("system", id.system_id),
        ("power", id.power.map(|power| power.to_string())),
        ("bmc firmware", id.firmware),
        ("bios", id.bios_version),
        ("boot mode", firmware),
        ("secure boot", id.secure_boot.map(|on| if on { "on" } else { "off" }.to_owned())),
        ("macs", Some(macs.join(" ")).filter(|macs| !macs.is_empty())),
    ])
}

fn capability_rows(capabilities: &Capabilities) -> String {
    let mut table = Table::new(["CAPABILITY", "SUPPORTED"]);
    for (capability, support) in &capabilities.0 {
        table.row([Some(word(capability)), Some(support.to_string())]);
    }
    table.render()
}

/// Its name as programs get it.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn inventory_rows(inventory: &Inventory) -> String {
    let mut table = Table::new(["PART", "NAME", "WHAT", "SERIAL", "HEALTH"]);
    let mut row = |part: &str,
                   name: &str,
                   what: Vec<Option<String>>,
                   serial: Option<&String>,
                   health: Option<bessemer_bmc::Health>| {
        let what: Vec<String> = what.into_iter().flatten().collect();
        table.row([
            Some(part.to_owned()),
            Some(name.to_owned()),
            Some(what.join(" ")),
            serial.cloned(),
            health.map(|health| health.to_string()),
        ]);
    };
    for (part, processors) in [("cpu", &inventory.processors), ("accelerator", &inventory.accelerators)] {
        for cpu in processors {
            let cores = cpu.cores.map(|cores| format!("{cores} cores"));
            row(part, &cpu.name, vec![cpu.model.clone().or_else(|| cpu.vendor.clone()), cores], None, cpu.health);
        }
    }
    if let (Some(memory), true) = (inventory.memory_mib, inventory.memory.is_empty()) {
        row("memory", "", vec![Some(gib(memory))], None, None);
    }
    for module in &inventory.memory {
        let what = vec![Some(gib(module.capacity_mib)), module.kind.clone(), module.part.clone()];
        row("memory", &module.name, what, module.serial.as_ref(), module.health);
    }
    for nic in &inventory.nics {
        let speed = nic.speed_mbps.map(|speed| format!("{speed} Mbit/s"));
        let what = vec![nic.mac.map(|mac| mac.to_string()), speed, nic.adapter.clone()];
        row("nic", &nic.name, what, None, nic.health);
    }
    for drive in &inventory.drives {
        let size = drive.bytes.map(|bytes| format!("{} GB", bytes / 1_000_000_000));
        let what = vec![size, drive.protocol.clone(), drive.kind.clone(), drive.model.clone()];
        row("drive", &drive.name, what, drive.serial.as_ref(), drive.health);
    }
    for supply in &inventory.power_supplies {
        let watts = supply.capacity_watts.map(|watts| format!("{watts} W"));
        row("power supply", &supply.name, vec![watts, supply.model.clone()], supply.serial.as_ref(), supply.health);
    }
    for firmware in &inventory.firmware {
        row("firmware", &firmware.name, vec![firmware.version.clone()], None, None);
    }
    let gaps: String = inventory.gaps.iter().map(|gap| format!("not read: {}\n", super::table::plain(gap))).collect();
    table.render() + &gaps
}

fn gib(mib: u64) -> String {
    if mib.is_multiple_of(1024) { format!("{} GiB", mib / 1024) } else { format!("{mib} MiB") }
}
