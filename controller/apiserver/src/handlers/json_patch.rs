//! JSON patch (RFC 6902), with the liberties of the library that upstream uses: negative indexes count from the end,
//! a missing field or value is null to `replace`, `copy` and `add`, `test` of a missing field against null holds.

use serde_json::{Map, Value};

use super::write;
use crate::status::ApiError;

/// Operations in one patch, upstream's limit.
const MOST_OPERATIONS: usize = 10_000;
/// Bytes that the `copy` operations of one patch may copy: without a limit a small patch could grow without end.
const COPY_LIMIT: usize = 3 * 1024 * 1024;

/// A patch that is well formed as a list of objects; its operations are read when they are carried out, as upstream.
#[derive(Debug)]
pub(super) struct JsonPatch(Vec<Map<String, Value>>);

impl JsonPatch {
    /// Reads a patch.
    pub(super) fn parse(patch: Value) -> Result<Self, ApiError> {
        let bad = |found: &Value, into: &str| {
            let found = match found {
                Value::Null => return ApiError::bad_request("error decoding patch: null"),
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            };
            let message = format!("error decoding patch: json: cannot unmarshal {found} into Go value of type {into}");
            ApiError::bad_request(message)
        };
        let operations = match patch {
            Value::Array(operations) => operations,
            Value::Null => Vec::new(),
            other => return Err(bad(&other, "[]handlers.jsonPatchOp")),
        };
        if operations.len() > MOST_OPERATIONS {
            let message = format!(
                "The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
                operations.len()
            );
            return Err(ApiError::entity_too_large(message));
        }
        let read = operations.into_iter().map(|operation| match operation {
            Value::Object(fields) => Ok(fields),
            other => Err(bad(&other, "handlers.jsonPatchOp")),
        });
        read.collect::<Result<_, _>>().map(Self)
    }

    /// Carries out all operations, or fails as a whole.
    pub(super) fn apply(&self, document: &mut Value) -> Result<(), ApiError> {
        let mut copied = 0;
        for operation in &self.0 {
            carry_out(document, operation, &mut copied)?;
        }
        Ok(())
    }
}

/// What a strict reader would refuse in a patch.
pub(super) fn unknown_fields(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().into_iter().flatten().enumerate();
    let fields = operations.flat_map(|(at, operation)| {
        operation.as_object().into_iter().flat_map(Map::keys).map(move |field| (at, field))
    });
    let unknown = fields.filter(|(_, field)| !matches!(field.as_str(), "op" | "path" | "from" | "value"));
    unknown.map(|(at, field)| format!("json patch unknown field \"[{at}].{field}\"")).collect()
}

fn carry_out(document: &mut Value, operation: &Map<String, Value>, copied: &mut usize) -> Result<(), ApiError> {
    let text = |field: &str| operation.get(field).and_then(Value::as_str).ok_or_else(ApiError::unprocessable);
    let value = || operation.get("value").cloned().unwrap_or_default();
    let path = text("path")?;
    match text("op")? {
        "add" => add(document, path, value()),
        "remove" => remove(document, path).map(drop),
        "replace" => replace(document, path, value()),
        "move" => {
            let moved = remove(document, text("from")?)?;
            add(document, path, moved)
        }
        "copy" => {
            let source = get(document, text("from")?)?.cloned().unwrap_or_default();
            *copied = copied.saturating_add(source.to_string().len());
            if *copied > COPY_LIMIT {
                return Err(ApiError::unprocessable());
            }
            add(document, path, source)
        }
        "test" => {
            let wanted = operation.get("value").unwrap_or(&Value::Null);
            let found = if path.is_empty() { Some(&*document) } else { get(document, path)? };
            if same(found.unwrap_or(&Value::Null), wanted) { Ok(()) } else { Err(ApiError::unprocessable()) }
        }
        _ => Err(ApiError::unprocessable()),
    }
}

/// The steps of a pointer above the last one, and the last one.
fn split(path: &str) -> Result<(Vec<String>, String), ApiError> {
    let mut steps: Vec<String> =
        path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    let last = steps.pop().ok_or_else(ApiError::unprocessable)?;
    Ok((steps, last))
}

