//! Create.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;

use super::{Call, Part, metadata, write, written};
use crate::builtin::NAMESPACES;
use crate::core::Core;
use crate::flavour;
use crate::object;
use crate::registry::Resource;
use crate::request::parse_json;
use crate::status::{ApiError, Subject};
use crate::store::{Key, Txn};

pub(super) async fn create(core: &Core, call: Call, body: &Bytes) -> Result<Response, ApiError> {
    if call.resource.namespaced && call.namespace.is_empty() {
        return Err(ApiError::bad_request("an empty namespace may not be set during creation"));
    }
    let dry_run = call.query.dry_run()?;
    let mut object = parse_json(&call.headers, body)?;
    let warnings = write::admit(&call, &mut object)?;
    let resource = Arc::clone(&call.resource);
    let stored =
        core.store().write(move |txn| write::finish(txn, dry_run, |txn| insert(txn, &resource, object))).await?;
    written(&call, StatusCode::CREATED, &stored, &warnings)
}

/// Stores an admitted object as a new one.
pub(super) fn insert(txn: &mut Txn<'_>, resource: &Resource, mut object: Value) -> Result<Arc<Value>, ApiError> {
    let namespace = object::namespace(&object).to_owned();
    check_namespace(txn, resource, &namespace, object::name(&object))?;
    metadata::begin(resource, &mut object)?;
    if resource.has_status {
        object::remove_field(&mut object, "status");
    }
    let causes = flavour::complete(resource, &mut object, None);
    write::check(resource, &object, None, Part::Main, causes)?;
    let name = object::name(&object).to_owned();
    let key = resource.key(&namespace, &name);
    if txn.get(&key).is_some() {
        return Err(ApiError::already_exists(resource.subject(&name)));
    }
    Ok(txn.put(key, flavour::to_stored(resource, object)?))
}

fn check_namespace(txn: &Txn<'_>, resource: &Resource, namespace: &str, name: &str) -> Result<(), ApiError> {
    if !resource.namespaced {
        return Ok(());
    }
    let key = Key { resource: NAMESPACES.into(), namespace: String::new(), name: namespace.to_owned() };
    match txn.get(&key) {
        None => Err(ApiError::not_found(Subject {
            group: String::new(),
            kind: "namespaces".into(),
            name: namespace.into(),
        })),
        Some(found) if object::is_deleting(&found) => {
            let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
            Err(ApiError::forbidden(resource.subject(name), &why))
        }
        Some(_) => Ok(()),
    }
}
