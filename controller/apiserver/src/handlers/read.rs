//! Get and list, from the in-memory index.

use axum::response::Response;
use http::StatusCode;
use serde_json::Value;

use super::Call;
use crate::core::Core;
use crate::flavour;
use crate::represent::answer;
use crate::selector::Selector;
use crate::status::ApiError;

pub(super) fn get(core: &Core, call: &Call, name: &str) -> Result<Response, ApiError> {
    let key = call.resource.key(&call.namespace, name);
    let found = core.store().read().get(&key);
    let found = found.ok_or_else(|| ApiError::not_found(call.resource.subject(name)))?;
    let served = flavour::to_served(&call.resource, Value::clone(&found))?;
    Ok(answer(StatusCode::OK, &call.form.object(&call.resource, &served)))
}

/// Answers the newest state whole: `limit` is not followed, so there never is a `continue`.
pub(super) fn list(core: &Core, call: &Call) -> Result<Response, ApiError> {
    let resource = &call.resource;
    if !call.query.get("continue").is_empty() {
        return Err(ApiError::bad_request("continue key is not valid: this server answers lists whole"));
    }
    let selector = Selector::parse(resource, call.query.get("labelSelector"), call.query.get("fieldSelector"))?;
    let snapshot = core.store().read().snapshot(&resource.stored_as, &call.namespace);
    let wanted = parse_version(call.query.get("resourceVersion"))?.unwrap_or_default();
    if wanted > snapshot.version {
        let now = snapshot.version;
        return Err(ApiError::timeout(format!("Too large resource version: {wanted}, current: {now}")));
    }
    if call.query.get("resourceVersionMatch") == "Exact" && wanted != snapshot.version {
        return Err(ApiError::expired(wanted, snapshot.version));
    }
    let served = snapshot.objects.iter().map(|object| flavour::to_served(resource, Value::clone(object)));
    let served = served.filter(|served| served.as_ref().map_or(true, |object| selector.matches(object)));
    let served = served.collect::<Result<Vec<Value>, _>>()?;
    Ok(answer(StatusCode::OK, &call.form.list(resource, &served, snapshot.version)))
}

/// A resource version in a query; `None` when absent.
pub(super) fn parse_version(text: &str) -> Result<Option<u64>, ApiError> {
    if text.is_empty() {
        return Ok(None);
    }
    let bad = |_| ApiError::bad_request(format!("invalid resource version {text:?}: must be a decimal number"));
    text.parse().map(Some).map_err(bad)
}
