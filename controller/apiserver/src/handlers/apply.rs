//! Server-side apply: the PATCH that says which fields its manager wants and how, and creates what is not there.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;

use super::options::{Options, Verb};
use super::write::{self, Ownership, Write};
use super::{Call, Part, may_create, metadata, written};
use crate::apply::{ApplyError, Writer, apply, describe, shown_kind};
use crate::body;
use crate::builtin::restore;
use crate::core::Core;
use crate::object;
use crate::registry::Resource;
use crate::status::ApiError;
use crate::store::Txn;

pub(super) async fn apply_patch(
    core: &Core,
    call: Call,
    name: String,
    part: Part,
    bytes: &Bytes,
) -> Result<Response, ApiError> {
    let options = Options::parse(&call, Verb::Apply)?;
    let (config, problems) = parse(bytes)?;
    let write = Write::new(core, &call.resource, options, part);
    let may_create = may_create(core, &call, &name);
    let call = Arc::new(call);
    let inner = Arc::clone(&call);
    let run = move |txn: &mut Txn<'_>| {
        let resource = &inner.resource;
        let current = txn.get(&resource.key(&inner.namespace, &name));
        if current.is_none() && part != Part::Main {
            return Err(ApiError::not_found(resource.subject(&name)));
        }
        let live = current.as_deref().map(|current| write::served(resource, current)).transpose()?;
        let mut new =
            write.as_writer(|writer| laid_over(writer, resource, live.as_deref(), &config, write.options.force))?;
        let mut warnings = write::settle(problems, write.options.validation, not_strict)?;
        if current.is_none() {
            write::check_creatable(resource, &name)?;
        }
        if current.is_none() && !object::uid(&new).is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                object::uid(&new)
            );
            return Err(ApiError::conflict(resource.subject(&name), &why));
        }
        warnings.extend(write::admit_applied(&inner, &mut new)?);
        object::check_name(&new, &name)?;
        warnings.extend(metadata::warnings(resource, &new, current.as_deref()));
        let stored = write.finish(txn, |txn| match &current {
            Some(current) => write.replace(txn, current, new, Ownership::Settled),
            None => {
                let stored = write.insert(txn, new, Ownership::Settled)?;
                // As upstream, which asks last: an error takes back what this transaction wrote.
                may_create.map(|()| stored)
            }
        })?;
        let code = if current.is_some() { StatusCode::OK } else { StatusCode::CREATED };
        Ok::<_, ApiError>((stored, code, warnings))
    };
    let (stored, code, warnings) = core.store().write(run).await?;
    written(&call, code, &stored, &warnings)
}

/// Reads an applied configuration, and what a strict reader would refuse in it.
pub(super) fn parse(bytes: &[u8]) -> Result<body::Body, ApiError> {
    body::yaml_object(bytes).map_err(|problem| ApiError::bad_request(format!("error decoding YAML: {problem}")))
}

/// The refusal of a configuration that a strict reader would refuse.
pub(super) fn not_strict(why: &str) -> ApiError {
    let why = why.trim_start_matches("strict decoding error: ");
    ApiError::bad_request(format!("error strict decoding YAML: {why}"))
}

/// The live object with the configuration laid over it.
pub(super) fn laid_over(
    writer: &Writer<'_>,
    resource: &Resource,
    live: Option<&Value>,
    config: &Value,
    force: bool,
) -> Result<Value, ApiError> {
    let text = |field: &str| config.get(field).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") != resource.api_version() || text("kind") != resource.kind {
        let shown = shown_kind(text("apiVersion"), text("kind"));
        return Err(ApiError::bad_request(format!("invalid object type: {shown}")));
    }
    if config.pointer("/metadata/managedFields").is_some_and(|entries| !entries.is_null()) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let new = apply(writer, live, config, force).map_err(|error| match error {
        ApplyError::Conflicts(conflicts) => conflicts.error(),
        other => ApiError::unexplained(other.to_string()),
    })?;
    // Merging knows numbers, texts and lists; whether a text is a time or a number whole is for the type to say.
    if let Some(message) = resource.message {
        restore::check(message, &new).map_err(|why| {
            let (what, kind) = (describe(config), shown_kind(&resource.api_version(), &resource.kind));
            ApiError::unexplained(format!(
                "failed to convert new object ({what}) to proper version: unable to convert unstructured object to \
                 {kind}: {why}"
            ))
        })?;
    }
    Ok(new)
}
