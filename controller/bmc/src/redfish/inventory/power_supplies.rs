//! Power supplies, in today's `PowerSubsystem` or in the older `Power`; of a blade they hang on its enclosure.

use redfish_client::Resource;

use super::super::survey::Survey;
use super::super::value::{count, first, health, is_absent, natural, number, parts, tell_apart, text};
use super::id;
use crate::PowerSupply;

/// Shelves looked at above a chassis.
const LEVELS: usize = 3;

pub(super) async fn read(survey: &Survey<'_>, chassis: &[Resource]) -> Vec<PowerSupply> {
    let mut here: Vec<Resource> = chassis.to_vec();
    for _ in 0..LEVELS {
        let mut supplies = Vec::new();
        let mut ids = Vec::new();
        for chassis in &here {
            for resource in listed(survey, chassis).await {
                if let Some(supply) = decode(&resource) {
                    supplies.push(supply);
                    ids.push(id(&resource));
                }
            }
        }
        if !supplies.is_empty() {
            tell_apart(&mut supplies, &ids, |supply| &mut supply.name);
            supplies.sort_by_key(|supply| natural(&supply.name));
            return supplies;
        }
        let mut above = Vec::new();
        for chassis in &here {
            above.extend(survey.follow(chassis, "Links/ContainedBy").await);
        }
        here = above;
    }
    Vec::new()
}

async fn listed(survey: &Survey<'_>, chassis: &Resource) -> Vec<Resource> {
    if let Some(subsystem) = survey.follow(chassis, "PowerSubsystem").await {
        let supplies = survey.members(&subsystem, "PowerSupplies").await;
        if !supplies.is_empty() {
            return supplies;
        }
    }
    let power = survey.follow(chassis, "Power").await;
    power.map(|power| parts(&power, "PowerSupplies")).unwrap_or_default()
}

/// The power supply; none for an empty bay.
pub(super) fn decode(resource: &Resource) -> Option<PowerSupply> {
    if is_absent(resource) {
        return None;
    }
    let range = |path: &str| {
        let ranges = parts(resource, "InputRanges");
        ranges.iter().filter_map(|range| number(range, path)).reduce(f64::max)
    };
    let capacity = number(resource, "PowerCapacityWatts");
    // HPE calls all of them the same and numbers the bays apart.
    let bay = count(resource, "Oem/Hpe/BayNumber").map(|bay| format!("Bay {bay}"));
    Some(PowerSupply {
        name: bay.or_else(|| text(resource, "Name")).unwrap_or_else(|| id(resource)),
        capacity_watts: capacity
            .or_else(|| range("OutputWattage"))
            .or_else(|| range("CapacityWatts"))
            .filter(|&w| w > 0.0),
        vendor: text(resource, "Manufacturer"),
        model: text(resource, "Model"),
        serial: text(resource, "SerialNumber"),
        firmware: first(resource, &["FirmwareVersion"]),
        health: health(resource),
    })
}
