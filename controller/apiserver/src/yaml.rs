//! Turns an answer into YAML for a client that wants it so. Knows nothing of what is answered.

use axum::body::{self, Body};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use serde_json::Value;

use crate::status::ApiError;

const YAML: &str = "application/yaml";

/// Whether YAML is the first of what the client takes that we speak.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut kinds = accept.split(',').map(|range| range.split(';').next().unwrap_or_default().trim());
    kinds.find(|kind| matches!(*kind, YAML | "application/json" | "application/*" | "*/*")) == Some(YAML)
}

/// Converts a JSON answer; leaves others as they are. The whole answer is held.
///
/// # Errors
/// When the answer cannot be read, which is a fault of ours.
pub(crate) async fn convert(response: Response) -> Result<Response, ApiError> {
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if !is_json {
        return Ok(response);
    }
    let (mut head, body) = response.into_parts();
    let bytes = body::to_bytes(body, usize::MAX).await.map_err(|error| ApiError::internal(error.to_string()))?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| ApiError::internal(error.to_string()))?;
    let text = serde_saphyr::to_string(&value).map_err(|error| ApiError::internal(error.to_string()))?;
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(YAML));
    Ok(Response::from_parts(head, Body::from(text)))
}
