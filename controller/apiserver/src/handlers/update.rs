//! Update (PUT): the whole object, at the version it was read at.

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

pub(super) async fn update(
    core: &Core,
    call: Call,
    name: String,
    part: Part,
    body: &Bytes,
) -> Result<Response, ApiError> {
    let options = Options::parse(&call, Verb::Update)?;
    let (mut object, mut problems) = parse_object(&call.headers, &call.resource, body)?;
    let remarks = write::admit(&call, &mut object, Source::Body(body))?;
    problems.extend(remarks.problems);
    let mut warnings = write::settle(problems, options.validation, |why| call.cannot_be_handled(why))?;
    warnings.extend(remarks.warnings);
    object::check_name(&object, &name)?;
    let write = Write::new(core, &call.resource, options, part);
    let namespace = call.namespace.clone();
    // Read here, so that the writer need not: there is one for all.
    let held = core.store().get(&call.resource.key(&namespace, &name));
    let replace = move |txn: &mut crate::store::Txn<'_>| {
        let resource = write.resource();
        let current = write::stored(txn, resource, &namespace, &name)?;
        drop(held);
        warnings.extend(metadata::warnings(resource, &object, Some(&current)));
        let stored = write.finish(txn, |txn| write.replace(txn, &current, object, Ownership::Tracked))?;
        Ok::<_, ApiError>((stored, warnings))
    };
    let (stored, warnings) = core.store().write(replace).await?;
    written(&call, StatusCode::OK, &stored, &warnings)
}