/// The place of an index, counting from the end when negative; `room` is one more than the last that may be named.
fn index(step: &str, length: usize, room: usize) -> Result<usize, ApiError> {
    let number: i64 = step.parse().map_err(|_| ApiError::unprocessable())?;
    let at = match usize::try_from(number) {
        Ok(at) => at,
        Err(_) => {
            let back = usize::try_from(number.unsigned_abs()).map_err(|_| ApiError::unprocessable())?;
            room.max(length).checked_sub(back).ok_or_else(ApiError::unprocessable)?
        }
    };
    if at < room { Ok(at) } else { Err(ApiError::unprocessable()) }
}

fn step_into<'v>(container: &'v Value, step: &str) -> Option<&'v Value> {
    match container {
        Value::Object(fields) => fields.get(step),
        Value::Array(items) => items.get(index(step, items.len(), items.len()).ok()?),
        _ => None,
    }
}

fn container<'v>(document: &'v mut Value, steps: &[String]) -> Result<&'v mut Value, ApiError> {
    let mut at = document;
    for step in steps {
        at = match at {
            Value::Object(fields) => fields.get_mut(step),
            Value::Array(items) => {
                let place = index(step, items.len(), items.len())?;
                items.get_mut(place)
            }
            _ => None,
        }
        .ok_or_else(ApiError::unprocessable)?;
    }
    if at.is_object() || at.is_array() { Ok(at) } else { Err(ApiError::unprocessable()) }
}

fn get<'v>(document: &'v Value, path: &str) -> Result<Option<&'v Value>, ApiError> {
    let (steps, last) = split(path)?;
    let mut at = document;
    for step in &steps {
        at = step_into(at, step).ok_or_else(ApiError::unprocessable)?;
    }
    match at {
        Value::Object(fields) => Ok(fields.get(&last)),
        Value::Array(items) => Ok(items.get(index(&last, items.len(), items.len())?)),
        _ => Err(ApiError::unprocessable()),
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), ApiError> {
    let (steps, last) = split(path)?;
    check_depth(&steps, &value)?;
    match container(document, &steps)? {
        Value::Object(fields) => {
            fields.insert(last, value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let at = index(&last, items.len(), items.len().saturating_add(1))?;
            items.insert(at, value);
        }
        _ => return Err(ApiError::unprocessable()),
    }
    Ok(())
}

fn remove(document: &mut Value, path: &str) -> Result<Value, ApiError> {
    let (steps, last) = split(path)?;
    match container(document, &steps)? {
        Value::Object(fields) => fields.remove(&last).ok_or_else(ApiError::unprocessable),
        Value::Array(items) => {
            let at = index(&last, items.len(), items.len())?;
            Ok(items.remove(at))
        }
        _ => Err(ApiError::unprocessable()),
    }
}

fn replace(document: &mut Value, path: &str, value: Value) -> Result<(), ApiError> {
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return Err(ApiError::unprocessable());
        }
        check_depth(&[], &value)?;
        *document = value;
        return Ok(());
    }
    let (steps, last) = split(path)?;
    check_depth(&steps, &value)?;
    match container(document, &steps)? {
        Value::Object(fields) => {
            fields.insert(last, value);
        }
        Value::Array(items) => {
            let at = index(&last, items.len(), items.len())?;
            if let Some(slot) = items.get_mut(at) {
                *slot = value;
            }
        }
        _ => return Err(ApiError::unprocessable()),
    }
    Ok(())
}

/// Refuses to nest deeper than may be stored. Asked before each write: a few copies into themselves would otherwise make
/// a value that no recursive reader survives, long before the result is checked.
fn check_depth(steps: &[String], value: &Value) -> Result<(), ApiError> {
    let left = write::DEPTH_LIMIT.checked_sub(steps.len() + 1);
    let fits = left.is_some_and(|left| !write::is_deeper_than(value, left));
    if fits { Ok(()) } else { Err(write::too_deep()) }
}

