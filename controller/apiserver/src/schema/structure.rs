//! The structure of a schema, for those who merge and compare values rather than check them: server-side apply and
//! strategic merge patches. Read-only; says nothing of what values are allowed.

use serde_json::Value;

use super::{Kind, Schema};

/// How a list's elements are told apart (`x-kubernetes-list-type`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    /// The list is one value.
    #[default]
    Atomic,
    /// Elements are scalars, each there once.
    Set,
    /// Elements are told apart by these fields.
    Map(Vec<String>),
}

/// How a strategic merge patch treats a field (`x-kubernetes-patch-strategy` and `-merge-key`; built-in kinds only).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatchStrategy {
    /// A list is merged rather than replaced.
    pub(crate) merge: bool,
    /// An object keeps only the fields that the patch's `$retainKeys` names.
    pub(crate) retain_keys: bool,
    /// The field that tells objects in a merged list apart; empty in a list of scalars.
    pub(crate) merge_key: String,
}

impl PatchStrategy {
    pub(super) fn parse(strategy: &str, merge_key: &str) -> Self {
        let names = |wanted: &str| strategy.split(',').any(|name| name.trim() == wanted);
        Self { merge: names("merge"), retain_keys: names("retainKeys"), merge_key: merge_key.to_owned() }
    }
}

/// Which of the three forms a value has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Map,
    Scalar,
    List,
}

/// Which scalars a merge lets into a field. Coarser than validation: any number, and any scalar where a text has a
/// format of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScalarType {
    Numeric,
    Text,
    Boolean,
    Any,
}

impl Schema {
    pub(crate) fn scalar_type(&self) -> ScalarType {
        match self.kind {
            Some(Kind::Integer | Kind::Number) => ScalarType::Numeric,
            Some(Kind::String) if !self.special_text => ScalarType::Text,
            Some(Kind::Boolean) => ScalarType::Boolean,
            _ => ScalarType::Any,
        }
    }

    /// The one form that values may have, as far as merging goes; `None` when the value tells.
    pub(crate) fn only_form(&self) -> Option<Form> {
        Some(match self.kind? {
            Kind::Object => Form::Map,
            Kind::Array => Form::List,
            Kind::String | Kind::Integer | Kind::Number | Kind::Boolean => Form::Scalar,
        })
    }

    /// The schema of a field that is named.
    pub(crate) fn property(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name)
    }

    /// The schema of all fields that are not named.
    pub(crate) fn additional(&self) -> Option<&Schema> {
        self.additional.as_deref()
    }

    /// The schema of a field: a named one, else that of any further key.
    pub(crate) fn field(&self, name: &str) -> Option<&Schema> {
        self.property(name).or(self.additional())
    }

    /// Fields that are not named may be there, of any type.
    pub(crate) fn takes_any_field(&self) -> bool {
        self.preserve_unknown || (self.properties.is_empty() && self.additional.is_none())
    }

    /// The schema of a list's elements.
    pub(crate) fn element(&self) -> Option<&Schema> {
        self.items.as_deref()
    }

    /// How a list merges: as its list type says, else as its patch strategy does.
    pub(crate) fn merged_list_type(&self) -> ListType {
        match (&self.list, self.patch.merge, self.patch.merge_key.as_str()) {
            (ListType::Atomic, true, "") => ListType::Set,
            (ListType::Atomic, true, key) => ListType::Map(vec![key.to_owned()]),
            (list, _, _) => list.clone(),
        }
    }

    /// The object is one value (`x-kubernetes-map-type: atomic`).
    pub(crate) fn is_atomic_map(&self) -> bool {
        self.atomic_map
    }

    /// The value is a whole object with apiVersion, kind and metadata of its own.
    pub(crate) fn is_embedded(&self) -> bool {
        self.embedded
    }

    /// What a missing value stands for; list-map keys count as it.
    pub(crate) fn default_value(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    pub(crate) fn patch_strategy(&self) -> &PatchStrategy {
        &self.patch
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tells_how_lists_and_maps_merge() {
        let schema = Schema::parse(&json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
            "ports": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
                "x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "port",
                "items": {"type": "object", "properties": {"protocol": {"type": "string", "default": "TCP"}}},
            },
        }}))
        .unwrap();
        assert!(schema.is_atomic_map());
        let ports = schema.field("ports").unwrap();
        assert_eq!(ports.merged_list_type(), ListType::Map(vec!["port".into(), "protocol".into()]));
        assert_eq!(*ports.patch_strategy(), PatchStrategy { merge: true, retain_keys: true, merge_key: "port".into() });
        let protocol = ports.element().and_then(|item| item.field("protocol")).unwrap();
        assert_eq!(protocol.default_value(), Some(&json!("TCP")));
        let mut only_patched = Schema { patch: PatchStrategy::parse("merge", "name"), ..Schema::default() };
        assert_eq!(only_patched.merged_list_type(), ListType::Map(vec!["name".into()]));
        only_patched.patch.merge_key.clear();
        assert_eq!(only_patched.merged_list_type(), ListType::Set);
    }
}
