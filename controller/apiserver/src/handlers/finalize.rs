//! The path through which finalizers of a namespace are taken away.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::metadata::{self, Source};
use super::options::{Options, Verb};
use super::{Call, write, written};
use crate::core::Core;
use crate::flavour::namespace;
use crate::object;
use crate::request::parse_object;
use crate::status::ApiError;

pub(super) async fn finalize(core: &Core, call: Call, name: String, body: &Bytes) -> Result<Response, ApiError> {
    let options = Options::parse(&call, Verb::Update)?;
    let (mut object, _) = parse_object(&call.headers, &call.resource, body)?;
    write::admit(&call, &mut object, Source::Body(body))?;
    object::check_name(&object, &name)?;
    let resource = Arc::clone(&call.resource);
    let finalizers = namespace::finalizers(&object);
    let causes = namespace::check_finalizers(&finalizers);
    if !causes.is_empty() {
        return Err(ApiError::invalid(resource.kind_subject(&name), causes));
    }
    let stored = core
        .store()
        .write(move |txn| {
            let current = write::stored(txn, &resource, "", &name)?;
            metadata::check_update(&resource, &object, &current, false)?;
            let done =
                object::is_deleting(&current) && finalizers.is_empty() && object::finalizers(&current).next().is_none();
            if !done && namespace::finalizers(&current) == finalizers {
                return Ok(current);
            }
            write::dry_run(txn, options.dry_run, |txn| {
                let mut freed = Value::clone(&current);
                let spec = if finalizers.is_empty() { json!({}) } else { json!({"finalizers": finalizers}) };
                object::set_field(&mut freed, "spec", spec);
                let key = resource.key("", &name);
                let stored = txn.put(key.clone(), freed);
                if done {
                    txn.delete(key);
                }
                Ok::<_, ApiError>(stored)
            })
        })
        .await?;
    written(&call, StatusCode::OK, &stored, &[])
}