/// Structural equality; numbers by value.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        (left, right) => left == right,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn patched(mut document: Value, patch: Value) -> Option<Value> {
        JsonPatch::parse(patch).unwrap().apply(&mut document).ok().map(|()| document)
    }

    #[test]
    fn operations_do_what_the_rfc_and_upstream_say() {
        let document = json!({"a": {"b": 1, "n": null}, "l": [1, 2, 3], "~/": "x"});
        let cases = [
            (json!({"op": "add", "path": "/a/c", "value": 2}), "/a/c", Some(json!(2))),
            (json!({"op": "add", "path": "/l/-", "value": 4}), "/l", Some(json!([1, 2, 3, 4]))),
            (json!({"op": "add", "path": "/l/1", "value": 9}), "/l", Some(json!([1, 9, 2, 3]))),
            (json!({"op": "add", "path": "/l/-1", "value": 9}), "/l", Some(json!([1, 2, 3, 9]))),
            (json!({"op": "add", "path": "/l/4", "value": 9}), "", None),
            (json!({"op": "add", "path": "/x/y", "value": 9}), "", None),
            (json!({"op": "add", "path": "/a/c"}), "/a/c", Some(json!(null))),
            (json!({"op": "remove", "path": "/a/b"}), "/a", Some(json!({"n": null}))),
            (json!({"op": "remove", "path": "/a/x"}), "", None),
            (json!({"op": "remove", "path": "/l/-1"}), "/l", Some(json!([1, 2]))),
            (json!({"op": "replace", "path": "/a/b", "value": []}), "/a/b", Some(json!([]))),
            (json!({"op": "replace", "path": "/a/new", "value": 1}), "/a/new", Some(json!(1))),
            (json!({"op": "replace", "path": "/~0~1", "value": 1}), "/~0~1", Some(json!(1))),
            (json!({"op": "move", "from": "/a/b", "path": "/b"}), "/b", Some(json!(1))),
            (json!({"op": "copy", "from": "/l/0", "path": "/b"}), "/b", Some(json!(1))),
            (json!({"op": "test", "path": "/a/b", "value": 1.0}), "/a/b", Some(json!(1))),
            (json!({"op": "test", "path": "/a/b", "value": 2}), "", None),
            (json!({"op": "test", "path": "/a/missing", "value": null}), "/a/b", Some(json!(1))),
            (json!({"op": "test", "path": "/a/missing", "value": 1}), "", None),
            (json!({"op": "nonsense", "path": "/a"}), "", None),
            (json!({"path": "/a"}), "", None),
            (json!({"op": "add", "value": 1}), "", None),
        ];
        for (operation, place, wanted) in cases {
            let found = patched(document.clone(), json!([operation]));
            assert_eq!(found.is_some(), wanted.is_some(), "{operation}");
            if let (Some(found), Some(wanted)) = (found, wanted) {
                assert_eq!(found.pointer(place), Some(&wanted), "{operation}");
            }
        }
    }

    #[test]
    fn broken_patches_are_refused() {
        for bad in [json!({}), json!("x"), json!([1]), json!([[]])] {
            assert!(JsonPatch::parse(bad.clone()).is_err(), "{bad}");
        }
        let many = vec![json!({"op": "test", "path": "/a"}); MOST_OPERATIONS + 1];
        assert!(JsonPatch::parse(many.into()).unwrap_err().to_string().contains("is 10000, got 10001"));
    }

    #[test]
    fn copying_has_a_limit() {
        let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        assert_eq!(patched(json!({"a": ["y".repeat(1000)]}), Value::from(vec![double; 64])), None);
    }

    #[test]
    fn nesting_has_a_limit() {
        let mut document = json!({"a": {}});
        let mut refused = None;
        for round in 0..20 {
            let path = format!("{}/a", "/a".repeat(1 << round));
            let patch = JsonPatch::parse(json!([{"op": "copy", "from": "/a", "path": path}])).unwrap();
            if patch.apply(&mut document).is_err() {
                refused = Some(round);
                break;
            }
        }
        assert_eq!(refused, Some(6));
        assert!(!write::is_deeper_than(&document, write::DEPTH_LIMIT));
        let nested = (0..write::DEPTH_LIMIT).fold(json!(1), |inside, _| json!([inside]));
        assert!(!write::is_deeper_than(&nested, write::DEPTH_LIMIT));
        assert!(write::is_deeper_than(&json!([nested]), write::DEPTH_LIMIT));
    }

    proptest! {
        #[test]
        fn never_panics(
            path in "(/[ab0-]{0,2}){0,3}",
            from in "(/[ab0]{0,2}){0,3}",
            op in "add|remove|replace|move|copy|test",
        ) {
            let patch = json!([{"op": op, "path": path, "from": from, "value": {"a": [1]}}]);
            let _ = patched(json!({"a": [1, {"b": 2}], "b": "x"}), patch);
        }
    }
}
