//! What all writes share: admission (shape, unknown fields, defaults) before the transaction, and replacing a stored
//! object by a new one inside it, with the owners of its fields.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::metadata::Source;
use super::options::{FieldValidation, Options};
use super::versions::KindVersions;
use super::{Call, Part, metadata, patch, scale};
use crate::apply::{self, FieldSet, Writer};
use crate::body;
use crate::builtin::{NAMESPACES, decode, empty};
use crate::core::Core;
use crate::crd;
use crate::flavour::{self, namespace};
use crate::object;
use crate::registry::{Flavour, Resource};
use crate::schema::{self, Subject as Checked};
use crate::status::{ApiError, Cause, Subject};
use crate::store::{Key, Txn};

/// Deepest nesting of an object stored. Readers of JSON stop at 128, and a list wraps its objects twice.
pub(super) const DEPTH_LIMIT: usize = 120;

/// One write: what it is about, through which path it comes, and in whose name.
pub(super) struct Write {
    pub(super) versions: KindVersions,
    pub(super) options: Options,
    pub(super) part: Part,
}

/// Who sets the owners of an object's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ownership {
    /// The writer comes to own what it changes.
    Tracked,
    /// An apply has settled it already.
    Settled,
}

/// What a strict reader would refuse in an object, and what its writer should know, in upstream's words.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    pub(super) problems: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Brings an object that a client sent into the form that may be stored: right kind, known fields, defaults filled in.
pub(super) fn admit(call: &Call, object: &mut Value, source: Source<'_>) -> Result<Remarks, ApiError> {
    if call.resource.message.is_some()
        && let Some(fields) = object.as_object_mut()
    {
        // A built-in kind need not say what it is: its path does.
        for (field, said) in [("kind", call.resource.kind.clone()), ("apiVersion", call.resource.api_version())] {
            let missing = fields.get(field).is_none_or(|found| found.as_str() == Some(""));
            if missing && matches!(source, Source::Body(_)) {
                fields.insert(field.to_owned(), said.into());
            }
        }
    }
    let is_ours = object.get("kind").and_then(Value::as_str).is_none_or(|kind| kind == call.resource.kind);
    if let Some(message) = call.resource.message.filter(|_| is_ours) {
        decode::check(message, object).map_err(|why| match source {
            Source::Patch(shown) => patch::unfit(shown, &why),
            _ => call.cannot_be_handled(&why),
        })?;
        if !matches!(source, Source::Trusted) {
            empty::settle(message, object);
        }
    }
    let (mut unknown, warnings) = metadata::admit(call, object, source)?;
    unknown.extend(schema::prune(&call.resource.schema, object));
    if let Some(why) = schema::unreadable(&call.resource.schema, object) {
        return Err(match source {
            Source::Patch(shown) => patch::unfit(shown, &why),
            _ => call.cannot_be_handled(&why),
        });
    }
    schema::drop_nulls(&call.resource.schema, object);
    schema::default(&call.resource.schema, object);
    let problems = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
    Ok(Remarks { problems, warnings })
}

/// As [`admit`], for what an apply made of a stored object: its fields are known, and a null in it stays to be refused.
pub(super) fn admit_applied(call: &Call, object: &mut Value) -> Result<Vec<String>, ApiError> {
    let (_, warnings) = metadata::admit(call, object, Source::Trusted)?;
    if let Some(message) = call.resource.message {
        // Upstream cuts a number to the size of its type without a word; what its clients cannot read is refused here.
        object::shorten_numbers(object);
        decode::check(message, object).map_err(|why| call.cannot_be_handled(&why))?;
        empty::settle(message, object);
    }
    schema::default(&call.resource.schema, object);
    Ok(warnings)
}

/// All that a strict reader would refuse in an object that was read from `json`: what the reader of the text found, and
/// then the rest. Upstream reads the built-in kinds in one go, and comes upon all of it in the text's own order.
pub(super) fn all_problems(
    resource: &Resource,
    json: &[u8],
    mut problems: Vec<String>,
    remarks: Vec<String>,
) -> Vec<String> {
    problems.extend(remarks);
    if resource.message.is_some() { body::in_order(json, problems) } else { problems }
}

/// What becomes of such problems: warnings, an error, or nothing.
pub(super) fn settle(
    problems: Vec<String>,
    validation: FieldValidation,
    refuse: impl FnOnce(&str) -> ApiError,
) -> Result<Vec<String>, ApiError> {
    match validation {
        FieldValidation::Strict if !problems.is_empty() => {
            Err(refuse(&format!("strict decoding error: {}", problems.join(", "))))
        }
        FieldValidation::Warn => Ok(problems.iter().flat_map(|problem| body::warnings(problem)).collect()),
        FieldValidation::Strict | FieldValidation::Ignore => Ok(Vec::new()),
    }
}

