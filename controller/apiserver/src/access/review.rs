//! The kinds that answer questions about access: created, answered, never stored.

use serde_json::{Map, Value, json};

use super::{Attributes, Roles, User};
use crate::builtin::Message;
use crate::gotext;
use crate::object;
use crate::registry::Resource;
use crate::status::{ApiError, Cause, Subject};
use crate::store::Index;

/// The answer to a review.
pub(crate) fn answer(index: &Index, user: &User, resource: &Resource, mut review: Value) -> Result<Value, ApiError> {
    let status = match resource.kind.as_str() {
        "SelfSubjectAccessReview" => access(index, resource, user, &review)?,
        "SubjectAccessReview" | "LocalSubjectAccessReview" => access(index, resource, &subject(&review), &review)?,
        // What follows is answered anew, with nothing of the question.
        "SelfSubjectRulesReview" => {
            let status = rules(index, user, &review)?;
            object::set_field(&mut review, "metadata", json!({}));
            object::set_field(&mut review, "spec", json!({}));
            status
        }
        _ => {
            object::set_field(&mut review, "metadata", json!({"creationTimestamp": object::timestamp_now()}));
            json!({"userInfo": user.to_value()})
        }
    };
    object::set_field(&mut review, "status", status);
    Ok(review)
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn access(index: &Index, resource: &Resource, user: &User, review: &Value) -> Result<Value, ApiError> {
    let causes = faults(&resource.kind, review);
    if !causes.is_empty() {
        // Upstream's errors about reviews do not name the kind.
        let subject = Subject { group: resource.group.clone(), ..Subject::default() };
        return Err(ApiError::invalid(subject, causes));
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
    if user.is_master() {
        return Ok(json!({"allowed": true}));
    }
    let by = Roles::of(index, user, &wanted.namespace).allowed_by(&wanted);
    Ok(match by {
        Some(by) => json!({"allowed": true, "reason": format!("RBAC: allowed by {by}")}),
        None => json!({"allowed": false}),
    })
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
    let is_local = kind == "LocalSubjectAccessReview";
    let metadata = review.get("metadata").and_then(Value::as_object);
    let said = |name: &str| name != "managedFields" && !(is_local && name == "namespace");
    if metadata.is_some_and(|fields| fields.keys().any(|name| said(name))) {
        let shown = metadata.map(in_go_order).unwrap_or_default();
        let detail = if is_local { "must be empty except for namespace" } else { "must be empty" };
        causes.push(Cause::invalid_text("metadata", &shown, detail));
    }
    if is_local {
        let namespace = of_resource.map(|found| text(found, "/namespace"));
        if let Some(found) = namespace.filter(|found| found != object::namespace(review)) {
            let detail = "must match metadata.namespace";
            causes.push(Cause::invalid("spec.resourceAttributes.namespace", &found.into(), detail));
        }
        bad_path(&mut causes, "disallowed on this kind of request");
    }
    causes
}

/// Metadata as JSON, with its fields in the order that upstream has them in.
fn in_go_order(metadata: &Map<String, Value>) -> String {
    Message::named("meta.v1.ObjectMeta").map(|message| message.in_order(metadata)).unwrap_or_default()
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
            let metadata = if kind == local { json!({"namespace": "default"}) } else { json!({}) };
            let review = json!({"kind": kind, "metadata": metadata, "spec": spec});
            let found: Vec<String> = faults(kind, &review).iter().map(Cause::line).collect();
            assert_eq!(found, wanted, "{review}");
        }
    }

    /// The answer of a real server (v1.36.3).
    #[test]
    fn a_review_has_no_name() {
        let metadata = json!({"managedFields": [{"time": "t", "manager": "m", "apiVersion": "v1"}], "name": "x"});
        let spec = json!({"resourceAttributes": {"verb": "get"}});
        let review = json!({"metadata": metadata, "spec": spec});
        let found: Vec<String> = faults("SelfSubjectAccessReview", &review).iter().map(Cause::line).collect();
        let wanted = "metadata: Invalid value: {\"name\":\"x\",\"managedFields\":[{\"manager\":\"m\",\
                      \"apiVersion\":\"v1\",\"time\":\"t\"}]}: must be empty";
        assert_eq!(found, [wanted]);
    }
}
