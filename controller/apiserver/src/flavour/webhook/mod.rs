//! Webhook configurations: their defaults and rules. They are stored; nothing is called.

mod rules;

use std::collections::HashSet;

use serde_json::{Value, json};

use super::selector;
use crate::names::NameRule;
use crate::status::Cause;
use crate::webhook;

const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];
const REINVOCATIONS: [&str; 2] = ["IfNeeded", "Never"];
/// Versions of AdmissionReview that upstream speaks.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn complete(configuration: &mut Value, mutating: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut names = HashSet::new();
    let hooks = configuration.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten();
    for (at, hook) in hooks.enumerate() {
        default(hook, mutating);
        let path = format!("webhooks[{at}]");
        check(hook, &path, mutating, &mut causes);
        check_versions(hook, &format!("{path}.admissionReviewVersions"), &mut causes);
        let name = hook.get("name").and_then(Value::as_str).unwrap_or_default();
        if !name.is_empty() && !names.insert(name.to_owned()) {
            causes.push(Cause::duplicate(&format!("{path}.name"), &name.into()));
        }
    }
    causes
}

fn default(hook: &mut Value, mutating: bool) {
    let Some(fields) = hook.as_object_mut() else { return };
    for (name, value) in [
        ("failurePolicy", json!("Fail")),
        ("matchPolicy", json!("Equivalent")),
        ("namespaceSelector", json!({})),
        ("objectSelector", json!({})),
        ("timeoutSeconds", json!(10)),
    ] {
        fields.entry(name).or_insert(value);
    }
    if mutating {
        fields.entry("reinvocationPolicy").or_insert_with(|| "Never".into());
    }
    if let Some(service) = fields.get_mut("clientConfig").and_then(|config| config.get_mut("service"))
        && let Some(service) = service.as_object_mut()
    {
        service.entry("port").or_insert_with(|| 443.into());
    }
    for rule in fields.get_mut("rules").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(rule) = rule.as_object_mut() {
            rule.entry("scope").or_insert_with(|| "*".into());
        }
    }
}

fn check(hook: &Value, path: &str, mutating: bool, causes: &mut Vec<Cause>) {
    let text = |pointer: &str| hook.pointer(pointer).and_then(Value::as_str);
    check_name(text("/name").unwrap_or_default(), &format!("{path}.name"), causes);
    let rules = hook.get("rules").and_then(Value::as_array).into_iter().flatten();
    for (at, rule) in rules.enumerate() {
        rules::check(rule, &format!("{path}.rules[{at}]"), causes);
    }
    let mut one_of = |field: &str, allowed: &[&str]| {
        let found = text(&format!("/{field}")).unwrap_or_default();
        if !allowed.contains(&found) {
            let allowed: Vec<Value> = allowed.iter().map(|allowed| (*allowed).into()).collect();
            causes.push(Cause::unsupported(&format!("{path}.{field}"), &found.into(), &allowed));
        }
    };
    one_of("failurePolicy", &["Fail", "Ignore"]);
    one_of("matchPolicy", &["Equivalent", "Exact"]);
    if text("/sideEffects").is_some() {
        one_of("sideEffects", SIDE_EFFECTS);
    } else {
        let detail = format!("must specify one of {}", SIDE_EFFECTS.join(", "));
        causes.push(Cause::required_as(&format!("{path}.sideEffects"), &detail));
    }
    let timeout = hook.get("timeoutSeconds").and_then(Value::as_i64).unwrap_or_default();
    if !(1..=30).contains(&timeout) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        causes.push(Cause::invalid(&format!("{path}.timeoutSeconds"), &timeout.into(), detail));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        let selector = hook.get(field).unwrap_or(&Value::Null);
        selector::check(selector, &format!("{path}.{field}"), causes);
    }
    if mutating {
        let found = text("/reinvocationPolicy").unwrap_or_default();
        if !REINVOCATIONS.contains(&found) {
            let (field, allowed) = (format!("{path}.reinvocationPolicy"), REINVOCATIONS.map(Into::into));
            causes.push(Cause::unsupported(&field, &found.into(), &allowed));
        }
    }
    let config = format!("{path}.clientConfig");
    match (text("/clientConfig/url"), hook.pointer("/clientConfig/service")) {
        (Some(url), None) => webhook::check_url(url, &format!("{config}.url"), causes),
        (None, Some(service)) => webhook::check_service(service, &format!("{config}.service"), causes),
        _ => causes.push(Cause::required_as(&config, "exactly one of url or service is required")),
    }
}

fn check_name(name: &str, path: &str, causes: &mut Vec<Cause>) {
    let problems = NameRule::Subdomain.problems(name);
    if name.is_empty() {
        causes.push(Cause::required(path));
    } else if !problems.is_empty() {
        causes.push(Cause::invalid(path, &name.into(), &problems.join(",")));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        causes.push(Cause::invalid(path, &name.into(), detail));
    }
}

fn check_versions(hook: &Value, path: &str, causes: &mut Vec<Cause>) {
    let versions = hook.get("admissionReviewVersions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let known = VERSIONS.join(", ");
    if versions.is_empty() {
        causes.push(Cause::required_as(path, &format!("must specify one of {known}")));
        return;
    }
    for (at, version) in versions.iter().enumerate() {
        let path = format!("{path}[{at}]");
        if versions.iter().take(at).any(|before| before == version) {
            causes.push(Cause::invalid(&path, version, "duplicate version"));
        } else {
            let problems = NameRule::Word.problems(version.as_str().unwrap_or_default());
            causes.extend(problems.iter().map(|why| Cause::invalid(&path, version, why)));
        }
    }
    if !versions.iter().any(|version| VERSIONS.iter().any(|known| version == known)) {
        let found = Value::Array(versions.to_vec());
        causes.push(Cause::invalid(path, &found, &format!("must include at least one of {known}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers of a real server.
    #[test]
    fn what_upstream_refuses_is_refused() {
        let hook = |name: &str| {
            json!({"name": name, "clientConfig": {"url": "https://h/x"}, "sideEffects": "None",
                                       "admissionReviewVersions": ["v1"]})
        };
        let lines = |hooks: Value| -> Vec<String> {
            complete(&mut json!({"webhooks": hooks}), false).iter().map(Cause::line).collect()
        };
        assert_eq!(lines(json!([hook("a.b.c"), hook("a.b.d")])), [""; 0]);
        assert_eq!(lines(json!([hook("a.b.c"), hook("a.b.c")])), ["webhooks[1].name: Duplicate value: \"a.b.c\""]);
        assert_eq!(lines(json!([hook("")])), ["webhooks[0].name: Required value"]);
        let mut odd = hook("a.b.c");
        crate::object::set_field(&mut odd, "admissionReviewVersions", json!(["v2", "v2"]));
        assert_eq!(
            lines(json!([odd])),
            [
                "webhooks[0].admissionReviewVersions[1]: Invalid value: \"v2\": duplicate version",
                "webhooks[0].admissionReviewVersions: Invalid value: [\"v2\",\"v2\"]: must include at least one of v1, v1beta1",
            ]
        );
    }
}
