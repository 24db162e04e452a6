//! Who the BMC and its server say they are.

use std::time::Duration;

use redfish_client::{Reference, Resource};

use super::RedfishBmc;
use super::inventory::{chassis_of, nics};
use super::power::power_of;
use super::quirks::{boot_mode_settings, is_known_by_sku, makes_only_firmware};
use super::survey::Survey;
use super::value::text;
use crate::{BmcError, BootFirmware, Identity};

const ACT: &str = "reading its identity";

/// How long all of it may take: about twenty resources, each up to a few seconds on a slow BMC.
const WITHIN: Duration = Duration::from_secs(60);

impl RedfishBmc {
    pub(super) async fn read_identity(&self) -> Result<Identity, BmcError> {
        // The system needs the login; the root would be shown to anyone.
        let system = self.system(ACT).await?;
        let survey = Survey::within(self, WITHIN);
        let root = survey.find(&Reference::root()).await;
        let manager = self.manager(&survey, &system).await;
        let mut found = identity(root.as_ref(), &system, manager.as_ref());
        if found.vendor.is_none() || found.serial.is_none() || found.model.is_none() {
            let chassis = chassis_of(&survey, &system).await;
            let told = |path: &str| chassis.first().and_then(|chassis| text(chassis, path));
            found.vendor = found.vendor.or_else(|| told("Manufacturer"));
            found.serial = found.serial.or_else(|| told("SerialNumber"));
            found.model = found.model.or_else(|| told("Model"));
        }
        found.vendor = found.vendor.or_else(|| root.as_ref().and_then(service_vendor));
        if found.firmware.is_none() {
            found.firmware = self.listed_firmware(&survey, root.as_ref()).await;
        }
        // The override's mode is that of the override, where nothing better is known of the server.
        if let Some(set) = survey.follow(&system, "Bios").await.as_ref().and_then(set_mode) {
            found.boot_mode = set;
        }
        let secure_boot = survey.follow(&system, "SecureBoot").await;
        found.secure_boot = secure_boot
            .as_ref()
            .and_then(|secure_boot| secure_boot.text("SecureBootCurrentBoot").map(|current| current == "Enabled"));
        found.macs = Box::pin(nics::macs(&survey, &system)).await;
        for gap in survey.finish(ACT)? {
            tracing::debug!(bmc = %self.address, gap, "identity is incomplete");
        }
        Ok(found)
    }

    /// The manager of `system`: the one it names; where it names none, the only one there is, or the one that is a BMC.
    pub(super) async fn manager(&self, survey: &Survey<'_>, system: &Resource) -> Option<Resource> {
        if let Some(named) = survey.all(system.links("Links/ManagedBy")).await.into_iter().next() {
            return Some(named);
        }
        let root = survey.find(&Reference::root()).await?;
        let mut all = survey.members(&root, "Managers").await;
        if all.len() > 1 {
            let is_bmc = |manager: &Resource| {
                manager.text("ManagerType") == Some("BMC") || manager.uri().id().eq_ignore_ascii_case("bmc")
            };
            all.retain(is_bmc);
        }
        if all.len() == 1 { all.pop() } else { None }
    }

    /// The BMC's version where only the list of all firmware tells it.
    async fn listed_firmware(&self, survey: &Survey<'_>, root: Option<&Resource>) -> Option<String> {
        let service = survey.follow(root?, "UpdateService").await?;
        let list = survey.follow(&service, "FirmwareInventory").await?;
        let own = list.links("Members").into_iter().find(|at| at.id().eq_ignore_ascii_case("bmc"))?;
        text(&survey.find(&own).await?, "Version")
    }
}

fn identity(root: Option<&Resource>, system: &Resource, manager: Option<&Resource>) -> Identity {
    // The root names the maker of the BMC's firmware, which for AMI's customers is not the maker of the server.
    let vendor = text(system, "Manufacturer").filter(|vendor| !vendor.contains("://"));
    let vendor =
        vendor.or_else(|| root.and_then(|root| text(root, "Vendor")).filter(|vendor| !makes_only_firmware(vendor)));
    let serial = text(system, "SerialNumber").filter(|serial| !serial.starts_with("0123456789"));
    let tag = text(system, "SKU").filter(|_| vendor.as_deref().is_some_and(is_known_by_sku));
    Identity {
        vendor,
        model: text(system, "Model"),
        firmware: manager.and_then(|manager| text(manager, "FirmwareVersion")),
        bios_version: text(system, "BiosVersion"),
        system_id: Some(system.uri().to_string()),
        serial: tag.or(serial),
        uuid: text(system, "UUID").map(|uuid| uuid.to_ascii_lowercase()),
        power: power_of(system),
        boot_mode: system.text("Boot/BootSourceOverrideMode").and_then(mode),
        ..Identity::default()
    }
}

