//! A registry of settings (`AttributeRegistry`, DSP0268) as it was read: what each setting is and what it may be set
//! to. Numbers are kept wide: registries have bounds up to 2^64 - 1 (Dell).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::values;
use crate::{BiosChoice, BiosDescription};

/// What is known of all settings, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Registry {
    entries: Arc<BTreeMap<String, Entry>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Enumeration,
    Text,
    Integer,
    Boolean,
    Password,
    /// Missing, or a word that is not in the schema.
    #[default]
    Unknown,
}

/// What is known of one setting.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    kind_word: Option<String>,
    display_name: Option<String>,
    pub(super) read_only: bool,
    hidden: bool,
    pub(super) choices: Vec<BiosChoice>,
    pub(super) lower: Option<i128>,
    pub(super) upper: Option<i128>,
    pub(super) step: Option<i128>,
    pub(super) min_length: Option<i128>,
    pub(super) max_length: Option<i128>,
    pub(super) reset_required: Option<bool>,
    /// Other settings that decide over this one. They are told, not evaluated: the BMC judges.
    depends_on: Vec<String>,
}

impl Registry {
    /// Reads a registry's body; none if it describes nothing.
    pub(super) fn read(body: &Value) -> Option<Self> {
        let entries = body.get("RegistryEntries")?;
        let list = entries.get("Attributes")?.as_array()?;
        let named = list.iter().filter_map(|entry| Some((text(entry, "AttributeName")?, Entry::read(entry))));
        let mut named: BTreeMap<String, Entry> = named.collect();
        for dependency in entries.get("Dependencies").and_then(Value::as_array).into_iter().flatten() {
            add_dependency(&mut named, dependency);
        }
        Some(Self { entries: Arc::new(named) })
    }
    pub(super) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }
}

impl Entry {
    fn read(entry: &Value) -> Self {
        let kind_word = text(entry, "Type");
        let kind = match kind_word.as_deref() {
            Some("Enumeration") => Kind::Enumeration,
            Some("String") => Kind::Text,
            Some("Integer") => Kind::Integer,
            Some("Boolean") => Kind::Boolean,
            Some("Password") => Kind::Password,
            _ => Kind::Unknown,
        };
        let flag = |name: &str| entry.get(name).and_then(Value::as_bool);
        let choices = entry.get("Value").and_then(Value::as_array).into_iter().flatten().filter_map(choice);
        Self {
            kind,
            kind_word,
            display_name: text(entry, "DisplayName"),
            read_only: flag("ReadOnly").unwrap_or_default() || flag("Immutable").unwrap_or_default(),
            hidden: flag("Hidden").unwrap_or_default(),
            choices: choices.collect(),
            lower: number(entry, "LowerBound"),
            upper: number(entry, "UpperBound"),
            // Dell writes 0 where any step will do.
            step: number(entry, "ScalarIncrement").filter(|step| *step > 1),
            min_length: number(entry, "MinLength"),
            max_length: number(entry, "MaxLength").filter(|length| *length > 0),
            reset_required: flag("ResetRequired"),
            depends_on: Vec::new(),
        }
    }

    /// Whether its value is nobody's business.
    pub(super) fn is_secret(&self) -> bool {
        self.kind == Kind::Password
    }

    /// The word that is written for `said`: itself, or the word whose name for people it is.
    pub(super) fn word(&self, said: &str) -> Option<&str> {
        let exact = self.choices.iter().find(|choice| choice.value == said);
        let called = || self.choices.iter().find(|choice| choice.display_name.as_deref() == Some(said));
        exact.or_else(called).map(|choice| choice.value.as_str())
    }

    pub(super) fn description(&self) -> BiosDescription {
        BiosDescription {
            display_name: self.display_name.clone(),
            kind: self.kind_word.clone(),
            choices: self.choices.clone(),
            lower_bound: self.lower.map(narrow),
            upper_bound: self.upper.map(narrow),
            min_length: self.min_length.map(narrow),
            max_length: self.max_length.map(narrow),
            reset_required: self.reset_required,
            hidden: self.hidden,
            depends_on: self.depends_on.clone(),
        }
    }
}

