//! OpenAPI v3: an index with a hash of each group and version, and a document for each, which clients may keep for ever
//! under its hash. As a real server's but for the words of descriptions, which are ours, and for what is not served.

mod descriptions;
mod document;
mod operations;
mod schemas;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri, header};
use serde_json::{Map, Value, json};

use crate::registry::Registry;

/// All documents of one registry.
pub(crate) struct Documents(BTreeMap<String, Document>);

struct Document {
    hash: String,
    json: Bytes,
}

impl Documents {
    /// Writes the documents of everything that is served.
    pub(crate) fn new(registry: &Registry) -> Self {
        let mut found = BTreeMap::new();
        for (group, versions) in registry.groups() {
            for version in versions {
                let json = document::document(&registry.in_group_version(group, version)).to_string();
                found.insert(document::base(group, version), Document { hash: hash(&json), json: json.into() });
            }
        }
        Self(found)
    }

    fn index(&self) -> String {
        let entry = |(base, document): (&String, &Document)| {
            let url = format!("/openapi/v3/{base}?hash={}", document.hash);
            (base.clone(), json!({"serverRelativeURL": url}))
        };
        json!({"paths": self.0.iter().map(entry).collect::<Map<String, Value>>()}).to_string()
    }
}

fn hash(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let first = hasher.finish();
    text.len().hash(&mut hasher);
    format!("{first:016X}{:016X}", hasher.finish())
}

/// Answers a path under `/openapi/v3`; `None` for others.
pub(crate) fn answer(registry: &Registry, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
    let base = uri.path().strip_prefix("/openapi/v3")?;
    let documents = registry.openapi();
    if base.is_empty() {
        let index = documents.index();
        return Some(respond_index(index, headers));
    }
    let base = base.strip_prefix('/')?;
    let Some(document) = documents.0.get(base) else {
        // Upstream's handler of these documents says nothing more.
        return Some(StatusCode::NOT_FOUND.into_response());
    };
    let asked = uri.query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("hash="));
    if let Some(asked) = asked.filter(|asked| *asked != document.hash) {
        tracing::debug!(asked, base, "an outdated OpenAPI document was asked for");
        return Some(redirect(&format!("/openapi/v3/{base}?hash={}", document.hash)));
    }
    Some(respond(document.json.clone(), &document.hash, headers, asked.is_some()))
}

/// The index, which upstream calls text.
fn respond_index(index: String, headers: &HeaderMap) -> Response {
    let tag = hash(&index);
    let mut response = respond(index.into(), &tag, headers, false);
    set(&mut response, header::CONTENT_TYPE, "text/plain; charset=utf-8");
    response.headers_mut().remove(header::VARY);
    response
}

fn redirect(to: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    set(&mut response, header::LOCATION, to);
    response
}

fn respond(body: Bytes, hash: &str, headers: &HeaderMap, forever: bool) -> Response {
    let tag = format!("\"{hash}\"");
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let unchanged = known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag));
    let mut response = Response::new(if unchanged { Body::empty() } else { Body::from(body) });
    if unchanged {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    set(&mut response, header::ETAG, &tag);
    set(&mut response, header::CONTENT_TYPE, "application/json");
    set(&mut response, header::VARY, "Accept");
    set(&mut response, header::CACHE_CONTROL, if forever { "public, immutable" } else { "no-cache, private" });
    response
}

fn set(response: &mut Response, name: header::HeaderName, value: &str) {
    if let Ok(value) = value.parse() {
        response.headers_mut().insert(name, value);
    }
}
