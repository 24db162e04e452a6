//! The annotation in which `kubectl apply` without `--server-side` keeps what it applied. It lets that client go over to
//! server-side apply without conflicts with its former self, and is kept up to date so that it can go back.

use serde_json::Value;

use super::Versioned;
use super::check::check;
use super::compare::compare;
use super::field_set::FieldSet;
use super::fields_of::fields_of;
use crate::object;

/// The manager for which the annotation is read and written.
pub(super) const MANAGER: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Upstream's limit on all annotations together, in bytes; the annotation is dropped rather than break it.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// The fields of the live object that are still as the client once applied them; `None` when it keeps no record.
pub(super) fn owned_by_client(live: &Versioned, api_version: &str) -> Option<FieldSet> {
    let recorded = annotation(&live.object).filter(|text| !text.is_empty())?;
    let recorded: Value = serde_json::from_str(recorded).ok()?;
    if recorded.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
        return None;
    }
    let kind = live.kind();
    check(kind, &recorded, false).ok()?;
    check(kind, &live.object, false).ok()?;
    let comparison = compare(kind, &recorded, &live.object).ok()?;
    let fields = fields_of(kind, &recorded);
    Some(fields.difference(&comparison.modified).difference(&comparison.added).difference(&comparison.removed))
}

/// Records the applied configuration, where a record is kept.
pub(super) fn refresh(object: &mut Value, config: &Value) {
    if annotation(object).is_none_or(str::is_empty) {
        return;
    }
    let mut record = config.clone();
    if let Some(annotations) = object::meta_mut(&mut record).and_then(|meta| meta.get_mut("annotations")) {
        object::remove_field(annotations, ANNOTATION);
    }
    let text = format!("{record}\n");
    let Some(annotations) = object::meta_mut(object).and_then(|meta| meta.get_mut("annotations")) else { return };
    let others = annotations.as_object().into_iter().flatten().filter(|(name, _)| *name != ANNOTATION);
    let size: usize = others.map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    if size + ANNOTATION.len() + text.len() > ANNOTATIONS_LIMIT {
        object::remove_field(annotations, ANNOTATION);
    } else {
        object::set_field(annotations, ANNOTATION, text.into());
    }
}

fn annotation(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()
}
