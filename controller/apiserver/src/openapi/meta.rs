//! Schemas of the metadata that all objects share, under upstream's names.

use serde_json::{Map, Value, json};

pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
pub(super) const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const OWNER: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference";
const MANAGED: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry";

/// The shared schemas by name.
pub(super) fn schemas() -> Map<String, Value> {
    let text = |description: &str| json!({"type": "string", "description": description});
    let time = |description: &str| json!({"type": "string", "format": "date-time", "description": description});
    let texts = |description: &str| json!({"type": "object", "additionalProperties": {"type": "string", "default": ""}, "description": description});
    let number = |description: &str| json!({"type": "integer", "format": "int64", "description": description});
    let reference = |name: &str| json!({"allOf": [{"$ref": format!("#/components/schemas/{name}")}], "default": {}});
    let object_meta = json!({
        "type": "object", "description": "ObjectMeta is metadata that all stored objects have.",
        "properties": {
            "annotations": texts("Values for tools, not used to find objects."),
            "creationTimestamp": time("When the object was created; set by the server."),
            "deletionGracePeriodSeconds": number("How long the object may take to end, in seconds; set by the server."),
            "deletionTimestamp": time("When deletion was asked for; set by the server."),
            "finalizers": {
                "type": "array", "items": {"type": "string", "default": ""}, "x-kubernetes-list-type": "set",
                "x-kubernetes-patch-strategy": "merge",
                "description": "Who must agree before the object is gone.",
            },
            "generateName": text("A prefix from which the server makes a unique name when none is given."),
            "generation": number("Counts the changes of what is wanted; set by the server."),
            "labels": texts("Keys and values to find and group objects by."),
            "managedFields": {
                "type": "array", "items": reference(MANAGED), "x-kubernetes-list-type": "atomic",
                "description": "Which manager sets which fields; kept by the server.",
            },
            "name": text("The name, unique in a namespace. It cannot be changed."),
            "namespace": text("The space in which the name is unique; empty for kinds of the whole cluster."),
            "ownerReferences": {
                "type": "array", "items": reference(OWNER), "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["uid"], "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "uid",
                "description": "Objects that this one depends on; it is deleted when all are gone.",
            },
            "resourceVersion": text("The state of the object, to detect changes by; opaque to clients."),
            "selfLink": text("Not set any more."),
            "uid": text("Unique in time and space; set by the server."),
        },
    });
    let owner = json!({
        "type": "object", "description": "OwnerReference names an object that another depends on.",
        "required": ["apiVersion", "kind", "name", "uid"], "x-kubernetes-map-type": "atomic",
        "properties": {
            "apiVersion": text("The owner's API version."), "kind": text("The owner's kind."),
            "name": text("The owner's name."), "uid": text("The owner's uid."),
            "controller": {"type": "boolean", "description": "Whether the owner manages this object."},
            "blockOwnerDeletion": {
                "type": "boolean", "description": "Whether the owner waits for this object when deleted in the foreground.",
            },
        },
    });
    let managed = json!({
        "type": "object", "description": "ManagedFieldsEntry says which fields one manager sets.",
        "properties": {
            "apiVersion": text("The version that the fields are of."), "fieldsType": text("The form of the fields: FieldsV1."),
            "fieldsV1": {"type": "object", "description": "The fields, as a tree."}, "manager": text("Who sets them."),
            "operation": text("How they were set: Apply or Update."), "subresource": text("Through which path."),
            "time": time("When this entry was last changed."),
        },
    });
    let list_meta = json!({
        "type": "object", "description": "ListMeta is metadata of lists.",
        "properties": {
            "continue": text("Where the rest of the list begins, if there is one."),
            "remainingItemCount": number("How many objects are left, if known."),
            "resourceVersion": text("The state that the list shows."), "selfLink": text("Not set any more."),
        },
    });
    let schemas = [(OBJECT_META, object_meta), (OWNER, owner), (MANAGED, managed), (LIST_META, list_meta)];
    schemas.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}
