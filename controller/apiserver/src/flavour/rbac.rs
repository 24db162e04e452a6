//! Roles and bindings: what a rule must say, whom a binding may name, and that its role stays.

use serde_json::{Map, Value, json};

use super::selector;
use crate::builtin::RBAC;
use crate::names::NameRule;
use crate::object;
use crate::status::Cause;

const SUBJECTS: &[&str] = &["ServiceAccount", "User", "Group"];

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn complete_role(role: &Value, namespaced: bool) -> Vec<Cause> {
    let rules = role.get("rules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut causes = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        check_rule(rule, &format!("rules[{at}]"), namespaced, &mut causes);
    }
    if let Some(selectors) = role.pointer("/aggregationRule").filter(|found| !found.is_null()) {
        let none = selectors.get("clusterRoleSelectors").and_then(Value::as_array).is_none_or(Vec::is_empty);
        if none {
            let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            causes.push(Cause::required_as("aggregationRule.clusterRoleSelectors", detail));
        }
        let all = selectors.get("clusterRoleSelectors").and_then(Value::as_array).into_iter().flatten();
        for (at, selector) in all.enumerate() {
            let (path, before) = (format!("aggregationRule.clusterRoleSelectors[{at}]"), causes.len());
            selector::check(selector, &path, &mut causes);
            if causes.len() > before {
                causes.push(Cause::invalid(&path, &Value::Null, "invalid label selector."));
            }
        }
    }
    causes
}

/// Stores no rules rather than an empty list of them, as upstream's encoding does.
pub(super) fn store_rules(role: &mut Value) {
    if role.get("rules").is_some_and(|rules| rules.as_array().is_none_or(Vec::is_empty)) {
        object::remove_field(role, "rules");
    }
}

/// Shows the rules even when there are none, as upstream does. Stored, they are not there.
pub(super) fn show_rules(role: &mut Value) {
    if let Some(fields) = role.as_object_mut() {
        fields.entry("rules").or_insert(Value::Null);
    }
}

fn check_rule(rule: &Value, path: &str, namespaced: bool, causes: &mut Vec<Cause>) {
    let is_empty = |field: &str| rule.get(field).and_then(Value::as_array).is_none_or(Vec::is_empty);
    if is_empty("verbs") {
        causes.push(Cause::required_as(&format!("{path}.verbs"), "verbs must contain at least one value"));
    }
    if !is_empty("nonResourceURLs") {
        let field = format!("{path}.nonResourceURLs");
        let found = rule.get("nonResourceURLs").cloned().unwrap_or_default();
        if namespaced {
            causes.push(Cause::invalid(&field, &found, "namespaced rules cannot apply to non-resource URLs"));
        }
        if !is_empty("apiGroups") || !is_empty("resources") || !is_empty("resourceNames") {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            causes.push(Cause::invalid(&field, &found, detail));
        }
        return;
    }
    if is_empty("apiGroups") {
        let detail = "resource rules must supply at least one api group";
        causes.push(Cause::required_as(&format!("{path}.apiGroups"), detail));
    }
    if is_empty("resources") {
        let detail = "resource rules must supply at least one resource";
        causes.push(Cause::required_as(&format!("{path}.resources"), detail));
    }
}

pub(super) fn complete_binding(binding: &mut Value, old: Option<&Value>, namespaced: bool) -> Vec<Cause> {
    if binding.get("roleRef").is_none() {
        object::set_field(binding, "roleRef", json!({}));
    }
    if let Some(role) = binding.get_mut("roleRef").and_then(Value::as_object_mut) {
        default_group(role);
    }
    for subject in binding.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(subject) = subject.as_object_mut() else { continue };
        if matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
            default_group(subject);
        }
    }
    let empty = json!({});
    let role = binding.get("roleRef").unwrap_or(&empty);
    let mut causes = check_role_ref(role, namespaced);
    let subjects = binding.get("subjects").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (at, subject) in subjects.iter().enumerate() {
        check_subject(subject, &format!("subjects[{at}]"), namespaced, &mut causes);
    }
    if old.and_then(|old| old.get("roleRef")).is_some_and(|before| before != role) {
        let shown = json!({"APIGroup": text(role, "apiGroup"), "Kind": text(role, "kind"), "Name": text(role, "name")});
        causes.push(Cause::invalid("roleRef", &shown, "cannot change roleRef"));
    }
    causes
}

