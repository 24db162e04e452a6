//! From a Rust type to the schema in its CRD, in the form that controller-gen gives the upstream CRDs.
//!
//! This room knows Kubernetes' structural schemas and nothing of any kind. What a field's attributes mean here:
//! - A field is `required` exactly when it is always written: when it has no `skip_serializing_if`. Whether it may be
//!   absent when read is another matter, `#[serde(default)]`'s.
//! - What the API server fills in is written `#[schemars(extend("x-default" = …))]`; `#[serde(default)]` says nothing.
//! - `Option` does not mean nullable; `#[schemars(extend("nullable" = true))]` does.
//! - `#[schemars(extend("format" = null))]`, or any keyword set to null, takes a keyword away: Go's `int` has no format.
//!   Formats that Kubernetes does not know (`uint32`, …) go, and with them the minimum of an unsigned type.
//! - Bounds: `#[schemars(range(…))]`, `length(…)`, `regex(pattern = …)`, `inner(length(…))`, or `extend` by keyword.
//!   CEL rules: `#[schemars(extend("x-kubernetes-validations" = [{"rule": …, "message": …}]))]`.
//! - A `spec` that may be absent: `attr = "cfg_attr(all(), serde(default), schemars(extend(\"required\" = null)))"` in
//!   `#[kube(…)]`, which lets no plain `serde` attribute through to the root.
//! - Shapes of k8s-openapi, whose schemas lack upstream's markers and have its words, are made ours by [`foreign`].

mod foreign;
mod structural;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use structural::{Object, Shaper};

/// What kube writes about a root type that has no description of its own.
const KUBE_DESCRIPTION: &str = "Auto-generated derived type";

/// The CRD of a kind, its schema in upstream's form.
pub(crate) fn crd<K: CustomResourceExt + JsonSchema>() -> CustomResourceDefinition {
    let mut crd = K::crd();
    crd.spec.names.list_kind = Some(format!("{}List", crd.spec.names.kind));
    let schema = serde_json::from_value(Value::Object(root::<K>())).ok();
    for version in &mut crd.spec.versions {
        if let Some(validation) = &mut version.schema {
            validation.open_api_v3_schema.clone_from(&schema);
        }
    }
    crd
}

/// The schema of a whole object.
fn root<K: JsonSchema>() -> Object {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| settings.meta_schema = None);
    let mut schema = settings.into_generator().into_root_schema_for::<K>();
    let mut definitions = match schema.remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Object::new(),
    };
    foreign::make_ours(&mut definitions);
    let mut root = Shaper { definitions }.shape(schema.to_value());
    if let Some(Value::Object(properties)) = root.get_mut("properties") {
        let of_spec = properties.get("spec").and_then(|spec| spec.get("description")).cloned();
        properties.insert("apiVersion".to_owned(), json!({"type": "string", "description": "Group and version."}));
        properties.insert("kind".to_owned(), json!({"type": "string", "description": "Kind."}));
        properties.insert("metadata".to_owned(), json!({"type": "object"}));
        let by_kube =
            root.get("description").and_then(Value::as_str).is_some_and(|text| text.contains(KUBE_DESCRIPTION));
        if let Some(of_spec) = of_spec.filter(|_| by_kube) {
            root.insert("description".to_owned(), of_spec);
        }
    }
    root
}

#[cfg(test)]
mod tests;
