//! Create.

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;

use super::metadata::{self, Source};
use super::options::{Options, Verb};
use super::write::{self, Ownership, Write};
use super::{Call, Part, written};
use crate::core::Core;
use crate::object;
use crate::request::parse_object;
use crate::status::ApiError;

pub(super) async fn create(core: &Core, call: Call, body: &Bytes) -> Result<Response, ApiError> {
    if call.resource.namespaced && call.namespace.is_empty() {
        return Err(ApiError::bad_request("an empty namespace may not be set during creation"));
    }
    let options = Options::parse(&call, Verb::Create)?;
    let (mut object, problems) = parse_object(&call.headers, &call.resource, body)?;
    let remarks = write::admit(&call, &mut object, Source::Body(body))?;
    let problems = write::all_problems(&call.resource, body, problems, remarks.problems);
    let decoding = write::settle(problems, options.validation, |why| call.cannot_be_handled(why))?;
    let mut warnings = [decoding.clone(), remarks.warnings].concat();
    write::check_creatable(&call.resource, object::name(&object))?;
    warnings.extend(metadata::warnings(&call.resource, &object, None));
    let write = Write::new(core, &call.resource, options, Part::Main);
    let insert =
        move |txn: &mut crate::store::Txn<'_>| write.finish(txn, |txn| write.insert(txn, object, Ownership::Tracked));
    match core.store().write(insert).await {
        Ok(stored) => written(&call, StatusCode::CREATED, &stored, &warnings),
        // What the object itself is like is told of those that are stored only.
        Err(error) => Err(error.with_warnings(decoding)),
    }
}
