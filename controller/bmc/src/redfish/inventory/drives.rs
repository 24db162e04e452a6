//! Drives: those of `Storage`, of HPE's own tree beside it, and where there are none the poorer `SimpleStorage`.

use redfish_client::Resource;
use serde_json::Value;

use super::super::quirks::is_virtual_drive;
use super::super::survey::Survey;
use super::super::value::{count, first, health, is_absent, natural, parts, tell_apart, text};
use super::id;
use crate::Drive;

pub(super) async fn read(survey: &Survey<'_>, system: &Resource, chassis: &[Resource]) -> Vec<Drive> {
    let mut found = Found::default();
    for storage in survey.members(system, "Storage").await {
        let controller = controller(&storage);
        for resource in survey.all(storage.links("Drives")).await {
            found.add(decode(&resource), &resource, Some(&controller));
        }
    }
    smart_storage(survey, system, &mut found).await;
    if found.drives.is_empty() {
        for chassis in chassis {
            for resource in survey.all(chassis.links("Links/Drives")).await {
                found.add(decode(&resource), &resource, None);
            }
        }
    }
    if found.drives.is_empty() {
        for storage in survey.members(system, "SimpleStorage").await {
            let controller = controller(&storage);
            for device in parts(&storage, "Devices") {
                found.add(simple(&device), &device, Some(&controller));
            }
        }
    }
    tell_apart(&mut found.drives, &found.ids, |drive| &mut drive.name);
    found.drives.sort_by_key(|drive| natural(&drive.name));
    found.drives
}

/// HPE's own tree (iLO 4 and 5), which holds the drives of array controllers.
async fn smart_storage(survey: &Survey<'_>, system: &Resource, found: &mut Found) {
    for path in ["Oem/Hpe/Links/SmartStorage", "Oem/Hp/links/SmartStorage"] {
        let Some(storage) = survey.follow(system, path).await else { continue };
        for kind in ["Links/ArrayControllers", "Links/HostBusAdapters"] {
            for array in survey.members(&storage, kind).await {
                let controller = controller(&array);
                for resource in survey.members(&array, "Links/PhysicalDrives").await {
                    found.add(decode(&resource), &resource, Some(&controller));
                }
            }
        }
    }
}

#[derive(Default)]
struct Found {
    drives: Vec<Drive>,
    ids: Vec<String>,
}

impl Found {
    /// A drive is listed by several controllers (NVMe) and in two trees (HPE): the serial number tells.
    fn add(&mut self, drive: Option<Drive>, resource: &Resource, controller: Option<&str>) {
        let Some(mut drive) = drive else { return };
        let same = |other: &Drive| other.serial.is_some() && other.serial == drive.serial;
        if self.drives.iter().any(same) {
            return;
        }
        drive.controller = controller.map(str::to_owned);
        self.drives.push(drive);
        self.ids.push(id(resource));
    }
}

/// What people call a controller.
fn controller(storage: &Resource) -> String {
    let name = ["Name", "Model"].iter().find_map(|path| text(storage, path));
    let inner = parts(storage, "StorageControllers").first().and_then(|inner| first(inner, &["Model", "Name"]));
    let generic = |name: &String| {
        ["storage", "simplestorage", "hpesmartstoragearraycontroller"]
            .contains(&name.to_ascii_lowercase().replace(' ', "").as_str())
    };
    let model = text(storage, "Model");
    name.filter(|name| !generic(name)).or(model).or(inner).unwrap_or_else(|| id(storage))
}

/// The drive; none for an empty bay and for a body that tells nothing of one.
pub(super) fn decode(resource: &Resource) -> Option<Drive> {
    if is_absent(resource) {
        return None;
    }
    let bytes = count(resource, "CapacityBytes")
        .or_else(|| count(resource, "CapacityMiB").and_then(|mib| mib.checked_mul(1 << 20)));
    let identifier = resource.value("Identifiers").and_then(Value::as_array).and_then(|list| {
        list.iter().find_map(|entry| entry.get("DurableName")?.as_str().filter(|name| !name.trim().is_empty()))
    });
    let drive = Drive {
        name: first(resource, &["Location/PartLocation/ServiceLabel", "Name"])
            .filter(|name| !name.starts_with("HpeSmartStorage"))
            .or_else(|| text(resource, "Location").map(|bay| format!("bay {bay}")))
            .unwrap_or_else(|| id(resource)),
        bytes,
        kind: text(resource, "MediaType"),
        protocol: first(resource, &["Protocol", "InterfaceType"]),
        vendor: text(resource, "Manufacturer"),
        model: text(resource, "Model"),
        serial: text(resource, "SerialNumber"),
        wwn: identifier.map(|name| name.trim().to_owned()),
        controller: None,
        health: health(resource),
    };
    let tells = drive.bytes.is_some() || drive.model.is_some() || drive.serial.is_some();
    tells.then_some(drive)
}

/// A device of `SimpleStorage`, which tells neither serial number nor kind.
pub(super) fn simple(device: &Resource) -> Option<Drive> {
    if is_absent(device) {
        return None;
    }
    let drive = Drive {
        name: text(device, "Name").unwrap_or_else(|| id(device)),
        bytes: count(device, "CapacityBytes"),
        vendor: text(device, "Manufacturer"),
        model: text(device, "Model"),
        health: health(device),
        ..Drive::default()
    };
    let is_virtual = drive.model.as_deref().is_some_and(is_virtual_drive);
    (!is_virtual && (drive.bytes.is_some() || drive.model.is_some())).then_some(drive)
}