fn add_dependency(entries: &mut BTreeMap<String, Entry>, dependency: &Value) {
    let Some(rule) = dependency.get("Dependency") else { return };
    let target = text(rule, "MapToAttribute").or_else(|| text(dependency, "DependencyFor"));
    let Some(entry) = target.and_then(|target| entries.get_mut(&target)) else { return };
    for from in rule.get("MapFrom").and_then(Value::as_array).into_iter().flatten() {
        if let Some(name) = text(from, "MapFromAttribute")
            && !entry.depends_on.contains(&name)
        {
            entry.depends_on.push(name);
        }
    }
}

/// One word of a list. Some registries give only what people call it (and then that is what is written), some an empty
/// pair.
fn choice(value: &Value) -> Option<BiosChoice> {
    let (word, name) = match value {
        Value::String(word) => (Some(word.clone()), None),
        value => (text(value, "ValueName"), text(value, "ValueDisplayName")),
    };
    let word = word.or_else(|| name.clone())?;
    Some(BiosChoice { display_name: name.filter(|name| *name != word), value: word })
}

/// A number, also one that is written as text.
fn number(entry: &Value, name: &str) -> Option<i128> {
    match entry.get(name)? {
        Value::Number(number) => number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)).or_else(
            || match values::read(&Value::Number(number.clone()))? {
                crate::BiosValue::Integer(value) => Some(value.into()),
                _ => None,
            },
        ),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// As near as 64 bits with a sign come.
fn narrow(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value > 0 { i64::MAX } else { i64::MIN })
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn registry(entry: Value) -> Registry {
        Registry::read(&json!({"RegistryEntries": {"Attributes": [entry]}})).unwrap()
    }

    /// The entry of an R750: its upper bound needs all of 64 bits.
    #[test]
    fn q129_bounds_beyond_31_bits() {
        let entry = json!({
            "AttributeName": "SgxEpoch0", "CurrentValue": null, "Type": "Integer", "ReadOnly": false,
            "LowerBound": 0, "UpperBound": 18_446_744_073_709_551_615_u64, "ScalarIncrement": 1,
        });
        let registry = registry(entry);
        let entry = registry.get("SgxEpoch0").unwrap();
        assert_eq!((entry.lower, entry.upper, entry.step), (Some(0), Some(u64::MAX.into()), None));
        assert_eq!(entry.description().upper_bound, Some(i64::MAX));
    }

    /// A list that gives names for people only, and one that gives both.
    #[test]
    fn q130_words_and_their_names() {
        let names_only = registry(json!({
            "AttributeName": "QuietBoot", "Type": "Enumeration",
            "Value": [{"ValueDisplayName": "Enabled"}, {"ValueDisplayName": "Disabled"}, {"ValueDisplayName": ""}],
        }));
        let entry = names_only.get("QuietBoot").unwrap();
        assert_eq!(
            entry.choices.iter().map(|choice| choice.value.as_str()).collect::<Vec<_>>(),
            ["Enabled", "Disabled"]
        );
        assert_eq!((entry.word("Disabled"), entry.word("Off")), (Some("Disabled"), None));
        let both = registry(json!({
            "AttributeName": "SystemRecovery_F1StartControl", "Type": "Enumeration",
            "Value": [
                {"ValueName": "ToolSuite", "ValueDisplayName": "Tool Suite"},
                {"ValueName": "TextSetup", "ValueDisplayName": "Text Setup"},
            ],
        }));
        let entry = both.get("SystemRecovery_F1StartControl").unwrap();
        assert_eq!((entry.word("Tool Suite"), entry.word("TextSetup")), (Some("ToolSuite"), Some("TextSetup")));
    }

    #[test]
    fn dependencies_are_told() {
        let registry = Registry::read(&json!({"RegistryEntries": {
            "Attributes": [{"AttributeName": "ACPI002", "Type": "Boolean"}, {"AttributeName": "ACPI004"}],
            "Dependencies": [{"Type": "Map", "DependencyFor": "ACPI004", "Dependency": {
                "MapToAttribute": "ACPI002", "MapToProperty": "Hidden", "MapToValue": "true",
                "MapFrom": [{"MapFromAttribute": "ACPI004", "MapFromCondition": "EQU", "MapFromValue": true}],
            }}],
        }}));
        let registry = registry.unwrap();
        assert_eq!(registry.get("ACPI002").unwrap().description().depends_on, ["ACPI004"]);
        assert_eq!(registry.get("ACPI004").unwrap().kind, Kind::Unknown);
        assert!(Registry::read(&json!({"RegistryEntries": {"Messages": {}}})).is_none());
    }
}
