//! Whether the server is well: `/healthz`, `/livez` and `/readyz`, whole or one check at a time.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};

use crate::request::Query;

const ENDPOINTS: &[&str] = &["healthz", "livez", "readyz"];
/// What is checked. Answering at all proves each but the store: the collector and the loaded definitions are there before
/// the first request, and a store that failed to open is a server that did not start.
const CHECKS: &[&str] =
    &["ping", "log", STORE, "poststarthook/crd-informer-synced", "poststarthook/rbac/bootstrap-roles"];
const STORE: &str = "store";

/// Answers a health path; `None` when the path is none. `failure` is why the store cannot be written until a restart.
pub(crate) fn answer(path: &str, query: &Query, failure: Option<&str>) -> Option<Response> {
    let path = path.strip_prefix('/')?;
    let (endpoint, check) = path.split_once('/').map_or((path, None), |(endpoint, check)| (endpoint, Some(check)));
    let endpoint = ENDPOINTS.iter().find(|known| **known == endpoint)?;
    let excluded = query.all("exclude");
    let (well, text) = match (check, failure) {
        (Some(STORE), Some(why)) => (false, format!("internal server error: {why}\n")),
        (Some(check), _) => (true, CHECKS.contains(&check).then(|| "ok".to_owned())?),
        (None, Some(_)) if !excluded.contains(&STORE) => (false, verbose(endpoint, &excluded, false)),
        (None, _) if query.has("verbose") => (true, verbose(endpoint, &excluded, true)),
        (None, _) => (true, "ok".to_owned()),
    };
    let status = if well { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    let mut response = (status, text).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Some(response)
}

fn verbose(endpoint: &str, excluded: &[&str], well: bool) -> String {
    let line = |check: &&str| match (excluded.contains(check), *check == STORE && !well) {
        (true, _) => format!("[+]{check} excluded: ok\n"),
        (false, false) => format!("[+]{check} ok\n"),
        // The reason is told where the one check is asked for, and in the log.
        (false, true) => format!("[-]{check} failed: reason withheld\n"),
    };
    let lines: String = CHECKS.iter().map(line).collect();
    format!("{lines}{endpoint} check {}\n", if well { "passed" } else { "failed" })
}

/// The paths, for the index.
pub(crate) fn paths() -> impl Iterator<Item = String> {
    ENDPOINTS.iter().flat_map(|endpoint| {
        let checks = CHECKS.iter().map(move |check| format!("/{endpoint}/{check}"));
        std::iter::once(format!("/{endpoint}")).chain(checks)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn asked(path: &str, query: &str, failure: Option<&str>) -> (u16, String) {
        let uri = format!("{path}?{query}").parse().unwrap();
        let response = answer(path, &Query::parse(&uri), failure).unwrap();
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_store_that_cannot_be_written_is_not_well() {
        let broken = Some("cannot flush the journal");
        assert_eq!(asked("/readyz", "", None).await, (200, "ok".to_owned()));
        let (status, text) = asked("/readyz", "", broken).await;
        assert_eq!(status, 500);
        assert!(text.contains("[+]ping ok\n") && text.contains("[-]store failed: reason withheld\n"), "{text}");
        assert!(text.ends_with("readyz check failed\n"), "{text}");
        let told = (500, "internal server error: cannot flush the journal\n".to_owned());
        assert_eq!(asked("/livez/store", "", broken).await, told);
        assert_eq!(asked("/livez/ping", "", broken).await, (200, "ok".to_owned()));
        assert_eq!(asked("/healthz", "exclude=store", broken).await, (200, "ok".to_owned()));
        let (status, text) = asked("/healthz", "exclude=store&verbose", broken).await;
        assert_eq!(status, 200);
        assert!(text.contains("[+]store excluded: ok\n"), "{text}");
    }
}
