//! Of which writes a webhook is asked: which operations, groups, versions and resources a rule may name together.

use std::collections::HashSet;

use serde_json::Value;

use crate::status::Cause;

/// In upstream's order.
const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: &[&str] = &["*", "Cluster", "Namespaced"];

/// Adds the faults of a rule.
pub(super) fn check(rule: &Value, path: &str, causes: &mut Vec<Cause>) {
    let list = |field: &str| rule.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let place = |field: &str| format!("{path}.{field}");
    let values = |known: &[&str]| known.iter().map(|known| Value::from(*known)).collect::<Vec<_>>();
    let operations = list("operations");
    check_wildcard(operations, &place("operations"), "operations", causes);
    for (at, operation) in operations.iter().enumerate() {
        if !OPERATIONS.iter().any(|known| operation == known) {
            let path = format!("{path}.operations[{at}]");
            causes.push(Cause::unsupported(&path, operation, &values(OPERATIONS)));
        }
    }
    check_wildcard(list("apiGroups"), &place("apiGroups"), "API groups", causes);
    let versions = list("apiVersions");
    check_wildcard(versions, &place("apiVersions"), "API versions", causes);
    for (at, _) in versions.iter().enumerate().filter(|(_, version)| *version == "") {
        causes.push(Cause::required(&format!("{path}.apiVersions[{at}]")));
    }
    check_resources(list("resources"), &place("resources"), causes);
    if let Some(scope) = rule.get("scope").filter(|scope| !SCOPES.iter().any(|known| scope == known)) {
        causes.push(Cause::unsupported(&place("scope"), scope, &values(SCOPES)));
    }
}

/// A list must say something, and all of it at once or each thing.
fn check_wildcard(list: &[Value], path: &str, what: &str, causes: &mut Vec<Cause>) {
    if list.is_empty() {
        causes.push(Cause::required(path));
    }
    if list.len() > 1 && list.iter().any(|found| found == "*") {
        let detail = format!("if '*' is present, must not specify other {what}");
        causes.push(Cause::invalid(path, &Value::Array(list.to_vec()), &detail));
    }
}

fn check_resources(list: &[Value], path: &str, causes: &mut Vec<Cause>) {
    if list.is_empty() {
        causes.push(Cause::required(path));
    }
    let (mut whole, mut everywhere) = (HashSet::new(), HashSet::new());
    let mut plain = false;
    for (at, found) in list.iter().enumerate() {
        let text = found.as_str().unwrap_or_default();
        let path = format!("{path}[{at}]");
        if text.is_empty() {
            causes.push(Cause::required(&path));
            continue;
        }
        let Some((resource, part)) = text.split_once('/') else {
            // The last one without a subresource counts, as upstream.
            plain = text != "*";
            continue;
        };
        if whole.contains(resource) {
            let detail = format!("if '{resource}/*' is present, must not specify {text}");
            causes.push(Cause::invalid(&path, found, &detail));
        }
        if everywhere.contains(part) {
            let detail = format!("if '*/{part}' is present, must not specify {text}");
            causes.push(Cause::invalid(&path, found, &detail));
        }
        if part == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            everywhere.insert(part);
        }
    }
    let has = |wanted: &str| list.iter().any(|found| found == wanted);
    let all = Value::Array(list.to_vec());
    if list.len() > 1 && has("*/*") {
        causes.push(Cause::invalid(path, &all, "if '*/*' is present, must not specify other resources"));
    }
    if has("*") && plain {
        let detail = "if '*' is present, must not specify other resources without subresources";
        causes.push(Cause::invalid(path, &all, detail));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The answers of a real server.
    #[test]
    fn resources_must_not_say_a_thing_twice() {
        let lines = |list: Value| -> Vec<String> {
            let mut causes = Vec::new();
            check_resources(list.as_array().unwrap(), "r", &mut causes);
            causes.iter().map(Cause::line).collect()
        };
        assert_eq!(lines(json!(["x", "y/z", "*/status"])), [""; 0]);
        assert_eq!(lines(json!([])), ["r: Required value"]);
        assert_eq!(
            lines(json!(["x/*", "x/y"])),
            ["r[1]: Invalid value: \"x/y\": if 'x/*' is present, must not specify x/y"]
        );
        assert_eq!(
            lines(json!(["*", "x"])),
            [
                "r: Invalid value: [\"*\",\"x\"]: if '*' is present, must not specify other resources without subresources"
            ]
        );
    }
}
