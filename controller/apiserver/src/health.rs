//! Whether the server is well: `/healthz`, `/livez` and `/readyz`, whole or one check at a time.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};

use crate::request::Query;

const ENDPOINTS: &[&str] = &["healthz", "livez", "readyz"];
/// What is checked. Answering at all proves each: the store's writer, the collector and the loaded definitions are there
/// before the first request, and a store that failed to open is a server that did not start.
const CHECKS: &[&str] =
    &["ping", "log", "store", "poststarthook/crd-informer-synced", "poststarthook/rbac/bootstrap-roles"];

/// Answers a health path; `None` when the path is none.
pub(crate) fn answer(path: &str, query: &Query) -> Option<Response> {
    let path = path.strip_prefix('/')?;
    let (endpoint, check) = path.split_once('/').map_or((path, None), |(endpoint, check)| (endpoint, Some(check)));
    let endpoint = ENDPOINTS.iter().find(|known| **known == endpoint)?;
    let text = match check {
        Some(check) => CHECKS.contains(&check).then(|| "ok".to_owned())?,
        None if query.has("verbose") => verbose(endpoint, query),
        None => "ok".to_owned(),
    };
    let mut response = (StatusCode::OK, text).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Some(response)
}

fn verbose(endpoint: &str, query: &Query) -> String {
    let excluded = query.all("exclude");
    let line = |check: &&str| {
        if excluded.contains(check) { format!("[+]{check} excluded: ok\n") } else { format!("[+]{check} ok\n") }
    };
    let lines: String = CHECKS.iter().map(line).collect();
    format!("{lines}{endpoint} check passed\n")
}

/// The paths, for the index.
pub(crate) fn paths() -> impl Iterator<Item = String> {
    ENDPOINTS.iter().flat_map(|endpoint| {
        let checks = CHECKS.iter().map(move |check| format!("/{endpoint}/{check}"));
        std::iter::once(format!("/{endpoint}")).chain(checks)
    })
}
