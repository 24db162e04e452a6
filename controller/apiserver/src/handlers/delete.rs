//! Delete and deletecollection. Finalizers hold an object back; what hangs on it is removed by garbage collection.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::{Call, write, written};
use crate::core::Core;
use crate::flavour;
use crate::lifecycle::{self, Removal};
use crate::object;
use crate::registry::{Flavour, Resource};
use crate::represent::answer;
use crate::request::parse_json;
use crate::selector::Selector;
use crate::status::{ApiError, Subject};
use crate::store::Txn;

/// Namespaces that the server itself needs.
const KEPT_NAMESPACES: &[&str] = &["default", "kube-system"];

#[derive(Debug, Default, Clone)]
struct Options {
    uid: Option<String>,
    version: Option<String>,
    orphan: bool,
    dry_run: bool,
}

impl Options {
    fn parse(call: &Call, body: &[u8]) -> Result<Self, ApiError> {
        let body = if body.is_empty() { Value::Null } else { parse_json(&call.headers, body)? };
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let policy = text("/propagationPolicy").unwrap_or_else(|| call.query.get("propagationPolicy").to_owned());
        if !matches!(policy.as_str(), "" | "Background" | "Foreground" | "Orphan") {
            return Err(ApiError::bad_request(format!("propagationPolicy: Unsupported value: {policy:?}")));
        }
        let dry_run = body.get("dryRun").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        Ok(Self {
            uid: text("/preconditions/uid"),
            version: text("/preconditions/resourceVersion"),
            // Foreground is carried out as background: owners do not wait for their dependents.
            orphan: policy == "Orphan" || body.get("orphanDependents") == Some(&Value::Bool(true)),
            dry_run: dry_run || call.query.dry_run()?,
        })
    }

    fn check(&self, subject: Subject, object: &Value) -> Result<(), ApiError> {
        let pairs = [
            ("UID", &self.uid, object::uid(object)),
            ("ResourceVersion", &self.version, object::resource_version(object)),
        ];
        for (what, wanted, found) in pairs {
            if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) {
                let why =
                    format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}");
                return Err(ApiError::conflict(subject, &why));
            }
        }
        Ok(())
    }
}

pub(super) async fn delete(core: &Core, call: Call, name: String, body: &Bytes) -> Result<Response, ApiError> {
    let options = Options::parse(&call, body)?;
    let (resource, namespace) = (Arc::clone(&call.resource), call.namespace.clone());
    let removal = core
        .store()
        .write(move |txn| {
            let current = write::stored(txn, &resource, &namespace, &name)?;
            options.check(resource.subject(&name), &current)?;
            write::dry_run(txn, options.dry_run, |txn| remove(txn, &resource, &current, options.orphan))
        })
        .await?;
    match removal {
        Removal::Gone(object) => Ok(gone(&call.resource, &object)),
        Removal::Waiting(object) => written(&call, StatusCode::OK, &object, &[]),
    }
}

pub(super) async fn delete_collection(core: &Core, call: Call, body: &Bytes) -> Result<Response, ApiError> {
    let resource = Arc::clone(&call.resource);
    // A namespaced kind is deleted in one namespace at a time: a forgotten one must not mean all of them.
    if resource.flavour == Flavour::Namespace || (resource.namespaced && call.namespace.is_empty()) {
        return Err(ApiError::method_not_allowed());
    }
    let options = Options::parse(&call, body)?;
    let selector = Selector::parse(&resource, call.query.get("labelSelector"), call.query.get("fieldSelector"))?;
    let namespace = call.namespace.clone();
    let removed = core
        .store()
        .write(move |txn| {
            write::dry_run(txn, options.dry_run, |txn| {
                let mut removed = Vec::new();
                for current in txn.list(&resource.stored_as, &namespace) {
                    let served = flavour::to_served(&resource, Value::clone(&current))?;
                    if selector.matches(&served) {
                        remove(txn, &resource, &current, options.orphan)?;
                        removed.push(served);
                    }
                }
                Ok::<_, ApiError>(removed)
            })
        })
        .await?;
    let version = core.store().read().version();
    Ok(answer(StatusCode::OK, &call.form.list(&call.resource, &removed, version)))
}

fn remove(txn: &mut Txn<'_>, resource: &Resource, current: &Arc<Value>, orphan: bool) -> Result<Removal, ApiError> {
    let name = object::name(current);
    if orphan {
        lifecycle::orphan(txn, object::uid(current));
    }
    match resource.flavour {
        Flavour::Namespace if KEPT_NAMESPACES.contains(&name) => {
            Err(ApiError::forbidden(resource.subject(name), "this namespace may not be deleted"))
        }
        Flavour::Namespace => Ok(lifecycle::remove_namespace(txn, current)),
        Flavour::Definition => lifecycle::remove_definition(txn, current).map_err(|holder| {
            let why = format!("instance {holder} has finalizers; delete the instances first");
            ApiError::conflict(resource.subject(name), &why)
        }),
        _ => Ok(lifecycle::remove(txn, &resource.key(object::namespace(current), name), current)),
    }
}

/// The answer when an object is gone at once.
fn gone(resource: &Resource, object: &Value) -> Response {
    let details = json!({
        "name": object::name(object), "group": resource.group, "kind": resource.plural, "uid": object::uid(object),
    });
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
    answer(StatusCode::OK, &status)
}
