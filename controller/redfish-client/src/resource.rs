//! A resource as it came, and tolerant ways to look into it.

use serde_json::Value;

use crate::Reference;

/// A resource as it came. Nothing about its schema is assumed: what is missing, null, empty or of another type than
/// expected simply is not there, because one service or another leaves out every property that the schemas require.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    uri: Reference,
    etag: Option<String>,
    body: Value,
}

/// An action that a resource offers, and where it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Where to post.
    pub target: Reference,
    /// Values that its parameters take, by parameter, where the service lists them in place.
    pub allowable: Vec<(String, Vec<String>)>,
    /// Where the service describes the parameters instead (`@Redfish.ActionInfo`).
    pub info: Option<Reference>,
}

impl Action {
    /// The values listed for `parameter`, if they are.
    #[must_use]
    pub fn values(&self, parameter: &str) -> Option<&[String]> {
        self.allowable.iter().find(|(name, _)| name == parameter).map(|(_, values)| values.as_slice())
    }
}

impl Resource {
    /// A resource read at `uri`; `etag` is the header's.
    #[must_use]
    pub fn new(uri: Reference, etag: Option<String>, body: Value) -> Self {
        Self { uri, etag, body }
    }

    /// Where it was read.
    #[must_use]
    pub fn uri(&self) -> &Reference {
        &self.uri
    }

    /// All of it.
    #[must_use]
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// The `ETag` header it came with.
    #[must_use]
    pub fn etag_header(&self) -> Option<&str> {
        self.etag.as_deref()
    }

    /// The `@odata.etag` in it.
    #[must_use]
    pub fn etag_property(&self) -> Option<&str> {
        self.text("@odata.etag")
    }

    /// The value at `path`, its parts divided by slashes (`Boot/BootOrder`); none if it is missing or null.
    #[must_use]
    pub fn value(&self, path: &str) -> Option<&Value> {
        look(&self.body, path)
    }

    /// The text at `path`; an empty one counts as missing (HPE and BlueField write `""` for null).
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        text(&self.body, path)
    }

    /// The link at `path`: an object with `@odata.id`, or the bare path that some OEMs write.
    #[must_use]
    pub fn link(&self, path: &str) -> Option<Reference> {
        link(self.value(path)?)
    }

    /// The links listed at `path`; a missing or null list is an empty one.
    #[must_use]
    pub fn links(&self, path: &str) -> Vec<Reference> {
        self.value(path)
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(link).collect())
            .unwrap_or_default()
    }

    /// The list of texts at `path`, such as allowable values.
    #[must_use]
    pub fn texts(&self, path: &str) -> Vec<String> {
        let list = self.value(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The action `name`, such as `ComputerSystem.Reset`; OEM actions are found under `Oem` as well.
    #[must_use]
    pub fn action(&self, name: &str) -> Option<Action> {
        let key = format!("#{name}");
        let actions = self.body.get("Actions")?;
        let found = actions.get(&key).or_else(|| actions.get("Oem").and_then(|oem| nested(oem, &key, 3)))?;
        let target = Reference::parse(found.get("target")?.as_str()?)?;
        let info = found.get("@Redfish.ActionInfo").and_then(Value::as_str).and_then(Reference::parse);
        let suffix = "@Redfish.AllowableValues";
        let allowable = found.as_object().into_iter().flatten().filter_map(|(key, values)| {
            let values = values.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            Some((key.strip_suffix(suffix)?.to_owned(), values))
        });
        Some(Action { target, allowable: allowable.collect(), info })
    }

    /// Where writes to it go that take effect later (`@Redfish.Settings`, DSP0266 9.10).
    #[must_use]
    pub fn settings(&self) -> Option<Reference> {
        // The name holds no slash, so the walk by parts finds it.
        self.link("@Redfish.Settings/SettingsObject")
    }
}

/// The value at `path` within `value`.
pub(crate) fn look<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('/').try_fold(value, |value, part| value.get(part)).filter(|value| !value.is_null())
}

pub(crate) fn text<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    look(value, path)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// The place a link leads to.
pub(crate) fn link(value: &Value) -> Option<Reference> {
    let link = value.get("@odata.id").unwrap_or(value);
    Reference::parse(link.as_str()?)
}

/// The object under `key`, up to `levels` below `value`: OEM actions stand below their vendor's name.
fn nested<'a>(value: &'a Value, key: &str, levels: usize) -> Option<&'a Value> {
    let fields = value.as_object()?;
    // Dell writes the schema and its version before the hash.
    let found = fields.get(key).or_else(|| fields.iter().find(|(name, _)| name.ends_with(key)).map(|(_, found)| found));
    found.or_else(|| {
        let below = levels.checked_sub(1)?;
        fields.values().find_map(|field| nested(field, key, below))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resource(body: Value) -> Resource {
        Resource::new(Reference::parse("/redfish/v1/Systems/1").unwrap(), None, body)
    }

    #[test]
    fn what_is_not_there_is_not_there() {
        let system = resource(json!({"Model": "", "UUID": null, "Boot": {"BootOrder": null}, "Id": 7, "Name": " x "}));
        assert_eq!(system.text("Model"), None);
        assert_eq!(system.text("UUID"), None);
        assert_eq!(system.text("Id"), None);
        assert_eq!(system.text("Name"), Some("x"));
        assert_eq!(system.texts("Boot/BootOrder"), Vec::<String>::new());
        assert_eq!(system.value("Boot/Nothing/At/All"), None);
        assert_eq!(system.links("Members"), []);
    }

    #[test]
    fn links_in_both_forms() {
        let system = resource(json!({
            "Bios": {"@odata.id": "/redfish/v1/Systems/1/Bios/"},
            "Oem": {"Log": "/redfish/v1/Logs", "Bad": {"@odata.id": ""}},
            "@Redfish.Settings": {"SettingsObject": {"@odata.id": "/redfish/v1/Systems/1/SD"}},
        }));
        assert_eq!(system.link("Bios").unwrap().as_str(), "/redfish/v1/Systems/1/Bios");
        assert_eq!(system.link("Oem/Log").unwrap().as_str(), "/redfish/v1/Logs");
        assert_eq!(system.link("Oem/Bad"), None);
        assert_eq!(system.settings().unwrap().id(), "SD");
    }

    #[test]
    fn actions() {
        let system = resource(json!({"Actions": {
            "#ComputerSystem.Reset": {
                "target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset/",
                "ResetType@Redfish.AllowableValues": ["On", "ForceOff", null],
                "@Redfish.ActionInfo": "/redfish/v1/Systems/1/ResetActionInfo",
            },
            "#NoTarget": {},
            "Oem": {
                "Acme": {"#Acme.Blink": {"target": "/redfish/v1/blink"}},
                "DellManager.v1_0_0#DellManager.ClearPending": {"target": "/redfish/v1/clear"},
            },
        }}));
        let reset = system.action("ComputerSystem.Reset").unwrap();
        assert_eq!(reset.target.id(), "ComputerSystem.Reset");
        assert_eq!(reset.values("ResetType").unwrap(), ["On", "ForceOff"]);
        assert_eq!(reset.values("Other"), None);
        assert_eq!(reset.info.unwrap().id(), "ResetActionInfo");
        assert_eq!(system.action("NoTarget"), None);
        assert_eq!(system.action("Acme.Blink").unwrap().target.as_str(), "/redfish/v1/blink");
        assert_eq!(system.action("DellManager.ClearPending").unwrap().target.as_str(), "/redfish/v1/clear");
    }
}