/// The maker as the service itself tells, or the name under which it keeps its maker's own things.
fn service_vendor(root: &Resource) -> Option<String> {
    text(root, "Vendor").or_else(|| {
        root.value("Oem")?.as_object()?.iter().find(|(_, own)| !own.is_null()).map(|(name, _)| name.clone())
    })
}

/// How the server boots, as firmware's settings (`Bios`) say: none where they do not say, and none within where they say
/// it in words of their own.
fn set_mode(bios: &Resource) -> Option<Option<BootFirmware>> {
    let set = boot_mode_settings().iter().find_map(|name| bios.value("Attributes")?.get(*name))?;
    Some(set.as_str().and_then(mode))
}

fn mode(word: &str) -> Option<BootFirmware> {
    let word = word.to_ascii_lowercase();
    match word.as_str() {
        word if word.contains("uefi") => Some(BootFirmware::Uefi),
        word if word.contains("legacy") || word.contains("bios") => Some(BootFirmware::Legacy),
        _ => None,
    }
}

/// Every decoder on one body, for tests that feed them anything.
#[cfg(test)]
pub(super) fn decode_everything(resource: &Resource) -> String {
    format!("{:?} {:?}", identity(Some(resource), resource, Some(resource)), service_vendor(resource))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn resource(body: Value) -> Resource {
        Resource::new(Reference::root(), None, body)
    }

    #[test]
    fn identities() {
        let cases = [
            (
                json!({"Vendor": "Dell"}),
                json!({"Manufacturer": "Dell Inc.", "Model": "PowerEdge R750", "SKU": "ABC1234", "SerialNumber": "CN7"}),
                "Dell Inc. · PowerEdge R750 · firmware 1.0 · serial ABC1234",
            ),
            (
                json!({"Vendor": "Supermicro"}),
                json!({"Manufacturer": "To be filled by O.E.M.", "Model": "", "Name": "System", "SerialNumber": "0123456789"}),
                "Supermicro · firmware 1.0",
            ),
            (json!({}), json!({}), "unknown manufacturer · firmware 1.0"),
        ];
        let manager = resource(json!({"FirmwareVersion": "1.0"}));
        for (root, system, wanted) in cases {
            let shown = identity(Some(&resource(root)), &resource(system), Some(&manager)).to_string();
            assert_eq!(shown, wanted);
        }
    }

    #[test]
    fn q116_the_maker_of_the_server_not_of_its_firmware() {
        let vendor = |root: Value, system: Value| {
            let root = resource(root);
            let found = identity(Some(&root), &resource(system), None);
            found.vendor.or_else(|| service_vendor(&root))
        };
        let cases = [
            (json!({"Vendor": "AMI"}), json!({"Manufacturer": "NVIDIA"}), "NVIDIA"),
            (json!({"Vendor": "AMI", "Oem": {"Ami": {}}}), json!({}), "AMI"),
            (json!({"Oem": {"Supermicro": {}}}), json!({"Manufacturer": ""}), "Supermicro"),
            (json!({"Vendor": "Nvidia"}), json!({"Manufacturer": "https://www.mellanox.com"}), "Nvidia"),
        ];
        for (root, system, wanted) in cases {
            assert_eq!(vendor(root, system).as_deref(), Some(wanted));
        }
    }

    #[test]
    fn how_a_server_boots_is_what_its_firmware_is_set_to() {
        for (attributes, wanted) in [
            (json!({"BootMode": "Bios"}), Some(Some(BootFirmware::Legacy))),
            (json!({"BootModes_SystemBootMode": "UEFIMode"}), Some(Some(BootFirmware::Uefi))),
            // Intel's number is no word, and the override's mode is not what it means.
            (json!({"BootMode": 1}), Some(None)),
            (json!({"OneTimeBootMode": "Uefi"}), None),
        ] {
            assert_eq!(set_mode(&resource(json!({ "Attributes": attributes }))), wanted);
        }
        assert_eq!(set_mode(&resource(json!({}))), None);
    }

    #[test]
    fn boot_modes() {
        for (word, wanted) in
            [("UEFI", Some(BootFirmware::Uefi)), ("LegacyBios", Some(BootFirmware::Legacy)), ("Dual", None)]
        {
            assert_eq!(mode(word), wanted);
        }
    }
}
