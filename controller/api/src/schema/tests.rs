//! A kind with one of everything.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::SecretReference;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::*;
use crate::Condition;

#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "test.bessemer.dev",
    version = "v1",
    kind = "Sample",
    namespaced,
    status = "SampleStatus",
    derive = "Default",
    derive = "PartialEq",
    attr = "cfg_attr(all(), serde(default), schemars(extend(\"required\" = null)))"
)]
/// One of everything.
struct SampleSpec {
    /// Go's `int`.
    #[schemars(extend("format" = null))]
    count: i64,
    /// Unsigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    /// An optional word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "one"))]
    word: Option<Word>,
    /// Null may be written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2), inner(length(min = 1)), extend("nullable" = true))]
    names: Vec<String>,
    /// Elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<SecretReference>,
    /// Ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "outer"}]))]
    inner: Option<Inner>,
    /// By key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    values: BTreeMap<String, Value>,
    /// Any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    any: Option<Value>,
    /// Amounts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    amounts: BTreeMap<String, Quantity>,
}

/// Words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Word {
    /// The first.
    One,
    /// The second.
    Two,
}

/// Within.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("minProperties" = 1, "x-kubernetes-validations" = [{"rule": "inner"}]))]
struct Inner {
    flag: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct SampleStatus {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<Condition>,
}

fn spec(field: &str) -> Value {
    let mut schema = Value::Object(root::<Sample>())["properties"]["spec"]["properties"][field].clone();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("description");
    }
    schema
}

#[test]
fn keywords_are_controller_gens() {
    assert_eq!(spec("count"), json!({"type": "integer"}));
    assert_eq!(spec("port"), json!({"type": "integer", "maximum": 65535}));
    assert_eq!(spec("word"), json!({"type": "string", "enum": ["one", "two"], "default": "one"}));
    assert_eq!(
        spec("names"),
        json!({"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 2, "nullable": true})
    );
    assert_eq!(spec("secret")["x-kubernetes-map-type"], json!("atomic"));
    assert_eq!(spec("values")["additionalProperties"], json!({"x-kubernetes-preserve-unknown-fields": true}));
    assert_eq!(spec("any"), json!({"x-kubernetes-preserve-unknown-fields": true}));
    let amount = &spec("amounts")["additionalProperties"];
    assert_eq!(amount["anyOf"], json!([{"type": "integer"}, {"type": "string"}]));
    assert!(amount.get("pattern").is_some() && amount.get("type").is_none(), "{amount}");
}

#[test]
fn required_is_what_is_always_written() {
    let root = Value::Object(root::<Sample>());
    assert_eq!(root.get("required"), None);
    assert_eq!(root["description"], json!("One of everything."));
    assert_eq!(root["properties"]["spec"]["required"], json!(["count"]));
    assert_eq!(spec("inner")["required"], json!(["flag"]));
    assert_eq!(root["properties"]["status"].get("nullable"), None);
}

#[test]
fn rules_of_type_and_field_add_up() {
    assert_eq!(spec("inner")["x-kubernetes-validations"], json!([{"rule": "inner"}, {"rule": "outer"}]));
    assert_eq!(spec("inner")["minProperties"], json!(1));
}

#[test]
fn a_spec_may_be_absent() {
    let sample: Sample = serde_json::from_value(json!({"metadata": {"name": "bare"}})).unwrap();
    assert_eq!(sample.spec, SampleSpec::default());
}

#[test]
fn conditions_are_bounded() {
    let root = Value::Object(root::<Sample>());
    let condition = &root["properties"]["status"]["properties"]["conditions"]["items"]["properties"];
    assert_eq!(condition["reason"]["maxLength"], json!(1024));
    assert_eq!(condition["observedGeneration"]["minimum"], json!(0));
    assert_eq!(condition["lastTransitionTime"]["format"], json!("date-time"));
}
