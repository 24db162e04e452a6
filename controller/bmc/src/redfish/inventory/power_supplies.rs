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
        let mut supplies = survey.members(&subsystem, "PowerSupplies").await;
        let named = survey.follow(&subsystem, "PowerSupplies").await;
        let named = named.as_ref().and_then(|list| list.value("Members")?.as_array()).map_or(0, Vec::len);
        if !supplies.is_empty() {
            // Named and not there (Lenovo): the older list may have them.
            if supplies.len() < named {
                let older = older(survey, chassis).await;
                supplies.extend(missing(&supplies, older));
            }
            return supplies;
        }
    }
    older(survey, chassis).await
}

async fn older(survey: &Survey<'_>, chassis: &Resource) -> Vec<Resource> {
    let power = survey.follow(chassis, "Power").await;
    power.map(|power| parts(&power, "PowerSupplies")).unwrap_or_default()
}

/// Those of `older` that `known` lacks. Only serial numbers tell; names differ between the two.
fn missing(known: &[Resource], older: Vec<Resource>) -> Vec<Resource> {
    let is_known = |serial: &str| known.iter().any(|known| text(known, "SerialNumber").as_deref() == Some(serial));
    older.into_iter().filter(|other| text(other, "SerialNumber").is_some_and(|serial| !is_known(&serial))).collect()
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

#[cfg(test)]
mod tests {
    use redfish_client::Reference;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_the_newer_list_lacks_is_known_by_its_serial_number() {
        let supply = |name: &str, serial: Value| {
            let body = json!({"Name": name, "SerialNumber": serial});
            Resource::new(Reference::root().child(name), None, body)
        };
        let known = [supply("Power Supply 1", json!("A"))];
        let older = vec![supply("PSU1", json!("A")), supply("PSU2", json!("B")), supply("PSU3", Value::Null)];
        let missing: Vec<String> = missing(&known, older).iter().filter_map(|one| text(one, "Name")).collect();
        assert_eq!(missing, ["PSU2"]);
    }
}
