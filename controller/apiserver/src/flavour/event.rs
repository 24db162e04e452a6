//! Events: one storage with two faces. The newer group is strict; the older takes what old clients send.

use serde_json::{Value, json};

use crate::object;
use crate::status::Cause;

/// Field names of `events.k8s.io/v1` beside those of the core group, in which events are stored.
const NAMES: &[(&str, &str)] = &[
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
];

/// What the core group shows even when it is not set.
const CORE_ALWAYS: &[(&str, Always)] = &[
    ("involvedObject", Always::Object),
    ("source", Always::Object),
    ("firstTimestamp", Always::Null),
    ("lastTimestamp", Always::Null),
    ("eventTime", Always::Null),
    ("reportingComponent", Always::Text),
    ("reportingInstance", Always::Text),
];

/// What the newer group shows even when it is not set.
const NEW_ALWAYS: &[(&str, Always)] = &[
    ("regarding", Always::Object),
    ("eventTime", Always::Null),
    ("deprecatedSource", Always::Object),
    ("deprecatedFirstTimestamp", Always::Null),
    ("deprecatedLastTimestamp", Always::Null),
];

#[derive(Clone, Copy)]
enum Always {
    Object,
    Null,
    Text,
}

pub(super) fn to_core(object: &mut Value) {
    rename(object, NAMES.iter().copied());
}

pub(super) fn to_new(object: &mut Value) {
    rename(object, NAMES.iter().map(|(new, core)| (*core, *new)));
    let shown = |value: &Value| !(value.is_null() || value.as_str() == Some(""));
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| shown(value));
    }
    show(object, NEW_ALWAYS);
}

/// Fills in what the core group always shows. Done when an event is served: stored, it is not there.
pub(super) fn show_core(object: &mut Value) {
    show(object, CORE_ALWAYS);
}

fn show(object: &mut Value, always: &[(&str, Always)]) {
    let Some(fields) = object.as_object_mut() else { return };
    for (name, always) in always {
        fields.entry(*name).or_insert_with(|| match always {
            Always::Object => json!({}),
            Always::Null => Value::Null,
            Always::Text => "".into(),
        });
    }
}

fn rename<'a>(object: &mut Value, names: impl Iterator<Item = (&'a str, &'a str)>) {
    let Some(fields) = object.as_object_mut() else { return };
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

/// Checks an event in its core form.
pub(super) fn check(event: &Value, old: Option<&Value>, strict: bool) -> Vec<Cause> {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let namespace = object::namespace(event);
    let (involved, controller) = (text("/involvedObject/namespace"), text("/reportingComponent"));
    let mut causes = Vec::new();
    let elsewhere = || Cause::invalid("involvedObject.namespace", &involved.into(), "does not match event.namespace");
    if text("/eventTime").is_empty() {
        let fits = if involved.is_empty() { matches!(namespace, "" | "default") } else { involved == namespace };
        causes.extend((!fits).then(elsewhere));
    } else {
        if involved.is_empty() && !matches!(namespace, "default" | "kube-system") {
            causes.push(elsewhere());
        }
        let field = if strict { "reportingController" } else { "reportingComponent" };
        if controller.is_empty() {
            causes.push(Cause::required(field));
            causes.push(Cause::invalid(field, &"".into(), "name part must be non-empty"));
            causes.push(Cause::invalid(field, &"".into(), NAME_PART));
        }
        for (field, found, most) in [
            ("reportingInstance", text("/reportingInstance"), 128),
            ("action", text("/action"), 128),
            ("reason", text("/reason"), 128),
        ] {
            causes.extend(found.is_empty().then(|| Cause::required(field)));
            causes.extend(too_long(field, found, most));
        }
        causes.extend(too_long("message", text("/message"), 1024));
    }
    if strict {
        causes.extend(check_strict(event, old));
    }
    causes
}

const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
                         an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

fn too_long(field: &str, found: &str, most: usize) -> Option<Cause> {
    (found.len() > most).then(|| Cause::invalid(field, &"".into(), &format!("can have at most {most} characters")))
}

/// What only the newer group asks for.
fn check_strict(event: &Value, old: Option<&Value>) -> Vec<Cause> {
    let is_set = |pointer: &str| event.pointer(pointer).is_some_and(|value| !value.is_null() && *value != json!({}));
    let mut causes = Vec::new();
    if is_set("/series") && old.is_none_or(|old| old.get("series") != event.get("series")) {
        if event.pointer("/series/count").and_then(Value::as_i64).unwrap_or_default() < 2 {
            causes.push(Cause::invalid("series.count", &"".into(), "should be at least 2"));
        }
        causes.extend((!is_set("/series/lastObservedTime")).then(|| Cause::required("series.lastObservedTime")));
    }
    let Some(old) = old else {
        causes.extend((!is_set("/eventTime")).then(|| Cause::required("eventTime")));
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        if !matches!(kind, "Normal" | "Warning") {
            causes.push(Cause::invalid("type", &"".into(), &format!("has invalid value: {kind}")));
        }
        for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
            if is_set(&format!("/{field}")) {
                causes.push(Cause::invalid(field, &"".into(), "needs to be unset"));
            }
        }
        return causes;
    };
    for field in [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        // Upstream looks at it twice, and says so twice.
        "reason",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
    ] {
        let empty = json!({});
        let set = |event: &'_ Value| event.get(field).filter(|value| !value.is_null() && **value != empty).cloned();
        let (before, after) = (set(old), set(event));
        if before != after {
            let named = if field == "reportingComponent" { "reportingController" } else { field };
            causes.push(Cause::invalid(named, &after.unwrap_or_default(), "field is immutable"));
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(event: Value, strict: bool) -> Vec<String> {
        check(&event, None, strict).iter().map(Cause::line).collect()
    }

    #[test]
    fn old_clients_are_forgiven_and_new_ones_are_not() {
        let event = json!({"metadata": {"namespace": "a"}, "involvedObject": {"namespace": "a"}});
        assert_eq!(lines(event.clone(), false), [""; 0]);
        assert_eq!(lines(event, true), ["eventTime: Required value", "type: Invalid value: \"\": has invalid value: "]);
        let elsewhere = json!({"metadata": {"namespace": "a"}, "involvedObject": {"namespace": "b"}});
        assert_eq!(
            lines(elsewhere, false),
            ["involvedObject.namespace: Invalid value: \"b\": does not match event.namespace"]
        );
    }
}
