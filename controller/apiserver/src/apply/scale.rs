//! Ownership across the scale subresource: who owns `spec.replicas` of the Scale owns the replicas field of the object.

use super::field_set::FieldSet;
use super::managed::{Managed, Operation, Owned};
use super::path_element::PathElement;

/// The version of the Scale object.
const SCALE_VERSION: &str = "autoscaling/v1";

/// The entries of an object as entries of its Scale: those that own the replicas field at `path`.
pub(crate) fn to_scale(parent: &Managed, path: &[PathElement], api_versions: &[String]) -> Managed {
    let owners =
        parent.0.iter().filter(|(_, owned)| api_versions.contains(&owned.api_version) && owned.fields.contains(path));
    let entries = owners.map(|(manager, owned)| {
        let fields = FieldSet::of(&[&["spec", "replicas"]]);
        let mut manager = manager.clone();
        if manager.operation == Operation::Update {
            SCALE_VERSION.clone_into(&mut manager.api_version);
        }
        (manager, Owned { fields, api_version: SCALE_VERSION.to_owned(), time: owned.time.clone() })
    });
    Managed(entries.collect())
}

/// The entries of an object after its Scale was written: who lost the replicas loses the field, who gained them gets an
/// entry that names the field in `api_version`.
pub(crate) fn from_scale(
    parent: Managed,
    mut scale: Managed,
    path: &[PathElement],
    api_version: &str,
    api_versions: &[String],
) -> Managed {
    let mut replicas = FieldSet::default();
    replicas.insert(path);
    let mut merged = Managed::default();
    for (manager, owned) in parent.0 {
        if !api_versions.contains(&owned.api_version) {
            continue;
        }
        let keeps = !owned.fields.contains(path) || scale.0.remove(&manager).is_some();
        let fields = if keeps { owned.fields.clone() } else { owned.fields.difference(&replicas) };
        if !fields.is_empty() {
            merged.0.insert(manager, Owned { fields, ..owned });
        }
    }
    let in_scale = [PathElement::field("spec"), PathElement::field("replicas")];
    for (manager, _) in scale.0.into_iter().filter(|(_, owned)| owned.fields.contains(&in_scale)) {
        // As upstream, which looks the time up among the object's own entries, where there is none of that name. The
        // entry is one beside that of the same manager's other fields until somebody reads the two.
        let entry = Owned { fields: replicas.clone(), api_version: api_version.to_owned(), time: None };
        merged.0.insert(manager, entry);
    }
    merged
}
