//! Update (PUT): the whole object, at the version it was read at.

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;

use super::options::{Options, Verb};
use super::write::{self, Ownership, Write};
use super::{Call, Part, written};
use crate::core::Core;
use crate::object;
use crate::request::parse_object;
use crate::status::{ApiError, Cause};

pub(super) async fn update(
    core: &Core,
    call: Call,
    name: String,
    part: Part,
    body: &Bytes,
) -> Result<Response, ApiError> {
    let options = Options::parse(&call, Verb::Update)?;
    let (mut object, mut problems) = parse_object(&call.headers, &call.resource.kind, body)?;
    problems.extend(write::admit(&call, &mut object)?);
    let warnings = write::settle(problems, options.validation, |why| call.cannot_be_handled(why))?;
    object::check_name(&object, &name)?;
    let write = Write::new(core, &call.resource, options, part);
    let namespace = call.namespace.clone();
    let replace = move |txn: &mut crate::store::Txn<'_>| {
        let resource = write.resource();
        let current = write::stored(txn, resource, &namespace, &name)?;
        if resource.is_custom() && object::resource_version(&object).is_empty() {
            let detail = "must be specified for an update";
            let cause = Cause::invalid("metadata.resourceVersion", &0.into(), detail);
            return Err(ApiError::invalid(resource.subject(&name), vec![cause]));
        }
        write.finish(txn, |txn| write.replace(txn, &current, object, Ownership::Tracked))
    };
    let stored = core.store().write(replace).await?;
    written(&call, StatusCode::OK, &stored, &warnings)
}
