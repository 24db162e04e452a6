//! The kinds that answer questions about access: created, answered, never stored.

use serde_json::{Value, json};

use super::{Attributes, Roles, User};
use crate::object;
use crate::registry::Resource;
use crate::status::{ApiError, Cause};
use crate::store::Index;

/// The answer to a review.
pub(crate) fn answer(index: &Index, user: &User, resource: &Resource, mut review: Value) -> Result<Value, ApiError> {
    let status = match resource.kind.as_str() {
        "SelfSubjectAccessReview" => access(index, resource, user, &review)?,
        "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            access(index, resource, &subject(resource, &review)?, &review)?
        }
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

fn refuse(resource: &Resource, cause: Cause) -> ApiError {
    ApiError::invalid(resource.kind_subject(""), vec![cause])
}

fn access(index: &Index, resource: &Resource, user: &User, review: &Value) -> Result<Value, ApiError> {
    let of_resource = review.pointer("/spec/resourceAttributes").filter(|found| !found.is_null());
    let of_path = review.pointer("/spec/nonResourceAttributes").filter(|found| !found.is_null());
    let wanted = match (of_resource, of_path) {
        (Some(found), None) => Attributes {
            verb: text(found, "/verb"),
            group: text(found, "/group"),
            resource: text(found, "/resource"),
            subresource: text(found, "/subresource"),
            name: text(found, "/name"),
            namespace: text(found, "/namespace"),
            path: None,
        },
        (None, Some(found)) => {
            Attributes { verb: text(found, "/verb"), path: Some(text(found, "/path")), ..Attributes::default() }
        }
        (Some(_), Some(_)) => {
            let detail = "cannot be specified in combination with resourceAttributes";
            let found = of_path.cloned().unwrap_or_default();
            return Err(refuse(resource, Cause::invalid("spec.nonResourceAttributes", &found, detail)));
        }
        (None, None) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            return Err(refuse(resource, Cause::invalid("spec.resourceAttributes", &Value::Null, detail)));
        }
    };
    let allowed = user.is_master() || Roles::of(index, user, &wanted.namespace).allow(&wanted);
    Ok(json!({"allowed": allowed}))
}

fn subject(resource: &Resource, review: &Value) -> Result<User, ApiError> {
    let name = text(review, "/spec/user");
    let groups = review.pointer("/spec/groups").and_then(Value::as_array).into_iter().flatten();
    let groups: Vec<&str> = groups.filter_map(Value::as_str).collect();
    if name.is_empty() && groups.is_empty() {
        let detail = "at least one of user or group must be specified";
        return Err(refuse(resource, Cause::invalid("spec.user", &name.into(), detail)));
    }
    // The groups are those asked about, and no other.
    let groups = groups.into_iter().map(str::to_owned).collect();
    Ok(User { name: name.into(), uid: text(review, "/spec/uid"), groups, extra: Vec::new() })
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
