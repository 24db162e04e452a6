//! Update (PUT): the whole object, at the version it was read at.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;

use super::metadata::{self, Source};
use super::options::{Options, Verb};
use super::write::{self, Ownership, Write};
use super::{Call, Part, may_create, written};
use crate::core::Core;
use crate::object;
use crate::request::parse_object;
use crate::status::ApiError;

pub(super) async fn update(
    core: &Core,
    call: Call,
    name: String,
    part: Part,
    body: &Bytes,
) -> Result<Response, ApiError> {
    let options = Options::parse(&call, Verb::Update)?;
    let (mut object, problems) = parse_object(&call.headers, &call.resource, body)?;
    let remarks = write::admit(&call, &mut object, Source::Body(body))?;
    let problems = write::all_problems(&call.resource, body, problems, remarks.problems);
    let mut warnings = write::settle(problems, options.validation, |why| call.cannot_be_handled(why))?;
    warnings.extend(remarks.warnings);
    object::check_name(&object, &name)?;
    let write = Write::new(core, &call.resource, options, part);
    let namespace = call.namespace.clone();
    let may_create = if call.resource.is_created_by_updates() { may_create(core, &call, &name) } else { Ok(()) };
    // Read here, so that the writer need not: there is one for all.
    let held = core.store().get(&call.resource.key(&namespace, &name));
    let replace = move |txn: &mut crate::store::Txn<'_>| {
        let resource = write.resource();
        if part == Part::Main && resource.is_created_by_updates() && txn.get(&resource.key(&namespace, &name)).is_none()
        {
            let stored = write.finish(txn, |txn| {
                let stored = create(txn, &write, &namespace, &name, object)?;
                // As upstream, which asks last: an error takes back what this transaction wrote.
                may_create.map(|()| stored)
            })?;
            return Ok((stored, StatusCode::CREATED, warnings));
        }
        let current = write::stored(txn, resource, &namespace, &name)?;
        drop(held);
        warnings.extend(metadata::warnings(resource, &object, Some(&current)));
        let stored = write.finish(txn, |txn| write.replace(txn, &current, object, Ownership::Tracked))?;
        Ok::<_, ApiError>((stored, StatusCode::OK, warnings))
    };
    let (stored, code, warnings) = core.store().write(replace).await?;
    written(&call, code, &stored, &warnings)
}

/// Creates what is not there yet, as an update may for some kinds. The version that it names does not matter; a uid does.
fn create(
    txn: &mut crate::store::Txn<'_>,
    write: &Write,
    namespace: &str,
    name: &str,
    mut object: Value,
) -> Result<Arc<Value>, ApiError> {
    let resource = write.resource();
    let uid = object::uid(&object);
    if !uid.is_empty() {
        let why = metadata::uid_mismatch(resource, namespace, name, uid, "");
        return Err(ApiError::conflict(resource.subject(name), &why));
    }
    metadata::version_of(&object)?;
    object::meta_mut(&mut object).and_then(|metadata| metadata.remove("resourceVersion"));
    write.insert(txn, object, Ownership::Tracked)
}
