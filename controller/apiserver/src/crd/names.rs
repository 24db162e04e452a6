//! The names of a definition: what they may look like, and whether another definition of the group has them already.

use serde_json::{Map, Value, json};

use super::{text, texts};
use crate::names::{self, NameRule};
use crate::object;
use crate::status::Cause;

/// Why a text is no DNS-1035 label; empty when it is one.
pub(super) fn label_fault(name: &str) -> String {
    NameRule::Word.problems(name).join(",")
}

/// Why a text is no RFC 1123 subdomain; empty when it is one.
pub(super) fn subdomain_fault(name: &str) -> String {
    names::subdomain(name, "bytes").join(",")
}

/// Adds the faults of `spec.names`.
pub(super) fn check(definition: &Value, causes: &mut Vec<Cause>) {
    let get = |name: &str| text(definition, &format!("/spec/names/{name}"));
    for name in ["plural", "singular", "kind", "listKind"] {
        if get(name).is_empty() {
            causes.push(Cause::required(&format!("spec.names.{name}")));
        }
    }
    for name in ["plural", "singular", "kind", "listKind"] {
        let found = get(name);
        let mixed = name.contains("ind");
        let fault = if mixed { label_fault(&found.to_lowercase()) } else { label_fault(found) };
        if !found.is_empty() && !fault.is_empty() {
            let lead = if mixed { "may have mixed case, but should otherwise match: " } else { "" };
            causes.push(Cause::invalid(&format!("spec.names.{name}"), &found.into(), &format!("{lead}{fault}")));
        }
    }
    let each = |name: &str, causes: &mut Vec<Cause>| {
        for (at, found) in texts(definition, &format!("/spec/names/{name}")).into_iter().enumerate() {
            let fault = label_fault(&found);
            if !fault.is_empty() {
                causes.push(Cause::invalid(&format!("spec.names.{name}[{at}]"), &found.into(), &fault));
            }
        }
    };
    each("shortNames", causes);
    if !get("kind").is_empty() && get("kind") == get("listKind") {
        let detail = "kind and listKind may not be the same";
        causes.push(Cause::invalid("spec.names.listKind", &get("listKind").into(), detail));
    }
    each("categories", causes);
}

/// The names that a definition gets, and why it does not get all of them: reason and message.
pub(super) fn accepted(definition: &Value, others: &[&Value]) -> (Value, Option<(&'static str, String)>) {
    let wanted = definition.pointer("/spec/names").and_then(Value::as_object).cloned().unwrap_or_default();
    let before = definition.pointer("/status/acceptedNames").cloned().unwrap_or_default();
    let (mut resources, mut kinds): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for other in others {
        for name in ["plural", "singular"] {
            resources.push(text(other, &format!("/status/acceptedNames/{name}")).to_owned());
        }
        resources.extend(texts(other, "/status/acceptedNames/shortNames"));
        for name in ["kind", "listKind"] {
            kinds.push(text(other, &format!("/status/acceptedNames/{name}")).to_owned());
        }
    }
    let mut found = Map::new();
    let mut conflict = None;
    let fields = [
        ("plural", "PluralConflict"),
        ("singular", "SingularConflict"),
        ("shortNames", "ShortNamesConflict"),
        ("kind", "KindConflict"),
        ("listKind", "ListKindConflict"),
    ];
    for (name, reason) in fields {
        let Some(value) = wanted.get(name) else { continue };
        let taken = if name.contains("ind") { &kinds } else { &resources };
        let names: Vec<&str> = match value {
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            other => other.as_str().into_iter().collect(),
        };
        let known = before.get(name) == Some(value);
        let clash = names.iter().filter(|name| !known && taken.iter().any(|taken| taken == **name));
        let clash: Vec<String> = clash.map(|name| format!("\"{name}\" is already in use")).collect();
        if clash.is_empty() {
            found.insert(name.to_owned(), value.clone());
            continue;
        }
        if let Some(kept) = before.get(name) {
            found.insert(name.to_owned(), kept.clone());
        }
        let message = if clash.len() > 1 { format!("[{}]", clash.join(", ")) } else { clash.concat() };
        conflict = Some((reason, message));
    }
    if let Some(categories) = wanted.get("categories") {
        found.insert("categories".to_owned(), categories.clone());
    }
    for required in ["plural", "kind"] {
        found.entry(required).or_insert_with(|| json!(""));
    }
    (found.into(), conflict)
}

/// The conditions that say whether the names were accepted and the kind is served.
pub(super) fn conditions(definition: &Value, conflict: Option<&(&'static str, String)>) -> Value {
    let before = definition.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let was = |kind: &str| before.iter().find(|condition| text(condition, "/type") == kind);
    let established = was("Established").is_some_and(|condition| text(condition, "/status") == "True");
    let condition = |kind: &str, holds: bool, reason: &str, message: &str| {
        let status = if holds { "True" } else { "False" };
        let since = was(kind).filter(|condition| text(condition, "/status") == status);
        let since = since.map_or_else(object::timestamp_now, |c| text(c, "/lastTransitionTime").to_owned());
        json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since})
    };
    let mut found = vec![match conflict {
        None => condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
        Some((reason, message)) => condition("NamesAccepted", false, reason, message),
    }];
    // What was served once stays served, as upstream.
    found.push(if conflict.is_none() || established {
        condition("Established", true, "InitialNamesAccepted", "the initial names have been accepted")
    } else {
        condition("Established", false, "NotAccepted", "not all names are accepted")
    });
    let ours = |condition: &&Value| !matches!(text(condition, "/type"), "NamesAccepted" | "Established");
    found.extend(before.iter().filter(ours).cloned());
    found.into()
}
