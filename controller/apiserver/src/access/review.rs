//! The kinds that answer questions about access: created, answered, never stored.

use serde_json::{Value, json};

use super::{Attributes, Roles, User};
use crate::gotext;
use crate::object;
use crate::registry::Resource;
use crate::status::{ApiError, Cause};
use crate::store::Index;

/// The answer to a review.
pub(crate) fn answer(index: &Index, user: &User, resource: &Resource, mut review: Value) -> Result<Value, ApiError> {
    let status = match resource.kind.as_str() {
        "SelfSubjectAccessReview" => access(index, resource, user, &review)?,
        "SubjectAccessReview" | "LocalSubjectAccessReview" => access(index, resource, &subject(&review), &review)?,
        "SelfSubjectRulesReview" => rules(index, user, &review)?,
        _ => json!({"userInfo": user.to_value()}),
    };
    object::set_field(&mut review, "status", status);
    // A review has no name and no owner.
    object::set_field(&mut review, "metadata", json!({}));
    Ok(review)
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn access(index: &Index, resource: &Resource, user: &User, review: &Value) -> Result<Value, ApiError> {
    let causes = faults(&resource.kind, review);
    if !causes.is_empty() {
        return Err(ApiError::invalid(resource.kind_subject(""), causes));
    }
    let wanted = match (part(review, "resourceAttributes"), part(review, "nonResourceAttributes")) {
        (Some(found), _) => Attributes {
            verb: text(found, "/verb"),
            group: text(found, "/group"),
            resource: text(found, "/resource"),
            subresource: text(found, "/subresource"),
            name: text(found, "/name"),
            namespace: text(found, "/namespace"),
            path: None,
        },
        (None, found) => {
            let text = |pointer: &str| found.map(|found| text(found, pointer)).unwrap_or_default();
            Attributes { verb: text("/verb"), path: Some(text("/path")), ..Attributes::default() }
        }
    };
    let allowed = user.is_master() || Roles::of(index, user, &wanted.namespace).allow(&wanted);
    Ok(json!({"allowed": allowed}))
}

/// A part of what is asked that is there.
fn part<'a>(review: &'a Value, field: &str) -> Option<&'a Value> {
    review.get("spec").and_then(|spec| spec.get(field)).filter(|found| !found.is_null())
}

/// What is wrong with a question about access, in upstream's order and words.
fn faults(kind: &str, review: &Value) -> Vec<Cause> {
    let (of_resource, of_path) = (part(review, "resourceAttributes"), part(review, "nonResourceAttributes"));
    let mut causes = Vec::new();
    let bad_path = |causes: &mut Vec<Cause>, detail: &str| {
        if let Some(found) = of_path {
            let quoted = |pointer: &str| gotext::quoted(&text(found, pointer));
            let shown = format!("{{\"Path\":{},\"Verb\":{}}}", quoted("/path"), quoted("/verb"));
            causes.push(Cause::invalid_text("spec.nonResourceAttributes", &shown, detail));
        }
    };
    if of_resource.is_some() {
        bad_path(&mut causes, "cannot be specified in combination with resourceAttributes");
    } else if of_path.is_none() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        causes.push(Cause::invalid("spec.resourceAttributes", &Value::Null, detail));
    }
    if kind != "SelfSubjectAccessReview" {
        let asked = subject(review);
        if asked.name.is_empty() && asked.groups.is_empty() {
            causes.push(Cause::invalid("spec.user", &"".into(), "at least one of user or group must be specified"));
        }
    }
    if kind == "LocalSubjectAccessReview" {
        let namespace = of_resource.map(|found| text(found, "/namespace"));
        if let Some(found) = namespace.filter(|found| found != object::namespace(review)) {
            let detail = "must match metadata.namespace";
            causes.push(Cause::invalid("spec.resourceAttributes.namespace", &found.into(), detail));
        }
        bad_path(&mut causes, "disallowed on this kind of request");
    }
    causes
}

/// Whom a review asks about: the groups are those it names, and no other.
fn subject(review: &Value) -> User {
    let groups = review.pointer("/spec/groups").and_then(Value::as_array).into_iter().flatten();
    let groups = groups.filter_map(Value::as_str).map(str::to_owned).collect();
    User { name: text(review, "/spec/user").into(), uid: text(review, "/spec/uid"), groups, extra: Vec::new() }
}

fn rules(index: &Index, user: &User, review: &Value) -> Result<Value, ApiError> {
    let namespace = text(review, "/spec/namespace");
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let (mut resources, mut paths) = Roles::of(index, user, &namespace).to_lists();
    if user.is_master() && resources.is_empty() {
        resources.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
        paths.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
    }
    Ok(json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false}))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers of a real server (v1.36.3).
    #[test]
    fn faults_are_told_as_upstream_tells_them() {
        let path = json!({"path": "/x", "verb": "get"});
        let of_path = |detail: &str| {
            format!("spec.nonResourceAttributes: Invalid value: {{\"Path\":\"/x\",\"Verb\":\"get\"}}: {detail}")
        };
        let namespace = |found: &str| {
            format!("spec.resourceAttributes.namespace: Invalid value: \"{found}\": must match metadata.namespace")
        };
        let both = of_path("cannot be specified in combination with resourceAttributes");
        let user = "spec.user: Invalid value: \"\": at least one of user or group must be specified".to_owned();
        let neither = "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or \
                       resourceAttributes must be specified";
        let local = "LocalSubjectAccessReview";
        let in_other = json!({"namespace": "o", "verb": "get"});
        let cases = [
            (local, json!({"user": "u", "resourceAttributes": {"namespace": "default", "verb": "get"}}), vec![]),
            (local, json!({"user": "u", "resourceAttributes": in_other}), vec![namespace("o")]),
            (local, json!({"user": "u", "resourceAttributes": {"verb": "get"}}), vec![namespace("")]),
            (
                local,
                json!({"user": "u", "nonResourceAttributes": path}),
                vec![of_path("disallowed on this kind of request")],
            ),
            (
                local,
                json!({"nonResourceAttributes": path, "resourceAttributes": in_other}),
                vec![both.clone(), user.clone(), namespace("o"), of_path("disallowed on this kind of request")],
            ),
            (local, json!({}), vec![neither.to_owned(), user.clone()]),
            (
                "SubjectAccessReview",
                json!({"nonResourceAttributes": path, "resourceAttributes": in_other}),
                vec![both.clone(), user],
            ),
            (
                "SelfSubjectAccessReview",
                json!({"nonResourceAttributes": path, "resourceAttributes": in_other}),
                vec![both],
            ),
            ("SelfSubjectAccessReview", json!({"nonResourceAttributes": path}), vec![]),
            ("SelfSubjectAccessReview", json!({"resourceAttributes": in_other}), vec![]),
        ];
        for (kind, spec, wanted) in cases {
            let review = json!({"kind": kind, "metadata": {"namespace": "default"}, "spec": spec});
            let found: Vec<String> = faults(kind, &review).iter().map(Cause::line).collect();
            assert_eq!(found, wanted, "{review}");
        }
    }
}