/// Refuses an object that breaks its schema, the rules of its kind, or the size limit.
/// `old` is what it replaces, whose faults are tolerated where they stay as they were.
pub(super) fn check(
    resource: &Resource,
    object: &Value,
    old: Option<&Value>,
    part: Part,
    mut causes: Vec<Cause>,
) -> Result<(), ApiError> {
    if is_deeper_than(object, DEPTH_LIMIT) {
        return Err(too_deep());
    }
    let subject = if part == Part::Status { Checked::Status } else { Checked::Whole };
    // Built-in kinds have been read as what they are, and have rules of their own.
    if resource.is_custom() {
        schema::validate(&resource.schema, object, old, subject, &mut causes);
    }
    causes.extend(scale::faults(resource, object, part));
    if !causes.is_empty() {
        return Err(ApiError::invalid(resource.kind_subject(object::name(object)), causes));
    }
    Ok(())
}

/// Whether `value` has a leaf below more than `levels` objects and lists. Goes no deeper than that itself.
pub(super) fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return value.is_object() || value.is_array() };
    match value {
        Value::Object(fields) => fields.values().any(|field| is_deeper_than(field, below)),
        Value::Array(items) => items.iter().any(|item| is_deeper_than(item, below)),
        _ => false,
    }
}

/// The refusal of such an object.
pub(super) fn too_deep() -> ApiError {
    ApiError::bad_request(format!("the object is nested deeper than {DEPTH_LIMIT} levels"))
}

/// Refuses new objects of a custom kind whose definition is being deleted.
pub(super) fn check_creatable(resource: &Resource, name: &str) -> Result<(), ApiError> {
    if resource.allows("create") {
        return Ok(());
    }
    Err(ApiError::no_longer_allowed(resource.subject(name), "create"))
}

/// The stored object, or 404.
pub(super) fn stored(txn: &Txn<'_>, resource: &Resource, namespace: &str, name: &str) -> Result<Arc<Value>, ApiError> {
    txn.get(&resource.key(namespace, name)).ok_or_else(|| ApiError::not_found(resource.subject(name)))
}

