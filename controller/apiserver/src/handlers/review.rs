//! Reviews: created, answered from roles and bindings, never stored.

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;

use super::metadata::Source;
use super::options::{Options, Verb};
use super::write::{self, Ownership, Write};
use super::{Call, Part};
use crate::access;
use crate::apply;
use crate::core::Core;
use crate::represent;
use crate::request::parse_object;
use crate::status::ApiError;

pub(super) fn review(core: &Core, call: &Call, body: &Bytes) -> Result<Response, ApiError> {
    let options = Options::parse(call, Verb::Create)?;
    let (mut object, mut problems) = parse_object(&call.headers, &call.resource, body)?;
    problems.extend(write::admit(call, &mut object, Source::Body(body))?.problems);
    write::settle(problems, options.validation, |why| call.cannot_be_handled(why))?;
    let sent = apply::take_managed_fields(&mut object);
    Write::new(core, &call.resource, options, Part::Main).own(None, &mut object, sent, Ownership::Tracked);
    let answer = access::answer(&core.store().read(), &call.user, &call.resource, object)?;
    Ok(represent::answer(StatusCode::CREATED, &call.form.object(&call.resource, &answer)))
}
