//! Who owns which fields of an object, as `metadata.managedFields` says: reading it, writing it in upstream's order, and
//! keeping the number of entries small. Knows nothing of schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::field_set::FieldSet;
use crate::object;

/// Entries of updates kept at most; older ones are merged.
const MOST_UPDATERS: usize = 10;
/// Who owns the merged entries.
const ANCIENT: &str = "ancient-changes";

/// How a manager came to own fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What tells one entry from another. Sorted as upstream sorts its identifiers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Manager {
    pub(crate) name: String,
    pub(crate) operation: Operation,
    /// Empty for appliers, which have one entry whatever version they apply in.
    pub(crate) api_version: String,
    pub(crate) subresource: String,
}

/// What a manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) fields: FieldSet,
    /// The version that the fields are named in.
    pub(crate) api_version: String,
    /// When it last changed, RFC 3339; unknown when a first apply changed nothing.
    pub(crate) time: Option<String>,
}

/// All entries of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Managed(pub(crate) BTreeMap<Manager, Owned>);

impl Managed {
    /// Reads entries; the problem when one is broken.
    pub(crate) fn decode(entries: &Value) -> Result<Self, String> {
        let mut managed = BTreeMap::new();
        for (at, entry) in entries.as_array().into_iter().flatten().enumerate() {
            let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let operation = match text("operation").as_str() {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err("operation must be `Apply` or `Update`".to_owned()),
            };
            let api_version = text("apiVersion");
            if api_version.is_empty() {
                return Err("apiVersion must not be empty".to_owned());
            }
            match text("fieldsType").as_str() {
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
                other => return Err(format!("invalid fieldsType {other:?} in managed fields entry {at}")),
            }
            let fields = entry.get("fieldsV1").map_or_else(|| Ok(FieldSet::default()), FieldSet::decode);
            let fields = fields.map_err(|error| format!("error decoding set: {error}"))?;
            let manager = Manager {
                name: text("manager"),
                operation,
                api_version: if operation == Operation::Apply { String::new() } else { api_version.clone() },
                subresource: text("subresource"),
            };
            let time = Some(text("time")).filter(|time| !time.is_empty());
            managed.insert(manager, Owned { fields, api_version, time });
        }
        Ok(Self(managed))
    }

    /// The entries of an object; none when they are broken.
    pub(crate) fn of(object: &Value) -> Self {
        entries(object).map(|entries| Self::decode(entries).unwrap_or_default()).unwrap_or_default()
    }

    /// The entries as JSON, in upstream's order: appliers first, then by time, then by name.
    pub(crate) fn encode(&self) -> Value {
        let mut entries: Vec<_> = self.0.iter().collect();
        entries.sort_by(|(left, left_owned), (right, right_owned)| {
            let key = |manager: &Manager, owned: &Owned| (manager.operation, owned.time.clone().unwrap_or_default());
            key(left, left_owned)
                .cmp(&key(right, right_owned))
                .then_with(|| left.name.cmp(&right.name))
                .then_with(|| left_owned.api_version.cmp(&right_owned.api_version))
                .then_with(|| left.subresource.cmp(&right.subresource))
        });
        entries.into_iter().map(|(manager, owned)| entry(manager, owned)).collect()
    }

    /// Puts the entries into an object's metadata, or takes the field out when there are none.
    pub(crate) fn write_to(&self, object: &mut Value) {
        if self.0.is_empty() {
            take(object);
        } else {
            object::set_meta(object, "managedFields", self.encode());
        }
    }

    /// Merges the oldest updates until few enough are left.
    pub(crate) fn cap(&mut self) {
        let mut updaters: Vec<(String, Manager)> = self
            .0
            .iter()
            .filter(|(manager, _)| manager.operation == Operation::Update)
            .map(|(manager, owned)| (owned.time.clone().unwrap_or_default(), manager.clone()))
            .collect();
        if updaters.len() <= MOST_UPDATERS {
            return;
        }
        updaters.sort();
        let mut left = updaters.len();
        let mut first_of_version: BTreeMap<String, Manager> = BTreeMap::new();
        for (time, manager) in updaters {
            if left <= MOST_UPDATERS {
                break;
            }
            let Some(owned) = self.0.get(&manager).cloned() else { continue };
            let Some(first) = first_of_version.get(&owned.api_version) else {
                first_of_version.insert(owned.api_version, manager);
                continue;
            };
            let bucket = Manager {
                name: ANCIENT.to_owned(),
                operation: Operation::Update,
                api_version: owned.api_version.clone(),
                subresource: String::new(),
            };
            if !self.0.contains_key(&bucket)
                && let Some(oldest) = self.0.remove(first)
            {
                self.0.insert(bucket.clone(), oldest);
            }
            self.0.remove(&manager);
            if let Some(merged) = self.0.get_mut(&bucket) {
                merged.fields = std::mem::take(&mut merged.fields).union(&owned.fields);
                merged.time = Some(time).filter(|time| !time.is_empty());
            }
            left -= 1;
        }
    }
}

