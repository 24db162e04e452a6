//! What k8s-openapi's schemas leave out: the markers that upstream's CRDs have on the same shapes.

use serde_json::{Value, json};

use super::structural::Object;

/// Adds them to the definitions that are there.
pub(super) fn mark(definitions: &mut Object) {
    for (name, definition) in definitions {
        let Some(definition) = definition.as_object_mut() else { continue };
        match name.as_str() {
            "io.k8s.api.core.v1.ObjectReference"
            | "io.k8s.api.core.v1.SecretReference"
            | "io.k8s.api.core.v1.LocalObjectReference"
            | "io.k8s.api.core.v1.TypedLocalObjectReference" => atomic(definition),
            "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector" => {
                atomic(definition);
                property(definition, "matchExpressions", &json!({"x-kubernetes-list-type": "atomic"}));
            }
            "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement" => {
                property(definition, "values", &json!({"x-kubernetes-list-type": "atomic"}));
            }
            "io.k8s.apimachinery.pkg.apis.meta.v1.Condition" => condition(definition),
            "io.k8s.apimachinery.pkg.api.resource.Quantity" => {
                definition.insert("pattern".to_owned(), QUANTITY.into());
            }
            _ => {}
        }
    }
}

/// The syntax of a quantity, as every CRD with one has it.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

fn atomic(definition: &mut Object) {
    definition.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
}

fn condition(definition: &mut Object) {
    property(definition, "message", &json!({"maxLength": 32768}));
    property(definition, "observedGeneration", &json!({"minimum": 0}));
    let reason = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";
    property(definition, "reason", &json!({"minLength": 1, "maxLength": 1024, "pattern": reason}));
    property(definition, "status", &json!({"enum": ["True", "False", "Unknown"]}));
    let type_ = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
    property(definition, "type", &json!({"maxLength": 316, "pattern": type_}));
}

fn property(definition: &mut Object, name: &str, keywords: &Value) {
    let found = definition.get_mut("properties").and_then(|properties| properties.get_mut(name));
    if let (Some(Value::Object(found)), Value::Object(keywords)) = (found, keywords) {
        found.extend(keywords.clone());
    }
}
