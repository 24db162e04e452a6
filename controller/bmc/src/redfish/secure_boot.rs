//! Secure boot over Redfish (`SecureBoot`): a wish for the next boot beside what held at the last one.

use redfish_client::Resource;
use serde_json::json;

use super::RedfishBmc;
use super::settle::ReadAgain;
use crate::{BmcError, ReadBack, SecureBoot};

const READ: &str = "reading the state of secure boot";
const WRITE: &str = "switching secure boot";

fn state(resource: &Resource) -> SecureBoot {
    SecureBoot {
        active: match resource.text("SecureBootCurrentBoot") {
            Some("Enabled") => Some(true),
            Some("Disabled") => Some(false),
            _ => None,
        },
        enabled: resource.value("SecureBootEnable").and_then(serde_json::Value::as_bool),
        mode: resource.text("SecureBootMode").map(str::to_owned),
    }
}

/// What held at the last boot, and what is wished for: where a place of its own (`settings`) takes wishes, that one says,
/// for the resource itself may show what held before.
fn standing(resource: &Resource, settings: Option<&Resource>) -> SecureBoot {
    let held = state(resource);
    let enabled = settings.map_or(held.enabled, |settings| state(settings).enabled);
    SecureBoot { enabled, ..held }
}

/// What a wish that reads back as it was written means for the server.
fn verdict(wanted: bool, now: &SecureBoot) -> ReadBack {
    let word = if wanted { "on" } else { "off" };
    if now.active == Some(wanted) {
        return ReadBack::Confirmed;
    }
    let keys = if wanted && now.mode.as_deref() == Some("SetupMode") {
        "; firmware has no platform key and checks nothing until keys are enrolled (SecureBoot.ResetKeys)"
    } else {
        ""
    };
    ReadBack::Pending(format!("secure boot is {word} from the next boot on{keys}"))
}

impl RedfishBmc {
    pub(super) async fn read_secure_boot(&self) -> Result<SecureBoot, BmcError> {
        let resource = self.secure_boot_resource(READ).await?;
        let settings = self.secure_boot_settings(READ, &resource).await?;
        Ok(standing(&resource, settings.as_ref()))
    }

    pub(super) async fn write_secure_boot(&self, wanted: bool) -> Result<ReadBack, BmcError> {
        let resource = self.secure_boot_resource(WRITE).await?;
        let settings = self.secure_boot_settings(WRITE, &resource).await?;
        let before = standing(&resource, settings.as_ref());
        let Some(enabled) = before.enabled else {
            return Err(self.unsupported(WRITE, format!("{} has no SecureBootEnable", resource.uri())));
        };
        if enabled == wanted {
            return Ok(verdict(wanted, &before));
        }
        let has_settings = settings.is_some();
        let place = settings.as_ref().unwrap_or(&resource);
        let reply = self.client.patch(place, &json!({"SecureBootEnable": wanted})).await;
        let reply = reply.map_err(|error| self.explain_write(WRITE, error))?;
        let staged = self.settle(WRITE, &reply).await?;
        let wrote = format!("secure boot {}", if wanted { "on" } else { "off" });
        let read = self.read_back(&wrote, || async {
            let read = self.client.read(place.uri()).await.map_err(|error| self.explain(WRITE, error))?;
            let now = if has_settings { standing(&resource, Some(&read)) } else { state(&read) };
            Ok(match now.enabled {
                Some(enabled) if enabled != wanted && staged.is_none() => {
                    ReadAgain::Unlike(format!("SecureBootEnable {enabled}"))
                }
                _ => ReadAgain::Like(now),
            })
        });
        let now = read.await?;
        Ok(match staged {
            // Dell: the wish itself reads back only once its job has run.
            Some(why) if now.enabled != Some(wanted) => ReadBack::Pending(why),
            _ => verdict(wanted, &now),
        })
    }

    async fn secure_boot_resource(&self, act: &str) -> Result<Resource, BmcError> {
        let system = self.system(act).await?;
        let Some(at) = system.link("SecureBoot") else {
            return Err(self.unsupported(act, format!("{} has no SecureBoot", system.uri())));
        };
        let found = self.client.find(&at).await.map_err(|error| self.explain(act, error))?;
        found.ok_or_else(|| self.unsupported(act, format!("{at} is named and not there")))
    }

    async fn secure_boot_settings(&self, act: &str, resource: &Resource) -> Result<Option<Resource>, BmcError> {
        let Some(at) = resource.settings() else { return Ok(None) };
        let settings = self.client.find(&at).await.map_err(|error| self.explain(act, error))?;
        Ok(settings.filter(|settings| settings.value("SecureBootEnable").is_some()))
    }
}

/// What this room makes of `resource`, taken for each resource that it reads.
#[cfg(test)]
pub(super) fn decode_everything(resource: &Resource) -> String {
    format!("{:?}", state(resource))
}

#[cfg(test)]
mod tests {
    use redfish_client::Reference;
    use serde_json::Value;

    use super::*;

    fn read(body: Value) -> SecureBoot {
        state(&Resource::new(Reference::root(), None, body))
    }

    #[test]
    fn states() {
        let all = read(json!({
            "SecureBootCurrentBoot": "Enabled", "SecureBootEnable": false, "SecureBootMode": "UserMode",
        }));
        assert_eq!(all, SecureBoot { active: Some(true), enabled: Some(false), mode: Some("UserMode".to_owned()) });
        assert_eq!(read(json!({"SecureBootCurrentBoot": "Unknown", "SecureBootEnable": null})), SecureBoot::default());
    }

    #[test]
    fn verdicts() {
        let now = |active, mode: &str| SecureBoot { active, enabled: Some(true), mode: Some(mode.to_owned()) };
        assert_eq!(verdict(true, &now(Some(true), "UserMode")), ReadBack::Confirmed);
        let ReadBack::Pending(why) = verdict(true, &now(Some(false), "UserMode")) else { panic!() };
        assert_eq!(why, "secure boot is on from the next boot on");
        let ReadBack::Pending(why) = verdict(true, &now(Some(false), "SetupMode")) else { panic!() };
        assert!(why.contains("no platform key"), "{why}");
        let ReadBack::Pending(why) = verdict(false, &now(None, "SetupMode")) else { panic!() };
        assert_eq!(why, "secure boot is off from the next boot on");
    }
}