/// Runs `write`, and undoes it when it is only to be tried.
pub(super) fn dry_run<T>(
    txn: &mut Txn<'_>,
    only_try: bool,
    write: impl FnOnce(&mut Txn<'_>) -> Result<T, ApiError>,
) -> Result<T, ApiError> {
    let start = txn.savepoint();
    let result = write(txn);
    if only_try {
        txn.roll_back(start);
    }
    result
}

impl Write {
    pub(super) fn new(core: &Core, resource: &Arc<Resource>, options: Options, part: Part) -> Self {
        Self { versions: KindVersions { registry: core.registry(), resource: Arc::clone(resource) }, options, part }
    }

    pub(super) fn resource(&self) -> &Resource {
        &self.versions.resource
    }

    /// The end of a write: what it left stored, or nothing of it when the client only wanted to see.
    pub(super) fn finish<T>(
        &self,
        txn: &mut Txn<'_>,
        write: impl FnOnce(&mut Txn<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        dry_run(txn, self.options.dry_run, write)
    }

    /// Stores an admitted object as a new one.
    pub(super) fn insert(
        &self,
        txn: &mut Txn<'_>,
        mut object: Value,
        ownership: Ownership,
    ) -> Result<Arc<Value>, ApiError> {
        let resource = self.resource();
        check_definition(txn, resource)?;
        if !resource.allows("create") {
            return Err(ApiError::no_longer_allowed(resource.subject(""), "create"));
        }
        let namespace = object::namespace(&object).to_owned();
        check_namespace(txn, resource, &namespace, object::name(&object))?;
        let sent = apply::take_managed_fields(&mut object);
        if ownership == Ownership::Settled {
            // Upstream asks no apply for the version of what is not there.
            object::meta_mut(&mut object).and_then(|metadata| metadata.remove("resourceVersion"));
        }
        metadata::begin(resource, &mut object, |name| txn.get(&resource.key(&namespace, name)).is_some())?;
        if resource.has_status {
            object::remove_field(&mut object, "status");
        }
        let mut causes = metadata::faults(resource, &object);
        causes.extend(flavour::complete(resource, &mut object, None));
        self.own(None, &mut object, sent, ownership);
        check(resource, &object, None, Part::Main, causes)?;
        let name = object::name(&object).to_owned();
        let key = resource.key(&namespace, &name);
        if let Some(found) = txn.get(&key) {
            let subject = resource.subject(&name);
            return Err(if object::is_deleting(&found) {
                ApiError::still_exists(subject)
            } else {
                ApiError::already_exists(subject)
            });
        }
        if let (Flavour::Definition, Some(status)) = (resource.flavour, object.get_mut("status")) {
            // What upstream answers before its controllers have looked at it.
            object::set_field(status, "conditions", Value::Null);
        }
        let stored = txn.put(key.clone(), flavour::to_stored(resource, object)?);
        if resource.flavour == Flavour::Definition {
            crd::settle(txn, key);
        }
        if !self.options.dry_run {
            return Ok(stored);
        }
        // What is not stored has no version.
        let mut tried = Value::clone(&stored);
        object::meta_mut(&mut tried).and_then(|metadata| metadata.remove("resourceVersion"));
        Ok(Arc::new(tried))
    }

    /// Replaces the stored `current` by the admitted, served `new`. A write that changes nothing stores nothing, and the
    /// last finalizer of an object in deletion takes the object with it.
    pub(super) fn replace(
        &self,
        txn: &mut Txn<'_>,
        current: &Arc<Value>,
        mut new: Value,
        ownership: Ownership,
    ) -> Result<Arc<Value>, ApiError> {
        check_definition(txn, self.resource())?;
        let resource = self.resource();
        let old = served(resource, current)?;
        let old = &*old;
        metadata::check_update(resource, &new, old, self.options.is_patch)?;
        let sent = apply::take_managed_fields(&mut new);
        let is_namespace = resource.flavour == Flavour::Namespace;
        if self.part == Part::Status && is_namespace {
            // Its metadata may be changed this way, too.
            metadata::keep_server_owned(&mut new, old);
            namespace::label(&mut new);
            namespace::show_times(&mut new);
            object::set_field(&mut new, "spec", old.get("spec").cloned().unwrap_or_else(|| json!({})));
        } else if self.part == Part::Status {
            let status = object::remove_field(&mut new, "status");
            new = without_status(old);
            put_status(&mut new, status);
        } else {
            metadata::keep_server_owned(&mut new, old);
            if resource.has_status {
                put_status(&mut new, old.get("status").cloned());
            }
        }
        let mut causes = metadata::update_faults(resource, &new, old);
        if self.part == Part::Main {
            causes.extend(flavour::complete(resource, &mut new, Some(old)));
        } else if resource.flavour == Flavour::Definition {
            crd::store_version(&mut new);
        }
        if self.part == Part::Finalize {
            causes.extend(namespace::finalize(&mut new));
        }
        self.own(Some(old), &mut new, sent, ownership);
        if metadata::counts_generations(resource) && spec_changed(resource, old, &new) {
            object::set_meta(&mut new, "generation", object::generation(old).saturating_add(1));
        }
        check(resource, &new, Some(old), self.part, causes)?;

        let key = resource.key(object::namespace(old), object::name(old));
        let mut new = flavour::to_stored(resource, new)?;
        if apply::same_but_for_times(&new, current) {
            return Ok(Arc::clone(current));
        }
        if object::is_deleting(&new) && object::finalizers(&new).next().is_none() {
            // A namespace has its contents to wait for, too.
            if is_namespace && !namespace::finalizers(&new).is_empty() {
                return Ok(txn.put(key, new));
            }
            // As upstream, which does not store what it deletes at once: watchers see the object as it was.
            txn.delete(key);
            object::set_meta(&mut new, "resourceVersion", object::resource_version(current));
            return Ok(Arc::new(new));
        }
        let stored = txn.put(key.clone(), new);
        if resource.flavour == Flavour::Definition {
            // Also after a write of the status: what it says of the names is the server's to say.
            crd::settle(txn, key);
        }
        if !self.options.dry_run {
            return Ok(stored);
        }
        let mut tried = Value::clone(&stored);
        object::set_meta(&mut tried, "resourceVersion", object::resource_version(current));
        Ok(Arc::new(tried))
    }

    /// Writes down who owns the fields of `new`. `sent` are the entries that came with it.
    pub(super) fn own(&self, old: Option<&Value>, new: &mut Value, sent: Option<Value>, ownership: Ownership) {
        match (ownership, sent) {
            (Ownership::Tracked, sent) => self.as_writer(|writer| apply::track(writer, old, new, sent.as_ref())),
            (Ownership::Settled, Some(entries)) => object::set_meta(new, "managedFields", entries),
            (Ownership::Settled, None) => {
                apply::take_managed_fields(new);
            }
        }
    }

    /// Calls `then` with this write as field ownership sees it.
    pub(super) fn as_writer<T>(&self, then: impl FnOnce(&Writer<'_>) -> T) -> T {
        then(&Writer {
            manager: &self.options.manager,
            api_version: &self.resource().api_version(),
            subresource: self.part.subresource(),
            reset: self.reset(),
            nothing: nothing(self.resource()),
            is_custom: self.resource().is_custom(),
            versions: &self.versions,
        })
    }

    /// Fields that this path sets back, whatever a client sends.
    fn reset(&self) -> FieldSet {
        let resource = self.resource();
        match self.part {
            Part::Status if resource.is_custom() => FieldSet::of(&[&["metadata"], &["spec"]]),
            Part::Status => FieldSet::of(&[&["spec"]]),
            Part::Finalize => FieldSet::of(&[&["status"]]),
            Part::Main if resource.has_status => FieldSet::of(&[&["status"]]),
            Part::Main => FieldSet::default(),
        }
    }
}

/// An object of the kind before anything is set in it: the built-in kinds have parts that are there even when empty, so
/// nobody comes to own those by filling them.
fn nothing(resource: &Resource) -> Value {
    let mut object = match resource.kind.as_str() {
        _ if resource.is_custom() => json!({}),
        "Lease" => json!({"spec": {}}),
        // The server's own finalizer is nobody's.
        "Namespace" => json!({"spec": {"finalizers": [namespace::CONTENTS]}, "status": {}}),
        "Event" if resource.group.is_empty() => json!({"involvedObject": {}, "source": {}}),
        "Event" => json!({"regarding": {}, "deprecatedSource": {}}),
        "CustomResourceDefinition" => json!({"spec": {"names": {}}, "status": {"acceptedNames": {}}}),
        "RoleBinding" | "ClusterRoleBinding" => json!({"roleRef": {}}),
        _ if resource.flavour == Flavour::Review => json!({"spec": {}, "status": {"allowed": false}}),
        _ => json!({}),
    };
    object::set_field(&mut object, "apiVersion", resource.api_version().into());
    object::set_field(&mut object, "kind", resource.kind.as_str().into());
    object
}

/// A request looks its kind up before it reads its body, and much may happen meanwhile: what is stored must fit the
/// definition as it is now.
fn check_definition(txn: &Txn<'_>, resource: &Resource) -> Result<(), ApiError> {
    let as_read = resource.conversion.defined_at;
    if resource.is_custom() && txn.version_of(&resource.definition_key()) != Some(as_read) {
        return Err(ApiError::outdated(resource.subject("")));
    }
    Ok(())
}

fn check_namespace(txn: &Txn<'_>, resource: &Resource, namespace: &str, name: &str) -> Result<(), ApiError> {
    if !resource.namespaced {
        return Ok(());
    }
    let key = Key { resource: NAMESPACES.into(), namespace: String::new(), name: namespace.to_owned() };
    match txn.get(&key) {
        None => Err(ApiError::not_found(Subject {
            group: String::new(),
            kind: "namespaces".into(),
            name: namespace.into(),
        })),
        Some(found) if object::is_deleting(&found) => Err(ApiError::terminating(resource.subject(name), namespace)),
        Some(_) => Ok(()),
    }
}

/// A stored object as served; as it is where that is the same.
pub(super) fn served<'a>(resource: &Resource, stored: &'a Value) -> Result<Cow<'a, Value>, ApiError> {
    if flavour::is_stored_form(resource, stored) {
        return Ok(Cow::Borrowed(stored));
    }
    flavour::to_served(resource, stored.clone()).map(Cow::Owned)
}

/// A copy of an object without its status and without its field owners, which are most of it.
fn without_status(object: &Value) -> Value {
    let Some(fields) = object.as_object() else { return object.clone() };
    let metadata = |fields: &Map<String, Value>| -> Map<String, Value> {
        let kept = fields.iter().filter(|(name, _)| *name != "managedFields");
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let kept = fields.iter().filter(|(name, _)| *name != "status");
    let copied = kept.map(|(name, value)| match value {
        Value::Object(fields) if name == "metadata" => (name.clone(), metadata(fields).into()),
        value => (name.clone(), value.clone()),
    });
    copied.collect::<Map<_, _>>().into()
}

fn put_status(object: &mut Value, status: Option<Value>) {
    match status {
        Some(status) => object::set_field(object, "status", status),
        None => {
            object::remove_field(object, "status");
        }
    }
}

/// Whether anything but metadata (and a status with its own path) differs.
fn spec_changed(resource: &Resource, old: &Value, new: &Value) -> bool {
    let counted = |name: &str| name != "metadata" && !(resource.has_status && name == "status");
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return true };
    let fields = old.keys().chain(new.keys()).filter(|name| counted(name));
    fields.into_iter().any(|name| old.get(name) != new.get(name))
}
