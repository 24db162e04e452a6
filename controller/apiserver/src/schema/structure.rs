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

/// What a schema says a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An object with named fields, or a map from keys to one kind of value, or both.
    Object,
    List,
    Scalar,
    /// The schema does not say: the value itself tells.
    Deduced,
}

impl Schema {
    pub(crate) fn shape(&self) -> Shape {
        match self.kind {
            Some(Kind::Object) if self.properties.is_empty() && self.additional.is_none() => {
                if self.preserve_unknown {
                    Shape::Deduced
                } else {
                    Shape::Object
                }
            }
            Some(Kind::Object) => Shape::Object,
            Some(Kind::Array) => Shape::List,
            Some(_) => Shape::Scalar,
            None if self.int_or_string => Shape::Scalar,
            None if !self.properties.is_empty() || self.additional.is_some() => Shape::Object,
            None if self.items.is_some() => Shape::List,
            None => Shape::Deduced,
        }
    }

    /// The schema of a field: a named one, else that of any further key.
    pub(crate) fn field(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or(self.additional.as_deref())
    }

    /// The schema of a list's elements.
    pub(crate) fn element(&self) -> Option<&Schema> {
        self.items.as_deref()
    }

    pub(crate) fn list_type(&self) -> &ListType {
        &self.list
    }

    /// The object is one value (`x-kubernetes-map-type: atomic`).
    pub(crate) fn is_atomic_map(&self) -> bool {
        self.atomic_map
    }

    /// Fields that the schema does not name are kept.
    pub(crate) fn preserves_unknown(&self) -> bool {
        self.preserve_unknown
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
    fn tells_what_values_are() {
        let cases = [
            (json!({"type": "object", "properties": {"a": {}}}), Shape::Object),
            (json!({"type": "object", "additionalProperties": {"type": "string"}}), Shape::Object),
            (json!({"type": "object"}), Shape::Object),
            (json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}), Shape::Deduced),
            (json!({"x-kubernetes-preserve-unknown-fields": true}), Shape::Deduced),
            (json!({"type": "array", "items": {"type": "string"}}), Shape::List),
            (json!({"x-kubernetes-int-or-string": true}), Shape::Scalar),
            (json!({"type": "integer"}), Shape::Scalar),
            (json!({}), Shape::Deduced),
        ];
        for (schema, wanted) in cases {
            assert_eq!(Schema::parse(&schema).unwrap().shape(), wanted, "{schema}");
        }
    }

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
        assert_eq!(*ports.list_type(), ListType::Map(vec!["port".into(), "protocol".into()]));
        assert_eq!(*ports.patch_strategy(), PatchStrategy { merge: true, retain_keys: true, merge_key: "port".into() });
        let protocol = ports.element().and_then(|item| item.field("protocol")).unwrap();
        assert_eq!(protocol.default_value(), Some(&json!("TCP")));
    }
}
