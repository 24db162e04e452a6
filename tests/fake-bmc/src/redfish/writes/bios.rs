//! Writes to firmware attributes: checked against those in force and the registry, true from the next start on.

use serde_json::{Value, json};

use super::super::answer::Answer;
use super::super::json::{kind, text};
use super::super::service::{Effect, Service};

impl Service {
    /// `owner` is the resource in force when `path` is its settings resource.
    pub(super) fn write_bios(
        &self,
        path: &str,
        owner: Option<String>,
        held: &Value,
        patch: Value,
    ) -> Result<Effect, Answer> {
        if owner.is_none() && held.get("@Redfish.Settings").is_some() {
            return Err(Answer::read_only("Attributes"));
        }
        let owner = owner.unwrap_or_else(|| path.to_owned());
        let attributes = patch.get("Attributes").and_then(Value::as_object);
        let attributes = attributes.ok_or_else(|| Answer::unknown_property("without Attributes"))?;
        let in_force = self.read(&owner).unwrap_or_default();
        let registry = self.registry(text(&in_force, "AttributeRegistry").unwrap_or_default());
        for (name, value) in attributes {
            let unknown = || Answer::unknown_property(name);
            let current = in_force.get("Attributes").and_then(|all| all.get(name)).ok_or_else(unknown)?;
            match registry.as_ref().and_then(|registry| entry(registry, name)) {
                Some(entry) => check(entry, name, value)?,
                None if !current.is_null() && std::mem::discriminant(current) != std::mem::discriminant(value) => {
                    return Err(Answer::wrong_type(&value.to_string(), name));
                }
                None => {}
            }
        }
        let staged = json!({ "Attributes": attributes });
        Ok(Box::new(move |service| {
            service.stage_for_next_boot(&owner, &staged);
            Ok(())
        }))
    }

    /// The attribute registry of that id, or of its id without the last part of the version.
    fn registry(&self, id: &str) -> Option<Value> {
        let named = |body: &&Value| {
            let own = text(body, "Id").unwrap_or_default();
            kind(body) == "AttributeRegistry" && !id.is_empty() && (own.starts_with(id) || id.starts_with(own))
        };
        self.tree.bodies().values().find(named).cloned()
    }
}

fn entry<'registry>(registry: &'registry Value, name: &str) -> Option<&'registry Value> {
    let entries = registry.pointer("/RegistryEntries/Attributes")?.as_array()?;
    entries.iter().find(|entry| text(entry, "AttributeName") == Some(name))
}

fn check(entry: &Value, name: &str, value: &Value) -> Result<(), Answer> {
    if entry.get("ReadOnly") == Some(&json!(true)) {
        return Err(Answer::read_only(name));
    }
    let wrong = || Answer::wrong_type(&value.to_string(), name);
    let out = || Answer::not_in_list(&value.to_string(), name);
    match text(entry, "Type").unwrap_or_default() {
        "Enumeration" => {
            let word = value.as_str().ok_or_else(wrong)?;
            let mut values = entry.get("Value").and_then(Value::as_array).into_iter().flatten();
            values.any(|value| text(value, "ValueName") == Some(word)).then_some(()).ok_or_else(out)
        }
        "Integer" => {
            let number = value.as_i64().ok_or_else(wrong)?;
            let bound = |name: &str| entry.get(name).and_then(Value::as_i64);
            let fits = bound("LowerBound").is_none_or(|low| number >= low)
                && bound("UpperBound").is_none_or(|high| number <= high);
            fits.then_some(()).ok_or_else(out)
        }
        "Boolean" => value.is_boolean().then_some(()).ok_or_else(wrong),
        "String" => {
            let length = value.as_str().ok_or_else(wrong)?.len() as u64;
            let most = entry.get("MaxLength").and_then(Value::as_u64);
            most.is_none_or(|most| length <= most).then_some(()).ok_or_else(out)
        }
        _ => Ok(()),
    }
}
