//! k8s-openapi's schemas, made ours: with the markers that upstream's CRDs have on the same shapes, and with our words
//! in place of upstream's.

use serde_json::{Value, json};

use super::structural::Object;

/// Where k8s-openapi's definitions are named.
const FOREIGN: &str = "io.k8s.";

/// What its types and their fields are for. What is not here has no description.
const WORDS: [(&str, &str); 39] = [
    ("Condition", "One aspect of how the object is doing."),
    ("Condition.lastTransitionTime", "When `status` last became what it is now."),
    ("Condition.message", "Details of the last change for people; may be empty."),
    ("Condition.observedGeneration", "The object's generation that this was said about; an older one is out of date."),
    ("Condition.reason", "Why `status` last changed, as one word for programs."),
    ("Condition.status", "`True`, `False`, or `Unknown` when it cannot be told."),
    ("Condition.type", "Which aspect: a word in CamelCase, after a domain and a slash where it is somebody's own."),
    ("IntOrString", "A whole number or a string."),
    ("LabelSelector", "Chooses objects by their labels: those that meet every requirement. Empty, it chooses all."),
    ("LabelSelector.matchExpressions", "Requirements with operators."),
    ("LabelSelector.matchLabels", "Labels that an object must have with exactly these values."),
    ("LabelSelectorRequirement", "What must hold of one label."),
    ("LabelSelectorRequirement.key", "The label's name."),
    ("LabelSelectorRequirement.operator", "How it is looked at: `In`, `NotIn`, `Exists` or `DoesNotExist`."),
    ("LabelSelectorRequirement.values", "What `In` and `NotIn` compare with, at least one; the others take none."),
    ("LocalObjectReference", "An object of a known kind in the same namespace."),
    ("LocalObjectReference.name", "The object's name."),
    ("ObjectReference", "Another object."),
    ("ObjectReference.apiVersion", "The other object's group and version."),
    ("ObjectReference.fieldPath", "The part of the object that is meant, as a path of fields; absent for the whole."),
    ("ObjectReference.kind", "The other object's kind."),
    ("ObjectReference.name", "The other object's name."),
    ("ObjectReference.namespace", "The other object's namespace."),
    ("ObjectReference.resourceVersion", "The one state of the object that is meant; absent for any."),
    ("ObjectReference.uid", "The other object's UID, which tells it from a later one of the same name."),
    ("Quantity", "An amount, with an SI or binary suffix where wanted."),
    ("SecretReference", "A Secret in any namespace."),
    ("SecretReference.name", "The Secret's name."),
    ("SecretReference.namespace", "The Secret's namespace."),
    ("Taint", "Keeps pods off a node unless they tolerate it."),
    ("Taint.effect", "What becomes of other pods: `NoSchedule`, `PreferNoSchedule` or `NoExecute`."),
    ("Taint.key", "The taint's name."),
    ("Taint.timeAdded", "When the taint came to the node."),
    ("Taint.value", "What pods may compare with besides the name."),
    ("Time", "A moment, in RFC 3339."),
    ("TypedLocalObjectReference", "An object of any kind in the same namespace."),
    ("TypedLocalObjectReference.apiGroup", "The object's group; absent for the core group."),
    ("TypedLocalObjectReference.kind", "The object's kind."),
    ("TypedLocalObjectReference.name", "The object's name."),
];

/// Adds the markers to those of the definitions that are k8s-openapi's, and exchanges their descriptions.
pub(super) fn make_ours(definitions: &mut Object) {
    for (name, definition) in definitions.iter_mut().filter(|(name, _)| name.starts_with(FOREIGN)) {
        let Some(definition) = definition.as_object_mut() else { continue };
        describe(definition, name.rsplit('.').next().unwrap_or(name));
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

/// Exchanges the descriptions of a type and of its fields.
fn describe(definition: &mut Object, path: &str) {
    definition.remove("description");
    if let Some((_, words)) = WORDS.iter().find(|(of, _)| *of == path) {
        definition.insert("description".to_owned(), (*words).into());
    }
    if let Some(Value::Object(fields)) = definition.get_mut("properties") {
        for (name, field) in fields {
            if let Some(field) = field.as_object_mut() {
                describe(field, &format!("{path}.{name}"));
            }
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