/// The raw entries of an object.
pub(crate) fn entries(object: &Value) -> Option<&Value> {
    object.pointer("/metadata/managedFields")
}

/// Takes the entries out of an object.
pub(crate) fn take(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove("managedFields")
}

/// Whether two objects are the same, and so are their entries but for the times: then nothing happened.
pub(crate) fn same_but_for_times(new: &Value, old: &Value) -> bool {
    if new == old {
        return true;
    }
    let listed = |object| entries(object).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let (left, right) = (listed(new), listed(old));
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| same_without(left, right, "time"))
        && same_without(new, old, "metadata")
        && match (new.get("metadata"), old.get("metadata")) {
            (Some(new), Some(old)) => same_without(new, old, "managedFields"),
            (new, old) => new == old,
        }
}

/// Whether two values are the same but for a field of theirs.
fn same_without(left: &Value, right: &Value, name: &str) -> bool {
    let (Value::Object(left), Value::Object(right)) = (left, right) else { return left == right };
    let counted = |fields: &Map<String, Value>| fields.len() - usize::from(fields.contains_key(name));
    counted(left) == counted(right)
        && left.iter().filter(|(field, _)| *field != name).all(|(field, value)| right.get(field) == Some(value))
}

/// Whether a client asks for all tracking to be dropped: one empty entry, or (built-in kinds) an empty list.
pub(crate) fn asks_for_reset(entries: Option<&Value>, is_custom: bool) -> bool {
    match entries.and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => !is_custom,
        Some([Value::Object(only)]) => only.is_empty(),
        _ => false,
    }
}

fn entry(manager: &Manager, owned: &Owned) -> Value {
    let mut entry = Map::new();
    let texts = [
        ("manager", manager.name.as_str()),
        ("operation", manager.operation.name()),
        ("apiVersion", &owned.api_version),
        ("time", owned.time.as_deref().unwrap_or_default()),
        ("fieldsType", "FieldsV1"),
        ("subresource", &manager.subresource),
    ];
    for (field, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        entry.insert(field.to_owned(), json!(text));
    }
    entry.insert("fieldsV1".to_owned(), owned.fields.encode());
    Value::Object(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updater(name: &str, time: &str, version: &str) -> Value {
        json!({"manager": name, "operation": "Update", "apiVersion": version, "time": time, "fieldsType": "FieldsV1",
               "fieldsV1": {"f:spec": {format!("f:{name}"): {}}}})
    }

    #[test]
    fn entries_round_trip_in_order() {
        let entries = json!([
            {"manager": "z", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-02T00:00:00Z",
             "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}},
            updater("b", "2026-01-01T00:00:00Z", "v1"),
            updater("a", "2026-01-02T00:00:00Z", "v1"),
        ]);
        assert_eq!(Managed::decode(&entries).unwrap().encode(), entries);
    }

    #[test]
    fn broken_entries_are_named() {
        let good = updater("a", "", "v1");
        let cases = [
            ("operation", json!("Other"), "operation must be `Apply` or `Update`"),
            ("apiVersion", json!(""), "apiVersion must not be empty"),
            ("fieldsType", json!(""), "missing fieldsType in managed fields entry 0"),
            ("fieldsType", json!("V2"), "invalid fieldsType \"V2\" in managed fields entry 0"),
            ("fieldsV1", json!({"x": {}}), "error decoding set: missing colon: x"),
        ];
        for (field, value, wanted) in cases {
            let mut bad = good.clone();
            bad[field] = value;
            assert_eq!(Managed::decode(&json!([bad])).unwrap_err(), wanted);
        }
    }

    #[test]
    fn a_reset_is_an_empty_list_or_one_empty_entry() {
        for (entries, wanted) in [
            (None, false),
            (Some(json!([])), true),
            (Some(json!([{}])), true),
            (Some(json!([{}, {}])), false),
            (Some(json!(null)), false),
        ] {
            assert!(!asks_for_reset(Some(&json!([])), true));
            assert_eq!(asks_for_reset(entries.as_ref(), false), wanted, "{entries:?}");
        }
    }

    #[test]
    fn old_updates_merge_by_version() {
        let names: Vec<String> = (0..13).map(|n| format!("m{n:02}")).collect();
        let entries: Value = names
            .iter()
            .enumerate()
            .map(|(n, name)| updater(name, &format!("2026-01-{:02}T00:00:00Z", n + 1), "v1"))
            .collect();
        let mut managed = Managed::decode(&entries).unwrap();
        managed.cap();
        assert_eq!(managed.0.len(), 10);
        let bucket = managed.0.iter().find(|(manager, _)| manager.name == ANCIENT).unwrap();
        assert_eq!(
            bucket.1.fields,
            FieldSet::of(&[&["spec", "m00"], &["spec", "m01"], &["spec", "m02"], &["spec", "m03"]])
        );
        assert_eq!(bucket.1.time.as_deref(), Some("2026-01-04T00:00:00Z"));
    }
}
