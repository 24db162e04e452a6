//! Patch: JSON patch, merge patch, and strategic merge patch for the built-in kinds. Each is applied to the newest
//! object inside the transaction, so a patch conflicts only when it names a version or uid that is no longer so.
//! Server-side apply has a file of its own.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value};

use super::json_patch::{self, JsonPatch};
use super::metadata::{self, Source};
use super::options::{Options, Verb};
use super::write::{self, Ownership, Write};
use super::{Call, Part, apply, strategic, written};
use crate::body;
use crate::builtin::restore;
use crate::core::Core;
use crate::flavour;
use crate::gotext;
use crate::object;
use crate::registry::Resource;
use crate::request::content_type;
use crate::status::{ApiError, Cause, Subject};
use crate::store::Txn;

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(super) const APPLY: &str = "application/apply-patch+yaml";

/// What custom kinds take, in the order that upstream names them in.
pub(super) const CUSTOM: &[&str] = &[JSON, MERGE, APPLY];
const BUILT_IN: &[&str] = &[JSON, MERGE, STRATEGIC, APPLY];

/// How an object is to change.
pub(super) enum Change {
    Json(JsonPatch),
    Merge(Value),
    Strategic(Value),
}

pub(super) async fn patch(
    core: &Core,
    call: Call,
    name: String,
    part: Part,
    body: &Bytes,
) -> Result<Response, ApiError> {
    check_type(&call)?;
    if content_type(&call.headers) == APPLY {
        return apply::apply_patch(core, call, name, part, body).await;
    }
    let options = Options::parse(&call, Verb::Patch)?;
    let (change, problems) = parse(&call, body)?;
    let write = Write::new(core, &call.resource, options, part);
    let call = Arc::new(call);
    let inner = Arc::clone(&call);
    // Read here, so that the writer need not: there is one for all.
    let held = core.store().get(&inner.resource.key(&inner.namespace, &name));
    let run = move |txn: &mut Txn<'_>| {
        let resource = &inner.resource;
        let current = write::stored(txn, resource, &inner.namespace, &name)?;
        drop(held);
        let mut object = flavour::to_served(resource, Value::clone(&current))?;
        let own_text = change.shown();
        change.apply(resource, &mut object)?;
        let is_strategic = own_text.is_some();
        let shown = own_text.unwrap_or_else(|| object.to_string());
        if let Some(message) = resource.message.filter(|_| is_strategic) {
            restore::check(message, &object).map_err(|why| unfit(&shown, &why))?;
            // It goes into the kind of the path, whatever it says of itself.
            object::set_field(&mut object, "apiVersion", resource.api_version().into());
            object::set_field(&mut object, "kind", resource.kind.as_str().into());
        }
        let remarks = write::admit(&inner, &mut object, Source::Patch(&shown))?;
        let problems = write::all_problems(resource, shown.as_bytes(), problems, remarks.problems);
        let mut warnings = write::settle(problems, write.options.validation, |why| unfit(&shown, why))?;
        warnings.extend(remarks.warnings);
        object::check_name(&object, &name)?;
        warnings.extend(metadata::warnings(resource, &object, Some(&current)));
        let stored = write.finish(txn, |txn| write.replace(txn, &current, object, Ownership::Tracked))?;
        Ok::<_, ApiError>((stored, warnings))
    };
    let (stored, warnings) = core.store().write(run).await?;
    written(&call, StatusCode::OK, &stored, &warnings)
}

/// The refusal of a patch whose result is no good object.
pub(super) fn unfit(patched: &str, why: &str) -> ApiError {
    let cause = Cause::invalid("patch", &patched.into(), why);
    ApiError::invalid(Subject::default(), vec![cause])
}

/// Refuses a kind of patch that the resource does not take.
fn check_type(call: &Call) -> Result<(), ApiError> {
    check_type_of(call, if call.resource.is_custom() { CUSTOM } else { BUILT_IN })
}

/// Refuses a kind of patch that is not among `supported`.
pub(super) fn check_type_of(call: &Call, supported: &[&str]) -> Result<(), ApiError> {
    if supported.contains(&content_type(&call.headers)) {
        Ok(())
    } else if call.resource.message.is_some() {
        Err(ApiError::no_such_media_type())
    } else {
        Err(ApiError::unsupported_media_type(&supported.join(", ")))
    }
}

/// Reads a patch, and what a strict reader would refuse in it.
pub(super) fn parse(call: &Call, bytes: &[u8]) -> Result<(Change, Vec<String>), ApiError> {
    let kind = content_type(&call.headers);
    let prefix = if kind == STRATEGIC { "" } else { "error decoding patch: " };
    let bad = |why: &str| ApiError::bad_request(format!("{prefix}{why}"));
    let (patch, problems) = body::json(bytes).map_err(|why| bad(&why))?;
    if kind == JSON {
        let mut problems: Vec<String> = problems.iter().map(|problem| format!("json patch {problem}")).collect();
        problems.extend(json_patch::unknown_fields(&patch));
        return Ok((Change::Json(JsonPatch::parse(patch)?), problems));
    }
    let found = match &patch {
        Value::Object(_) if kind == STRATEGIC => return Ok((Change::Strategic(patch), problems)),
        Value::Object(_) => return Ok((Change::Merge(patch), problems)),
        Value::Null if kind == STRATEGIC => return Ok((Change::Strategic(Value::Object(Map::new())), problems)),
        Value::Null => return Err(ApiError::bad_request("Invalid JSON Patch")),
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    };
    Err(bad(&format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")))
}

impl Change {
    /// How errors show the change, where they do not show what came of it.
    pub(super) fn shown(&self) -> Option<String> {
        match self {
            Self::Strategic(patch) => Some(gotext::plain(patch)),
            Self::Json(_) | Self::Merge(_) => None,
        }
    }

    /// Changes a served object.
    pub(super) fn apply(self, resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
        match self {
            Self::Json(patch) => patch.apply(object),
            Self::Merge(patch) => merge(object, patch, 0),
            Self::Strategic(patch) => strategic::merge(&resource.schema, object, patch),
        }
    }
}

/// Carries out a patch of the kind numbered `kind` for the fuzz targets.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn try_patch(schema: &crate::schema::Schema, kind: u8, object: &mut Value, patch: &[u8]) {
    let Ok((patch, _)) = body::json(patch) else { return };
    // A refusal is as good as a result.
    let _ = match kind {
        0 => JsonPatch::parse(patch).and_then(|patch| patch.apply(object)),
        1 => merge(object, patch, 0),
        _ => strategic::merge(schema, object, patch),
    };
}

/// Merge patch (RFC 7386).
fn merge(target: &mut Value, patch: Value, depth: usize) -> Result<(), ApiError> {
    if depth > write::DEPTH_LIMIT {
        return Err(write::too_deep());
    }
    let Value::Object(patch) = patch else {
        *target = patch;
        return Ok(());
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(fields) = target.as_object_mut() else { return Ok(()) };
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(&name);
        } else {
            merge(fields.entry(name).or_insert(Value::Null), value, depth + 1)?;
        }
    }
    Ok(())
}
