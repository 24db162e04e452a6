//! Memory modules.

use redfish_client::Resource;

use super::super::survey::Survey;
use super::super::value::{count, first, health, is_absent, natural, number, tell_apart};
use super::id;
use crate::MemoryModule;

pub(super) async fn read(survey: &Survey<'_>, system: &Resource) -> Vec<MemoryModule> {
    let mut ids = Vec::new();
    let mut modules = Vec::new();
    for resource in survey.members(system, "Memory").await {
        if let Some(module) = decode(&resource) {
            modules.push(module);
            ids.push(id(&resource));
        }
    }
    tell_apart(&mut modules, &ids, |module| &mut module.name);
    modules.sort_by_key(|module| natural(&module.name));
    modules
}

/// All memory in MiB. The one number of the system is rounded, and zero while the server is off; modules may be missing
/// from their list: the larger one is right.
pub(super) fn total(system: &Resource, modules: &[MemoryModule]) -> Option<u64> {
    let sum = modules.iter().fold(0_u64, |sum, module| sum.saturating_add(module.capacity_mib));
    let gib = number(system, "MemorySummary/TotalSystemMemoryGiB").filter(|gib| (0.0..1e9).contains(gib));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the bounds are checked")]
    let told = gib.map_or(0, |gib| (gib * 1024.0) as u64);
    Some(sum.max(told)).filter(|&mib| mib > 0)
}

/// The module; none for an empty place.
pub(super) fn decode(resource: &Resource) -> Option<MemoryModule> {
    if is_absent(resource) {
        return None;
    }
    // The volatile part is zero on plain modules of some makers (Supermicro); iLO 4 has a name of its own.
    let capacity = ["CapacityMiB", "VolatileSizeMiB", "SizeMB"].iter().find_map(|name| count(resource, name))?;
    let place = ["DeviceLocator", "Location/PartLocation/ServiceLabel", "SocketLocator", "Name"];
    Some(MemoryModule {
        name: first(resource, &place).unwrap_or_else(|| id(resource)),
        capacity_mib: capacity,
        kind: first(resource, &["MemoryDeviceType", "DIMMType"]).filter(|kind| kind != "Other"),
        speed_mhz: count(resource, "OperatingSpeedMhz"),
        vendor: first(resource, &["Manufacturer"]),
        part: first(resource, &["PartNumber"]),
        serial: first(resource, &["SerialNumber"]),
        health: health(resource),
    })
}

#[cfg(test)]
mod tests {
    use redfish_client::Reference;
    use serde_json::{Value, json};

    use super::*;

    fn resource(body: Value) -> Resource {
        Resource::new(Reference::root().child("Systems").child("1"), None, body)
    }

    #[test]
    fn q106_a_module_without_volatile_size_has_its_capacity() {
        let body = json!({"DeviceLocator": "P1-DIMMA1", "CapacityMiB": 65536, "VolatileSizeMiB": 0});
        assert_eq!(decode(&resource(body)).unwrap().capacity_mib, 65536);
        assert_eq!(decode(&resource(json!({"CapacityMiB": 0, "Status": {"State": "Enabled"}}))), None);
        assert_eq!(decode(&resource(json!({"CapacityMiB": 1024, "Status": {"State": "Absent"}}))), None);
    }

    #[test]
    fn q105_a_total_of_nothing_is_not_told() {
        let module = MemoryModule { capacity_mib: 16384, ..MemoryModule::default() };
        let total = |gib: Value, modules: &[MemoryModule]| {
            total(&resource(json!({"MemorySummary": {"TotalSystemMemoryGiB": gib}})), modules)
        };
        assert_eq!(total(json!(0), &[]), None);
        assert_eq!(total(json!(0.0), &[module.clone(), module.clone()]), Some(32768));
        assert_eq!(total(json!(95.5), &[module]), Some(97792));
        assert_eq!(total(Value::Null, &[]), None);
        assert_eq!(total(json!(1e300), &[]), None);
    }
}
