//! Patch: JSON patch, merge patch, and strategic merge patch for the built-in kinds. Each is applied to the newest
//! object inside the transaction, so a patch conflicts only when it names a version or uid that is no longer so.
//!
//! Server-side apply is not served: field ownership is not tracked, and pretending would let an apply delete what it
//! does not own.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use json_patch::PatchOperation;
use serde_json::Value;

use super::{Call, Part, strategic, write, written};
use crate::core::Core;
use crate::flavour;
use crate::request::content_type;
use crate::status::ApiError;

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
/// Operations in one JSON patch, upstream's limit.
const MOST_OPERATIONS: usize = 10_000;
/// Bytes that the `copy` operations of one patch may copy: without a limit a small patch could grow without end.
const COPY_LIMIT: usize = 3 * 1024 * 1024;

enum Change {
    Json(json_patch::Patch),
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
    let dry_run = call.query.dry_run()?;
    let change = parse(&call, body)?;
    let namespace = call.namespace.clone();
    let call = Arc::new(call);
    let inner = Arc::clone(&call);
    let (stored, warnings) = core
        .store()
        .write(move |txn| {
            let resource = &inner.resource;
            let current = write::stored(txn, resource, &namespace, &name)?;
            let mut object = flavour::to_served(resource, Value::clone(&current))?;
            change.apply(&mut object)?;
            let warnings = write::admit(&inner, &mut object)?;
            let stored = write::finish(txn, dry_run, |txn| write::replace(txn, resource, &current, object, part))?;
            Ok::<_, ApiError>((stored, warnings))
        })
        .await?;
    written(&call, StatusCode::OK, &stored, &warnings)
}

fn parse(call: &Call, body: &[u8]) -> Result<Change, ApiError> {
    let bad = |error: serde_json::Error| ApiError::bad_request(format!("error decoding patch: {error}"));
    let object = |value: Value| {
        if value.is_object() {
            Ok(value)
        } else {
            Err(ApiError::bad_request("error decoding patch: must be an object"))
        }
    };
    match content_type(&call.headers) {
        JSON => {
            let patch: json_patch::Patch = serde_json::from_slice(body).map_err(bad)?;
            if patch.0.len() > MOST_OPERATIONS {
                return Err(ApiError::too_large(MOST_OPERATIONS));
            }
            Ok(Change::Json(patch))
        }
        MERGE => object(serde_json::from_slice(body).map_err(bad)?).map(Change::Merge),
        STRATEGIC if !call.resource.is_custom() => {
            object(serde_json::from_slice(body).map_err(bad)?).map(Change::Strategic)
        }
        other => {
            let supported = if call.resource.is_custom() {
                format!("{JSON}, {MERGE}")
            } else {
                format!("{JSON}, {MERGE}, {STRATEGIC}")
            };
            Err(ApiError::unsupported_media_type(other, &supported))
        }
    }
}

impl Change {
    fn apply(self, object: &mut Value) -> Result<(), ApiError> {
        match self {
            Self::Json(patch) => apply_json(object, &patch),
            Self::Merge(patch) => {
                json_patch::merge(object, &patch);
                Ok(())
            }
            Self::Strategic(patch) => {
                strategic::merge(object, patch);
                Ok(())
            }
        }
    }
}

fn apply_json(object: &mut Value, patch: &json_patch::Patch) -> Result<(), ApiError> {
    let mut copied = 0_usize;
    for operation in &patch.0 {
        if let PatchOperation::Copy(copy) = operation {
            let source = object.pointer(copy.from.as_str()).map_or(0, |value| value.to_string().len());
            copied = copied.saturating_add(source);
            if copied > COPY_LIMIT {
                return Err(ApiError::too_large(COPY_LIMIT));
            }
        }
        if deepens(object, operation) {
            return Err(write::too_deep());
        }
        json_patch::patch(object, std::slice::from_ref(operation)).map_err(|error| {
            ApiError::unprocessable(format!("the server rejected our request due to an error in our request: {error}"))
        })?;
    }
    Ok(())
}

/// Whether `operation` would nest deeper than may be stored. Asked before each one: a few copies into themselves would
/// otherwise make a value that no recursive reader survives, long before the result is checked.
fn deepens(object: &Value, operation: &PatchOperation) -> bool {
    let (path, value) = match operation {
        PatchOperation::Add(add) => (&add.path, Some(&add.value)),
        PatchOperation::Replace(replace) => (&replace.path, Some(&replace.value)),
        PatchOperation::Copy(copy) => (&copy.path, object.pointer(copy.from.as_str())),
        PatchOperation::Move(from_to) => (&from_to.path, object.pointer(from_to.from.as_str())),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return false,
    };
    let above = path.as_str().matches('/').count();
    let left = write::DEPTH_LIMIT.checked_sub(above);
    left.is_none_or(|left| value.is_some_and(|value| write::is_deeper_than(value, left)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn copying_has_a_limit() {
        let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        let patch: json_patch::Patch = serde_json::from_value(Value::from(vec![double; 64])).unwrap();
        let mut object = json!({"a": ["y".repeat(1000)]});
        assert!(apply_json(&mut object, &patch).is_err());
    }

    #[test]
    fn nesting_has_a_limit() {
        let mut object = json!({"a": {}});
        let mut refused = None;
        for round in 0..20 {
            let path = format!("{}/a", "/a".repeat(1 << round));
            let double = json!([{"op": "copy", "from": "/a", "path": path}]);
            let patch: json_patch::Patch = serde_json::from_value(double).unwrap();
            if apply_json(&mut object, &patch).is_err() {
                refused = Some(round);
                break;
            }
        }
        assert_eq!(refused, Some(6));
        assert!(!write::is_deeper_than(&object, write::DEPTH_LIMIT));
        let nested = (0..write::DEPTH_LIMIT).fold(json!(1), |inside, _| json!([inside]));
        assert!(!write::is_deeper_than(&nested, write::DEPTH_LIMIT));
        assert!(write::is_deeper_than(&json!([nested]), write::DEPTH_LIMIT));
    }

    proptest! {
        #[test]
        fn never_panics(path in "(/[ab0-]{0,2}){0,3}", from in "(/[ab0]{0,2}){0,3}", op in "add|remove|replace|move|copy|test") {
            let operation = json!([{"op": op, "path": path, "from": from, "value": {"a": [1]}}]);
            if let Ok(patch) = serde_json::from_value::<json_patch::Patch>(operation) {
                let _ = apply_json(&mut json!({"a": [1, {"b": 2}], "b": "x"}), &patch);
            }
        }
    }
}