fn default_group(reference: &mut Map<String, Value>) {
    let missing = reference.get("apiGroup").and_then(Value::as_str).is_none_or(str::is_empty);
    if missing {
        reference.insert("apiGroup".to_owned(), RBAC.into());
    }
}

fn check_role_ref(role: &Value, namespaced: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if text(role, "apiGroup") != RBAC {
        causes.push(Cause::unsupported("roleRef.apiGroup", &text(role, "apiGroup").into(), &[RBAC.into()]));
    }
    let kinds: &[Value] = if namespaced { &["Role".into(), "ClusterRole".into()] } else { &["ClusterRole".into()] };
    if !kinds.iter().any(|kind| kind == text(role, "kind")) {
        causes.push(Cause::unsupported("roleRef.kind", &text(role, "kind").into(), kinds));
    }
    let name = text(role, "name");
    if name.is_empty() {
        causes.push(Cause::required("roleRef.name"));
    } else {
        let problems = NameRule::PathSegment.problems(name);
        causes.extend(problems.iter().map(|why| Cause::invalid("roleRef.name", &name.into(), why)));
    }
    causes
}

fn check_subject(subject: &Value, path: &str, namespaced: bool, causes: &mut Vec<Cause>) {
    if text(subject, "name").is_empty() {
        causes.push(Cause::required(&format!("{path}.name")));
    }
    let (kind, group) = (text(subject, "kind"), text(subject, "apiGroup"));
    let wrong_group = |wanted: &str| {
        let field = format!("{path}.apiGroup");
        (group != wanted).then(|| Cause::unsupported(&field, &group.into(), &[wanted.into()]))
    };
    match kind {
        "ServiceAccount" => {
            let name = text(subject, "name");
            let problems = if name.is_empty() { Vec::new() } else { NameRule::Subdomain.problems(name) };
            causes.extend(problems.iter().map(|why| Cause::invalid(&format!("{path}.name"), &name.into(), why)));
            causes.extend(wrong_group(""));
            // In a namespace an account without one is of the binding's own.
            if !namespaced && text(subject, "namespace").is_empty() {
                causes.push(Cause::required(&format!("{path}.namespace")));
            }
        }
        "User" | "Group" => causes.extend(wrong_group(RBAC)),
        _ => {
            let known: Vec<Value> = SUBJECTS.iter().map(|kind| (*kind).into()).collect();
            causes.push(Cause::unsupported(&format!("{path}.kind"), &kind.into(), &known));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(causes: &[Cause]) -> Vec<String> {
        causes.iter().map(Cause::line).collect()
    }

    /// The answers of a real server.
    #[test]
    fn rules_and_subjects_are_refused_as_upstream_refuses_them() {
        let role = json!({"rules": [
            {"verbs": [], "resources": ["a"]}, {"verbs": ["get"], "nonResourceURLs": ["/a"], "resources": ["x"]},
            {"verbs": ["get"], "apiGroups": [""]},
        ]});
        assert_eq!(
            lines(&complete_role(&role, false)),
            [
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[1].nonResourceURLs: Invalid value: [\"/a\"]: rules cannot apply to both regular resources and non-resource URLs",
                "rules[2].resources: Required value: resource rules must supply at least one resource",
            ]
        );
        let mut binding = json!({
            "subjects": [{"kind": "User"}, {"kind": "ServiceAccount", "name": "x"}, {"kind": "Odd", "name": "c"},
                         {"kind": "Group", "name": "g", "apiGroup": "x"}],
            "roleRef": {"kind": "Role", "name": ""},
        });
        assert_eq!(
            lines(&complete_binding(&mut binding, None, false)),
            [
                "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"",
                "roleRef.name: Required value",
                "subjects[0].name: Required value",
                "subjects[1].namespace: Required value",
                "subjects[2].kind: Unsupported value: \"Odd\": supported values: \"ServiceAccount\", \"User\", \"Group\"",
                "subjects[3].apiGroup: Unsupported value: \"x\": supported values: \"rbac.authorization.k8s.io\"",
            ]
        );
    }

    #[test]
    fn a_binding_keeps_its_role() {
        let old = json!({"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}});
        let mut new = json!({"roleRef": {"kind": "ClusterRole", "name": "edit"}});
        assert_eq!(
            lines(&complete_binding(&mut new, Some(&old), false)),
            [
                "roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"ClusterRole\",\"Name\":\"edit\"}: cannot change roleRef"
            ]
        );
    }
}
