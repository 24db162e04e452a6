//! Update (PUT): the whole object, at the version it was read at.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use serde_json::Value;

use super::{Call, Part, write, written};
use crate::core::Core;
use crate::object;
use crate::status::{ApiError, Cause};

pub(super) async fn update(
    core: &Core,
    call: Call,
    name: String,
    part: Part,
    mut object: Value,
) -> Result<Response, ApiError> {
    let dry_run = call.query.dry_run()?;
    let warnings = write::admit(&call, &mut object)?;
    if call.resource.is_custom() && object::resource_version(&object).is_empty() {
        let detail = "must be specified for an update";
        let cause = Cause::invalid("metadata.resourceVersion", &0.into(), detail);
        return Err(ApiError::invalid(call.resource.kind_subject(&name), vec![cause]));
    }
    let (resource, namespace) = (Arc::clone(&call.resource), call.namespace.clone());
    let stored = core
        .store()
        .write(move |txn| {
            let current = write::stored(txn, &resource, &namespace, &name)?;
            write::finish(txn, dry_run, |txn| write::replace(txn, &resource, &current, object, part))
        })
        .await?;
    written(&call, StatusCode::OK, &stored, &warnings)
}
