//! Reviews: created, answered from roles and bindings, never stored.

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;

use super::metadata::Source;
use super::options::{Options, Verb};
use super::{Call, write};
use crate::access;
use crate::core::Core;
use crate::represent;
use crate::request::parse_object;
use crate::status::ApiError;

pub(super) fn review(core: &Core, call: &Call, body: &Bytes) -> Result<Response, ApiError> {
    let options = Options::parse(call, Verb::Create)?;
    let (mut object, mut problems) = parse_object(&call.headers, &call.resource, body)?;
    problems.extend(write::admit(call, &mut object, Source::Body(body))?.problems);
    write::settle(problems, options.validation, |why| call.cannot_be_handled(why))?;
    let answer = access::answer(&core.store().read(), &call.user, &call.resource, object)?;
    Ok(represent::answer(StatusCode::CREATED, &call.form.object(&call.resource, &answer)))
}
