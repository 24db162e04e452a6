//! Webhook configurations: their defaults and rules. They are stored; nothing is called.

use serde_json::{Value, json};

use crate::status::Cause;

const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];

pub(super) fn complete(configuration: &mut Value, mutating: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let hooks = configuration.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten();
    for (at, hook) in hooks.enumerate() {
        default(hook, mutating);
        check(hook, &format!("webhooks[{at}]"), &mut causes);
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

fn check(hook: &Value, path: &str, causes: &mut Vec<Cause>) {
    let text = |pointer: &str| hook.pointer(pointer).and_then(Value::as_str);
    let name = text("/name").unwrap_or_default();
    if name.is_empty() {
        causes.push(Cause::required(&format!("{path}.name")));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        causes.push(Cause::invalid(&format!("{path}.name"), &name.into(), detail));
    }
    for (field, allowed) in [("failurePolicy", ["Fail", "Ignore"]), ("matchPolicy", ["Equivalent", "Exact"])] {
        let found = text(&format!("/{field}")).unwrap_or_default();
        if !allowed.contains(&found) {
            causes.push(Cause::unsupported(&format!("{path}.{field}"), &found.into(), &allowed.map(Into::into)));
        }
    }
    match text("/sideEffects") {
        None => {
            let detail = format!("must specify one of {}", SIDE_EFFECTS.join(", "));
            causes.push(Cause::required_as(&format!("{path}.sideEffects"), &detail));
        }
        Some(found) if !SIDE_EFFECTS.contains(&found) => {
            let allowed: Vec<Value> = SIDE_EFFECTS.iter().map(|effect| (*effect).into()).collect();
            causes.push(Cause::unsupported(&format!("{path}.sideEffects"), &found.into(), &allowed));
        }
        Some(_) => {}
    }
    let timeout = hook.get("timeoutSeconds").and_then(Value::as_i64).unwrap_or_default();
    if !(1..=30).contains(&timeout) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        causes.push(Cause::invalid(&format!("{path}.timeoutSeconds"), &timeout.into(), detail));
    }
    let (url, service) = (hook.pointer("/clientConfig/url"), hook.pointer("/clientConfig/service"));
    if url.is_some() == service.is_some() {
        let detail = "exactly one of url or service is required";
        causes.push(Cause::required_as(&format!("{path}.clientConfig"), detail));
    }
    let versions = hook.get("admissionReviewVersions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if versions.is_empty() {
        let field = format!("{path}.admissionReviewVersions");
        causes.push(Cause::required_as(&field, "must specify one of v1, v1beta1"));
    }
}
