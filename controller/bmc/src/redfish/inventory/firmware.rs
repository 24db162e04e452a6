//! Versions of everything that has firmware.

use redfish_client::{Reference, Resource};

use super::super::survey::Survey;
use super::super::value::{natural, text};
use super::id;
use crate::Firmware;

pub(super) async fn read(survey: &Survey<'_>) -> Vec<Firmware> {
    let Some(root) = survey.find(&Reference::root()).await else { return Vec::new() };
    let Some(service) = survey.follow(&root, "UpdateService").await else { return Vec::new() };
    let mut members = survey.members(&service, "FirmwareInventory").await;
    if members.is_empty() {
        // Where older firmware keeps it (Intel).
        members = survey.members(&service, "SoftwareInventory").await;
    }
    members.sort_by_key(|member| natural(member.uri().id()));
    members.iter().map(decode).collect()
}

/// Names that services give to every entry alike.
fn is_generic(name: &str) -> bool {
    matches!(name, "Software Inventory" | "Firmware Inventory")
}

/// The date of release is kept as it is written: `00:00:00Z` and other things that are no date occur (Dell).
pub(super) fn decode(resource: &Resource) -> Firmware {
    Firmware {
        id: resource.uri().to_string(),
        name: text(resource, "Name").filter(|name| !is_generic(name)).unwrap_or_else(|| id(resource)),
        version: resource.text("Version").map(str::to_owned),
        released: resource.text("ReleaseDate").map(str::to_owned),
        updateable: resource.value("Updateable").and_then(serde_json::Value::as_bool),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn q102_a_date_that_is_none_is_kept_as_text() {
        for date in ["00:00:00Z", "0000-00-00T00:00:00Z", "2021-05-01T00:00:00-0600"] {
            let body = json!({"Name": "BIOS", "Version": "1.8.2", "ReleaseDate": date});
            let firmware = decode(&Resource::new(Reference::root(), None, body));
            assert_eq!(firmware.released.as_deref(), Some(date));
        }
    }
}
