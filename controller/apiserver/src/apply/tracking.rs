//! Ownership after a write that is no apply (create, update, patch): the writer owns what it changed, the others lose
//! what was changed or removed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::check::check;
use super::compare::{Comparison, compare};
use super::conflict::Conflicts;
use super::field_set::FieldSet;
use super::managed::{self, Managed, Manager, Operation, Owned};
use super::reconcile::reconcile;
use super::types::Type;
use super::{TypeError, Versioned, Writer};
use crate::object;

/// Paths that nobody owns: the server's, and what names the object.
const NEVER_OWNED: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// What came or was changed, and what was removed.
type Changes = (FieldSet, FieldSet);

/// Puts `managedFields` into `new`, which replaces `live` (or is created, when there is none). `sent` are the entries that the
/// client sent: they replace the live ones when they are good, since clients may edit them.
pub(crate) fn track(writer: &Writer<'_>, live: Option<&Value>, new: &mut Value, sent: Option<&Value>) {
    managed::take(new);
    let before = live.map(Managed::of).unwrap_or_default();
    let managed = if !writer.subresource.is_empty() {
        before
    } else if managed::asks_for_reset(sent, writer.is_custom) {
        Managed::default()
    } else {
        let edited = sent.and_then(|sent| Managed::decode(sent).ok());
        edited.filter(|managed| !managed.0.is_empty()).unwrap_or(before)
    };
    // An object that is not tracked stays so until its first apply.
    if managed.0.is_empty() && live.is_some() {
        return;
    }
    match updated(writer, live.unwrap_or(&writer.nothing), new, managed, writer.manager) {
        Ok(managed) => managed.write_to(new),
        // The write is good, so it goes on untracked, as upstream.
        Err(error) => {
            tracing::warn!(name = object::name(new), %error, "managedFields not updated");
        }
    }
}

/// The entries after `manager` turned `live` into `new`.
pub(super) fn updated(
    writer: &Writer<'_>,
    live: &Value,
    new: &Value,
    managed: Managed,
    manager: &str,
) -> Result<Managed, TypeError> {
    let (live, new) = (writer.versioned(live)?, writer.versioned(new)?);
    check(new.kind(), &new.object, true)?;
    check(live.kind(), &live.object, true)?;
    let managed = reconciled(writer, managed);
    let Ok((mut managed, comparison)) = take_over(writer, &live, &new, managed, None, true)? else {
        return Ok(Managed::default());
    };
    let changed = comparison.touched().difference(&never_owned());
    if !changed.is_empty() {
        let manager = Manager {
            name: if manager.is_empty() { "unknown" } else { manager }.to_owned(),
            operation: Operation::Update,
            api_version: writer.api_version.to_owned(),
            subresource: writer.subresource.to_owned(),
        };
        let before = managed.0.remove(&manager).map(|owned| owned.fields).unwrap_or_default();
        let owned = Owned {
            fields: before.union(&changed),
            api_version: writer.api_version.to_owned(),
            time: Some(object::timestamp_now()),
        };
        managed.0.insert(manager, owned);
    }
    managed.cap();
    Ok(managed)
}

/// What the others are left with after `live` became `new`. `own` is the entry of the writer, which is not touched.
/// Without `force`, fields that others own are conflicts.
pub(super) fn take_over(
    writer: &Writer<'_>,
    live: &Versioned<'_>,
    new: &Versioned<'_>,
    managed: Managed,
    own: Option<&Manager>,
    force: bool,
) -> Result<Result<(Managed, Comparison), Conflicts>, TypeError> {
    let comparison = filtered(compare(live.kind(), &live.object, &new.object)?, &writer.reset);
    let touched = comparison.touched();
    let mut by_version: BTreeMap<String, Option<Changes>> = BTreeMap::new();
    let mut left = BTreeMap::new();
    let mut conflicts = BTreeMap::new();
    for (manager, owned) in managed.0 {
        if own == Some(&manager) {
            left.insert(manager, owned);
            continue;
        }
        let theirs = if owned.api_version == writer.api_version {
            Some((&touched, &comparison.removed))
        } else {
            if !by_version.contains_key(&owned.api_version) {
                let other =
                    compare_in(writer, live, new, &owned.api_version)?.map(|found| (found.touched(), found.removed));
                by_version.insert(owned.api_version.clone(), other);
            }
            by_version.get(&owned.api_version).and_then(Option::as_ref).map(|(touched, removed)| (touched, removed))
        };
        // A version that is gone takes its entries along.
        let Some((touched, removed)) = theirs else { continue };
        if !owned.fields.overlaps(touched) && !owned.fields.overlaps(removed) {
            if !owned.fields.is_empty() {
                left.insert(manager, owned);
            }
            continue;
        }
        let taken = owned.fields.intersection(touched);
        let fields = owned.fields.difference(&taken).difference(removed);
        if !taken.is_empty() {
            conflicts.insert(manager.clone(), Owned { fields: taken, ..owned.clone() });
        }
        if !fields.is_empty() {
            left.insert(manager, Owned { fields, ..owned });
        }
    }
    if !force && !conflicts.is_empty() {
        return Ok(Err(Conflicts(conflicts)));
    }
    Ok(Ok((Managed(left), comparison)))
}

fn compare_in(
    writer: &Writer<'_>,
    live: &Versioned<'_>,
    new: &Versioned<'_>,
    api_version: &str,
) -> Result<Option<Comparison>, TypeError> {
    let converted =
        writer.versions.convert(&live.object, api_version).zip(writer.versions.convert(&new.object, api_version));
    let Some((live, new)) = converted else { return Ok(None) };
    compare(live.kind(), &live.object, &new.object).map(Some)
}

fn filtered(comparison: Comparison, reset: &FieldSet) -> Comparison {
    Comparison {
        added: comparison.added.without(reset),
        modified: comparison.modified.without(reset),
        removed: comparison.removed.without(reset),
    }
}

/// The object in the writer's version, without entries.
pub(super) fn bare<'a>(writer: &Writer<'_>, object: &'a Value) -> Result<Versioned<'a>, TypeError> {
    let mut versioned = writer.versioned(object)?;
    if managed::entries(&versioned.object).is_some() {
        managed::take(versioned.object.to_mut());
    }
    Ok(versioned)
}

/// The entries as the present schemas would have them; those in versions that are gone are left out.
pub(super) fn reconciled(writer: &Writer<'_>, managed: Managed) -> Managed {
    let entries = managed.0.into_iter().filter_map(|(manager, owned)| {
        let schema = writer.versions.schema(&owned.api_version)?;
        let fields = reconcile(Type::Object(&schema), owned.fields);
        Some((manager, Owned { fields, ..owned }))
    });
    Managed(entries.collect())
}

pub(super) fn never_owned() -> FieldSet {
    FieldSet::of(NEVER_OWNED)
}
