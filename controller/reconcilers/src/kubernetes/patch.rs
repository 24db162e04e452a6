//! Writes: a merge patch of what changed, and nothing when nothing did.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{Asking, Key, ReconcileError};

/// What turns `before` into `after` by RFC 7396; none if they are equal. Lists are replaced as a whole.
pub(crate) fn difference(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return (before != after).then(|| after.clone());
    };
    let mut patch = Map::new();
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, wanted) in after {
        let change = match before.get(key) {
            None => Some(wanted.clone()),
            Some(old) => difference(old, wanted),
        };
        if let Some(change) = change {
            patch.insert(key.clone(), change);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Writes what differs, first of everything else, then of the status, and answers with the object as it is then. Each
/// patch carries the resourceVersion that was decided on: who comes second decides again.
///
/// # Errors
/// [`ReconcileError::Conflict`] among others.
pub(crate) async fn write<K>(api: &Api<K>, before: &K, after: &K) -> Result<K, ReconcileError>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned,
{
    let what = || format!("{} {}", K::kind(&()), Key::of(before));
    let name = before.name_any();
    let (mut old, mut new) = (plain(before)?, plain(after)?);
    let (old_status, new_status) = (take_status(&mut old), take_status(&mut new));
    let mut version = before.resource_version();
    let mut written = before.clone();
    if let Some(mut patch) = difference(&old, &new) {
        carry_version(&mut patch, version.as_deref());
        let result = api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        written = result.asking("patch", what())?;
        version = written.resource_version();
        if after.meta().deletion_timestamp.is_some() && after.finalizers().is_empty() {
            return Ok(written);
        }
    }
    if let Some(status) = difference(&old_status, &new_status) {
        let mut patch = json!({ "status": status });
        carry_version(&mut patch, version.as_deref());
        let result = api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        written = result.asking("patch the status of", what())?;
    }
    Ok(written)
}

/// Creates the object, or reads the one of that name. One that was there and is gone again was somebody else's race:
/// a conflict.
pub(crate) async fn create_or_get<K>(api: &Api<K>, object: &K) -> Result<K, ReconcileError>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned,
{
    let what = || format!("{} {}", K::kind(&()), Key::of(object));
    match api.create(&PostParams::default(), object).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let there = api.get_opt(&object.name_any()).await.asking("read", what())?;
            there.ok_or_else(|| ReconcileError::Conflict { what: what() })
        }
        result => result.asking("create", what()),
    }
}

/// Deletes this very object; one that is gone or going already is as good.
pub(crate) async fn delete<K>(api: &Api<K>, object: &K) -> Result<(), ReconcileError>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned,
{
    if object.meta().deletion_timestamp.is_some() {
        return Ok(());
    }
    let preconditions = Some(Preconditions { uid: object.uid(), resource_version: None });
    let parameters = DeleteParams { preconditions, ..DeleteParams::default() };
    match api.delete(&object.name_any(), &parameters).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        result => result.map(drop).asking("delete", format!("{} {}", K::kind(&()), Key::of(object))),
    }
}

fn plain<K: Resource<DynamicType = ()> + Serialize>(object: &K) -> Result<Value, ReconcileError> {
    let mut value = serde_json::to_value(object).map_err(|error| ReconcileError::Shape {
        what: format!("{} {}", K::kind(&()), object.name_any()),
        why: error.to_string(),
    })?;
    // What the server sets and nobody patches.
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| ["labels", "annotations", "finalizers", "ownerReferences"].contains(&key.as_str()));
    }
    Ok(value)
}

fn take_status(object: &mut Value) -> Value {
    object.as_object_mut().and_then(|map| map.remove("status")).unwrap_or_else(|| json!({}))
}

fn carry_version(patch: &mut Value, version: Option<&str>) {
    let (Some(version), Some(patch)) = (version, patch.as_object_mut()) else { return };
    let metadata = patch.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("resourceVersion".to_owned(), Value::from(version));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_a_merge_patch() {
        for (before, after, patch) in [
            (json!({"a": 1}), json!({"a": 1}), None),
            (json!({"a": 1}), json!({"a": 2}), Some(json!({"a": 2}))),
            (json!({"a": 1}), json!({}), Some(json!({"a": null}))),
            (json!({}), json!({"a": {"b": 1}}), Some(json!({"a": {"b": 1}}))),
            (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": 1}}), Some(json!({"a": {"c": null}}))),
            (json!({"a": [1, 2]}), json!({"a": [1]}), Some(json!({"a": [1]}))),
            (json!({"a": {"b": 1}}), json!({"a": 1}), Some(json!({"a": 1}))),
        ] {
            assert_eq!(difference(&before, &after), patch, "{before} → {after}");
        }
    }

    #[test]
    fn a_patch_carries_the_version_it_was_decided_on() {
        let mut patch = json!({"spec": {"online": true}});
        carry_version(&mut patch, Some("7"));
        assert_eq!(patch, json!({"spec": {"online": true}, "metadata": {"resourceVersion": "7"}}));
    }
}
