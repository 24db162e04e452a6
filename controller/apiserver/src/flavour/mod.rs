//! What is special about single kinds: fields filled in on write, rules of their own, and the second face of events.

mod data;
mod event;
pub(crate) mod namespace;
mod rbac;
mod selector;
mod webhook;

use serde_json::Value;

use crate::object;
use crate::registry::{Flavour, Resource};
use crate::status::{ApiError, Cause};

/// Fills in what the server sets on every write of a kind, and says what is wrong with the object. `old` is the stored
/// object on updates.
pub(crate) fn complete(resource: &Resource, object: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    match resource.flavour {
        Flavour::Namespace => namespace::complete(object, old),
        Flavour::Secret => data::complete_secret(object, old),
        Flavour::ConfigMap => data::complete_config_map(object, old),
        Flavour::CoreEvent => event::check(object, old, false),
        Flavour::NewEvent => check_new_event(object, old),
        Flavour::Lease => check_lease(object),
        Flavour::Role => rbac::complete_role(object, true),
        Flavour::ClusterRole => rbac::complete_role(object, false),
        Flavour::RoleBinding => rbac::complete_binding(object, old, true),
        Flavour::ClusterRoleBinding => rbac::complete_binding(object, old, false),
        Flavour::ValidatingWebhook => webhook::complete(object, false),
        Flavour::MutatingWebhook => webhook::complete(object, true),
        Flavour::Definition => crate::crd::complete(object, old),
        Flavour::ServiceAccount | Flavour::Review | Flavour::Custom => Vec::new(),
    }
}

/// Events are checked in the form they are stored in.
fn check_new_event(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let core = |event: &Value| {
        let mut event = event.clone();
        event::to_core(&mut event);
        event
    };
    event::check(&core(object), old.map(core).as_ref(), true)
}

fn check_lease(lease: &mut Value) -> Vec<Cause> {
    if lease.get("spec").is_none_or(Value::is_null) {
        object::set_field(lease, "spec", Value::Object(serde_json::Map::new()));
    }
    let number = |field: &str| lease.get("spec").and_then(|spec| spec.get(field)).and_then(Value::as_i64);
    let mut causes = Vec::new();
    if let Some(seconds) = number("leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        causes.push(Cause::invalid("spec.leaseDurationSeconds", &seconds.into(), "must be greater than 0"));
    }
    if let Some(count) = number("leaseTransitions").filter(|count| *count < 0) {
        causes.push(Cause::invalid("spec.leaseTransitions", &count.into(), "must be greater than or equal to 0"));
    }
    causes
}

/// Drops the fields of a feature that is off, as it is upstream by default.
fn drop_unused(lease: &mut Value) {
    if let Some(spec) = lease.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("strategy");
        spec.remove("preferredHolder");
    }
}

/// Turns an object of the served version into the stored form.
///
/// # Errors
/// When the conversion between the two versions fails.
pub(crate) fn to_stored(resource: &Resource, mut object: Value) -> Result<Value, ApiError> {
    object::shorten_numbers(&mut object);
    match resource.flavour {
        Flavour::Custom => return resource.conversion.store(object, &resource.stored_api_version),
        Flavour::NewEvent => event::to_core(&mut object),
        Flavour::Role | Flavour::ClusterRole => rbac::store_rules(&mut object),
        Flavour::Lease => drop_unused(&mut object),
        _ => {}
    }
    object::set_field(&mut object, "apiVersion", resource.stored_api_version.as_str().into());
    Ok(object)
}

/// Turns a stored object into the served version.
///
/// # Errors
/// When the conversion between the two versions fails.
pub(crate) fn to_served(resource: &Resource, mut object: Value) -> Result<Value, ApiError> {
    match resource.flavour {
        Flavour::Custom => return resource.conversion.convert(object, &resource.api_version()),
        Flavour::NewEvent => event::to_new(&mut object),
        Flavour::CoreEvent => event::show_core(&mut object),
        Flavour::Role | Flavour::ClusterRole => rbac::show_rules(&mut object),
        _ => {}
    }
    object::set_field(&mut object, "apiVersion", resource.api_version().into());
    Ok(object)
}

/// Whether this stored object can be served as it is.
pub(crate) fn is_stored_form(resource: &Resource, object: &Value) -> bool {
    match resource.flavour {
        Flavour::NewEvent | Flavour::CoreEvent | Flavour::Role | Flavour::ClusterRole => false,
        Flavour::Custom => resource.conversion.is_current(object, &resource.api_version()),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn builtin(flavour: Flavour) -> Resource {
        crate::builtin::resources().into_iter().find(|r| r.flavour == flavour).unwrap()
    }

    #[test]
    fn events_have_two_faces() {
        let new = builtin(Flavour::NewEvent);
        let sent = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "regarding": {"name": "a"}, "note": "n"});
        let stored = to_stored(&new, sent.clone()).unwrap();
        assert_eq!(
            stored,
            json!({"apiVersion": "v1", "kind": "Event", "involvedObject": {"name": "a"}, "message": "n"})
        );
        let mut served = sent;
        // the newer face shows these even when they are not set
        for field in ["eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"] {
            object::set_field(&mut served, field, serde_json::Value::Null);
        }
        object::set_field(&mut served, "deprecatedSource", json!({}));
        assert_eq!(to_served(&new, stored).unwrap(), served);
    }
}
