//! Who the BMC and its server say they are.

use redfish_client::Resource;

use super::RedfishBmc;
use crate::{BmcError, Identity};

const ACT: &str = "reading its identity";

impl RedfishBmc {
    pub(super) async fn read_identity(&self) -> Result<Identity, BmcError> {
        let explain = |error| self.explain(ACT, error);
        // The system needs the login; the root would be shown to anyone.
        let system = self.system(ACT).await?;
        let root = self.client.root().await.map_err(explain)?;
        let manager = match manager_of(&system) {
            Some(manager) => self.client.find(&manager).await.map_err(explain)?,
            // Some systems do not name their manager; a BMC has just the one.
            None => match root.link("Managers") {
                Some(managers) => {
                    let mut all = self.client.members(managers.as_str()).await.map_err(explain)?;
                    if all.len() == 1 { all.pop() } else { None }
                }
                None => None,
            },
        };
        Ok(identity(&root, &system, manager.as_ref()))
    }
}

fn manager_of(system: &Resource) -> Option<redfish_client::Reference> {
    system.links("Links/ManagedBy").into_iter().next()
}

fn identity(root: &Resource, system: &Resource, manager: Option<&Resource>) -> Identity {
    let own = |text: Option<&str>| text.map(str::to_owned);
    // The root names the maker of the BMC's firmware, which for AMI's customers is not the maker of the server.
    let vendor = system.text("Manufacturer").filter(|vendor| !is_placeholder(vendor));
    let serial = system.text("SerialNumber").filter(|serial| !is_placeholder(serial));
    // Dell: the service tag is what people look for.
    let tag = system.text("SKU").filter(|_| vendor.is_some_and(|vendor| vendor.starts_with("Dell")));
    Identity {
        vendor: own(vendor.or_else(|| root.text("Vendor")).or_else(|| oem(root))),
        model: own(system.text("Model").or_else(|| system.text("Name"))),
        firmware: own(manager.and_then(|manager| manager.text("FirmwareVersion"))),
        serial: own(tag.or(serial)),
        uuid: own(system.text("UUID")).map(|uuid| uuid.to_ascii_lowercase()),
        ..Identity::default()
    }
}

/// The name under which the root keeps its maker's own things.
fn oem(root: &Resource) -> Option<&str> {
    root.value("Oem")?.as_object()?.keys().next().map(String::as_str)
}

fn is_placeholder(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["to be filled", "default string", "not specified", "unknown", "n/a", "none", "0123456789"]
        .iter()
        .any(|placeholder| text.starts_with(placeholder))
}

#[cfg(test)]
mod tests {
    use redfish_client::Reference;
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
                json!({"Oem": {"Supermicro": {}}}),
                json!({"Manufacturer": "To be filled by O.E.M.", "Model": "", "Name": "System", "SerialNumber": "0123456789"}),
                "Supermicro · System · firmware 1.0",
            ),
            (json!({}), json!({}), "unknown manufacturer · firmware 1.0"),
        ];
        let manager = resource(json!({"FirmwareVersion": "1.0"}));
        for (root, system, wanted) in cases {
            let shown = identity(&resource(root), &resource(system), Some(&manager)).to_string();
            assert_eq!(shown, wanted);
        }
    }
}
