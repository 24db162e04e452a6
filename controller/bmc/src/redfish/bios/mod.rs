//! Firmware's settings over Redfish (`Bios`): what holds, what waits, what a registry allows, and changing it.
//!
//! Three resources play together: the one that says what holds, the one that takes wishes for the next boot
//! (`@Redfish.Settings`), and a registry that describes each setting. Any of them may lack, or tell less than it should.

mod find;
mod registry;
mod unproven;
mod validate;
mod values;
mod write;

use std::collections::BTreeMap;

use redfish_client::Resource;
use registry::Registry;
use serde_json::Value;

use super::RedfishBmc;
use crate::{Bios, BiosAttribute, BiosValue, BmcError};

pub(super) use unproven::Unproven;

const READ: &str = "reading bios settings";

/// The resources of one server's settings as they were read together.
struct Settings {
    /// What holds.
    current: Resource,
    /// Where wishes go; none where they go to `current` itself.
    future: Option<Resource>,
    registry: Option<Registry>,
}

impl Settings {
    /// What holds, in the registry's words.
    fn values(&self) -> BTreeMap<String, Option<BiosValue>> {
        self.read(&self.current)
    }

    /// What is wished for and does not hold yet.
    fn pending(&self) -> BTreeMap<String, BiosValue> {
        let Some(future) = &self.future else { return BTreeMap::new() };
        let current = self.values();
        let wished = self.read(future).into_iter();
        // Some show all settings there (HPE, Lenovo), some the changed ones only (Dell).
        let changed = wished.filter(|(name, value)| value.is_some() && current.get(name) != Some(value));
        changed.filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn read(&self, resource: &Resource) -> BTreeMap<String, Option<BiosValue>> {
        let attributes = resource.value("Attributes").and_then(|attributes| attributes.as_object());
        let read = attributes.into_iter().flatten().map(|(name, value)| {
            let value = values::read(value);
            (name.clone(), value.map(|value| self.in_words(name, value)))
        });
        read.collect()
    }

    /// A value as the registry writes it; some BMCs give what people call it instead.
    fn in_words(&self, name: &str, value: BiosValue) -> BiosValue {
        match (self.entry(name), &value) {
            (Some(entry), BiosValue::Text(text)) => {
                entry.word(text).map_or(value.clone(), |word| BiosValue::Text(word.to_owned()))
            }
            _ => value,
        }
    }

    fn entry(&self, name: &str) -> Option<&registry::Entry> {
        self.registry.as_ref()?.get(name)
    }

    fn bios(&self) -> Bios {
        let named = self.current.text("AttributeRegistry").map(str::to_owned);
        let is_secret = |name: &str| self.entry(name).is_some_and(registry::Entry::is_secret);
        let mut pending = self.pending();
        pending.retain(|name, _| !is_secret(name));
        let attributes = self.values().into_iter().map(|(name, value)| {
            let entry = self.entry(&name);
            let attribute = BiosAttribute {
                value: value.filter(|_| !is_secret(&name)),
                read_only: entry.is_some_and(|entry| entry.read_only),
                description: entry.map(registry::Entry::description),
            };
            (name, attribute)
        });
        Bios { registry: named, attributes: attributes.collect(), pending, problems: problems(&self.current) }
    }
}

/// What firmware says of the wishes that it applied last (`@Redfish.Settings`, DSP0266 9.10), where it was not content.
fn problems(current: &Resource) -> Vec<String> {
    let list = current.value("@Redfish.Settings/Messages").and_then(Value::as_array).map(Vec::as_slice);
    let told = list.unwrap_or_default().iter().filter_map(|message| {
        let text = |name: &str| message.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let severity = text("Severity").or(text("MessageSeverity")).unwrap_or_default();
        let about = message.get("RelatedProperties").and_then(Value::as_array).into_iter().flatten();
        let about: Vec<&str> = about.filter_map(Value::as_str).filter_map(|at| at.rsplit('/').next()).collect();
        let said = text("Message").or(text("MessageId"))?.trim_end_matches('.');
        let named = if about.is_empty() { String::new() } else { format!("{}: ", about.join(", ")) };
        matches!(severity, "Warning" | "Critical").then(|| format!("{named}{said}"))
    });
    told.collect()
}

impl RedfishBmc {
    pub(super) async fn read_bios(&self) -> Result<Bios, BmcError> {
        self.bios_settings(READ).await.map(|settings| settings.bios())
    }

    async fn bios_settings(&self, act: &str) -> Result<Settings, BmcError> {
        let current = self.bios_resource(act).await?;
        if current.value("Attributes").is_none() {
            return Err(self.unsupported(act, format!("{} shows no Attributes", current.uri())));
        }
        let future = match current.settings() {
            Some(at) => self.client.find(&at).await.map_err(|error| self.explain(act, error))?,
            None => None,
        };
        let registry = match current.text("AttributeRegistry") {
            Some(name) => self.bios_registry(act, name).await?,
            None => None,
        };
        Ok(Settings { current, future, registry })
    }

    async fn bios_resource(&self, act: &str) -> Result<Resource, BmcError> {
        let system = self.system(act).await?;
        let Some(at) = system.link("Bios") else {
            return Err(self.unsupported(act, format!("{} has no Bios", system.uri())));
        };
        let found = self.client.find(&at).await.map_err(|error| self.explain(act, error))?;
        found.ok_or_else(|| self.unsupported(act, format!("{at} is named and not there")))
    }
}

/// What this room makes of `resource`, taken for each resource that it reads.
#[cfg(test)]
pub(super) fn decode_everything(resource: &Resource) -> String {
    let registry = Registry::read(resource.body());
    let settings = Settings { current: resource.clone(), future: Some(resource.clone()), registry };
    format!("{:?}", settings.bios())
}
