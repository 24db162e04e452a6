//! Server-side apply: laying an applied configuration over the live object, taking out what its manager applied before
//! and does not any more, and settling who owns what.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

use super::check::check;
use super::conflict::Conflicts;
use super::field_set::FieldSet;
use super::fields_of::fields_of;
use super::last_applied;
use super::managed::{Managed, Manager, Operation, Owned};
use super::merge::merge;
use super::path_element::same;
use super::remove::{with_named_parents, without};
use super::tracking::{bare, never_owned, reconciled, take_over, updated};
use super::types::Type;
use super::{TypeError, Versioned, Writer};
use crate::object;

/// Who owned what there was before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Why an apply is refused.
#[derive(Debug, Error)]
pub(crate) enum ApplyError {
    /// Others own fields that it would change.
    #[error("conflicts")]
    Conflicts(Conflicts),
    /// The applied configuration does not fit its type.
    #[error("failed to create typed patch object ({what}): {error}")]
    Patch { what: String, error: TypeError },
    /// The live object does not fit its type.
    #[error("failed to create typed live object ({what}): {error}")]
    Live { what: String, error: TypeError },
    /// Merging failed for another reason.
    #[error("failed to merge config: {0}")]
    Merge(#[from] TypeError),
}

/// The object after an apply of `config`, with its `managedFields`. `live` is `None` when the object does not exist.
pub(crate) fn apply(
    writer: &Writer<'_>,
    live: Option<&Value>,
    config: &Value,
    force: bool,
) -> Result<Value, ApplyError> {
    let live = live.unwrap_or(&writer.nothing);
    let mut managed = Managed::of(live);
    if managed.0.is_empty() {
        managed = updated(writer, &writer.nothing, live, managed, BEFORE_FIRST_APPLY)?;
    }
    let manager = Manager {
        name: if writer.manager.is_empty() { "unknown" } else { writer.manager }.to_owned(),
        operation: Operation::Apply,
        api_version: String::new(),
        subresource: writer.subresource.to_owned(),
    };
    let what = describe(config);
    let config = writer.versioned(config)?;
    check(config.kind(), &config.object, false).map_err(|error| ApplyError::Patch { what: what.clone(), error })?;
    let live = bare(writer, live)?;
    check(live.kind(), &live.object, true).map_err(|error| ApplyError::Live { what, error })?;

    let attempt = Attempt { writer, manager: &manager, live: &live, config: &config };
    let outcome = match attempt.run(managed.clone(), force)? {
        // kubectl may take over what it once applied by itself, by its own record of that.
        Err(conflicts) if writer.manager == last_applied::MANAGER => {
            match last_applied::owned_by_client(&live, writer.api_version) {
                None => Err(conflicts),
                Some(allowed) if conflicts.fields().difference(&allowed).is_empty() => attempt.run(managed, true)?,
                Some(allowed) => Err(conflicts.except(&allowed)),
            }
        }
        outcome => outcome,
    };
    let (mut new, managed) = outcome.map_err(ApplyError::Conflicts)?;
    if writer.manager == last_applied::MANAGER {
        last_applied::refresh(&mut new, &config.object);
    }
    managed.write_to(&mut new);
    Ok(new)
}

/// How upstream's errors name the applied object.
pub(crate) fn describe(config: &Value) -> String {
    let text = |field: &str| config.get(field).and_then(Value::as_str).unwrap_or_default();
    let kind = shown_kind(text("apiVersion"), text("kind"));
    format!("{}/{}; {kind}", object::namespace(config), object::name(config))
}

/// A kind as upstream's errors write it.
pub(crate) fn shown_kind(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

struct Attempt<'a> {
    writer: &'a Writer<'a>,
    manager: &'a Manager,
    live: &'a Versioned<'a>,
    config: &'a Versioned<'a>,
}

impl Attempt<'_> {
    /// The new object and its entries, or who is in the way.
    fn run(&self, managed: Managed, force: bool) -> Result<Result<(Value, Managed), Conflicts>, TypeError> {
        let mut managed = reconciled(self.writer, managed);
        let kind = self.live.kind();
        let merged = merge(kind, &self.live.object, &self.config.object)?;
        let last = managed.0.get(self.manager).cloned();
        let fields = fields_of(kind, &self.config.object).without(&self.writer.reset);
        let api_version = self.writer.api_version.to_owned();
        let time = last.as_ref().and_then(|owned| owned.time.clone());
        managed.0.insert(self.manager.clone(), Owned { fields, api_version, time });
        let merged = match last {
            Some(last) if !last.fields.is_empty() => self.prune(merged, &managed, &last),
            _ => merged,
        };
        let new = Versioned { object: Cow::Owned(merged), schema: Arc::clone(&self.live.schema) };
        let (mut managed, _) = match take_over(self.writer, self.live, &new, managed, Some(self.manager), force)? {
            Ok(found) => found,
            Err(conflicts) => return Ok(Err(conflicts)),
        };
        if let Some(mut owned) = managed.0.remove(self.manager) {
            owned.fields = owned.fields.difference(&never_owned());
            if !same(&new.object, &self.live.object) {
                owned.time = Some(object::timestamp_now());
            }
            if !owned.fields.is_empty() {
                managed.0.insert(self.manager.clone(), owned);
            }
        }
        Ok(Ok((new.object.into_owned(), managed)))
    }

    /// Takes out of the merged object what this manager applied last time, does not apply now, and nobody else owns.
    fn prune(&self, merged: Value, managed: &Managed, last: &Owned) -> Value {
        let Some(at_last) = self.writer.versions.convert(&merged, &last.api_version) else { return merged };
        let mut by_version: BTreeMap<&str, FieldSet> = BTreeMap::new();
        for owned in managed.0.values() {
            let fields = by_version.remove(owned.api_version.as_str()).unwrap_or_default();
            by_version.insert(&owned.api_version, fields.union(&owned.fields));
        }
        let last_fields = with_named_parents(at_last.kind(), &last.fields);
        let mut pruned = without(at_last.kind(), &at_last.object, &last_fields);
        // What others own, and what is applied now, comes back: first in the version that was pruned.
        let versions = std::iter::once(last.api_version.as_str())
            .chain(by_version.keys().copied().filter(|version| *version != last.api_version));
        for version in versions {
            let Some(owned) = by_version.get(version) else { continue };
            pruned = self.add_back(&merged, pruned, version, owned);
        }
        // And so does what it did not own before.
        let Some(pruned_at_last) = self.writer.versions.convert(&pruned, &last.api_version) else { return merged };
        let kind = at_last.kind();
        let gone =
            named(kind, &at_last.object).difference(&named(kind, &pruned_at_last.object)).intersection(&last_fields);
        let settled = without(kind, &at_last.object, &gone);
        let found = self.writer.versions.convert(&settled, self.writer.api_version);
        found.map(|versioned| versioned.object.into_owned()).unwrap_or(settled)
    }

    fn add_back(&self, merged: &Value, pruned: Value, version: &str, owned: &FieldSet) -> Value {
        let versions = self.writer.versions;
        let converted = versions.convert(merged, version).zip(versions.convert(&pruned, version));
        let Some((merged, now)) = converted else { return pruned };
        let kind = merged.kind();
        let keep = named(kind, &now.object).union(&with_named_parents(kind, owned));
        without(kind, &merged.object, &named(kind, &merged.object).difference(&keep))
    }
}

fn named(kind: Type<'_>, object: &Value) -> FieldSet {
    with_named_parents(kind, &fields_of(kind, object))
}
