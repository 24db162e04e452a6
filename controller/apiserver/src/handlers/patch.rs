//! Patch: JSON patch, merge patch, and strategic merge patch for the built-in kinds. Each is applied to the newest
//! object inside the transaction, so a patch conflicts only when it names a version or uid that is no longer so.
//! Server-side apply has a file of its own.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;

use super::json_patch::JsonPatch;
use super::options::{Options, Verb};
use super::write::{self, Ownership, Write};
use super::{Call, Part, apply, strategic, written};
use crate::body;
use crate::core::Core;
use crate::flavour;
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
    let run = move |txn: &mut Txn<'_>| {
        let resource = &inner.resource;
        let current = write::stored(txn, resource, &inner.namespace, &name)?;
        let mut object = flavour::to_served(resource, Value::clone(&current))?;
        change.apply(resource, &mut object)?;
        let mut problems = problems;
        let shown = object.to_string();
        problems.extend(write::admit(&inner, &mut object)?);
        let warnings = write::settle(problems, write.options.validation, |why| unfit(&shown, why))?;
        object::check_name(&object, &name)?;
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
    } else {
        Err(ApiError::unsupported_media_type(&supported.join(", ")))
    }
}

/// Reads a patch, and what a strict reader would refuse in it.
pub(super) fn parse(call: &Call, bytes: &[u8]) -> Result<(Change, Vec<String>), ApiError> {
    let (patch, problems) =
        body::json(bytes).map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
    let object = |patch: Value| {
        if patch.is_object() {
            return Ok(patch);
        }
        Err(ApiError::bad_request(
            "error decoding patch: json: cannot unmarshal into Go value of type map[string]interface {}",
        ))
    };
    match content_type(&call.headers) {
        JSON => {
            let problems = problems.into_iter().map(|problem| format!("json patch {problem}")).collect();
            Ok((Change::Json(JsonPatch::parse(patch)?), problems))
        }
        STRATEGIC => Ok((Change::Strategic(object(patch)?), problems)),
        _ => Ok((Change::Merge(object(patch)?), problems)),
    }
}

impl Change {
    /// Changes a served object.
    pub(super) fn apply(self, resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
        match self {
            Self::Json(patch) => patch.apply(object),
            Self::Merge(patch) => merge(object, patch, 0),
            Self::Strategic(patch) => strategic::merge(&resource.schema, object, patch),
        }
    }
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
        *target = Value::Object(serde_json::Map::new());
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
