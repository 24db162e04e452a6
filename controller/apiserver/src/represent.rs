//! The form in which a client wants objects: whole, as a table, or only their metadata. Chosen by the Accept header.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::handlers::{self, Listed};
use crate::registry::Resource;
use crate::request::Query;
use crate::status::ApiError;
use crate::table::{self, Include, Style};

/// What errors say that is spoken. We read protobuf, and answer in it nobody who takes something else as well.
const MEDIA_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
/// A list is sent in pieces of at least this many bytes.
const CHUNK: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    Table(Style),
    Partial,
    /// As `Partial`, asked for in the words of lists.
    PartialList,
}

impl Form {
    /// What a client wants of a resource, or of one object of it when `named`.
    pub(crate) fn parse(
        headers: &HeaderMap,
        query: &Query,
        resource: &Resource,
        named: bool,
    ) -> Result<Self, ApiError> {
        let accept = accepted(headers);
        let known = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "*/*"];
        // Upstream's built-in kinds are reached through a router that looks at the media types first.
        if resource.message.is_some() && !media_types(accept).any(|kind| known.contains(&kind)) {
            return Err(ApiError::no_representation(!named));
        }
        let include = match query.get("includeObject") {
            "" | "Metadata" => Include::Metadata,
            "None" => Include::Nothing,
            "Object" => Include::Object,
            // Only matters to tables, as below.
            _ => Include::Metadata,
        };
        let odd = !matches!(query.get("includeObject"), "" | "Metadata" | "None" | "Object");
        match accept.split(',').find_map(|range| form_of(range, include)) {
            Some(Self::Table(_)) if odd => Err(ApiError::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {:?}: must be 'Metadata', \
                 'Object', 'None', or empty",
                query.get("includeObject")
            ))),
            Some(form) => Ok(form),
            None => Err(ApiError::not_acceptable(MEDIA_TYPES)),
        }
    }

    /// Refuses one object in the form of lists.
    ///
    /// # Errors
    /// In upstream's words, which tell a custom object from others.
    pub(crate) fn check_object(self, resource: &Resource) -> Result<(), ApiError> {
        match (self, resource.message) {
            (Self::PartialList, None) => Err(ApiError::unexplained("content is not a list")),
            (Self::PartialList, Some(message)) => Err(ApiError::unlike_form(format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list (*{}.{})",
                message.go_package(),
                resource.kind
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses a list in the form of one object.
    ///
    /// # Errors
    /// In upstream's words.
    pub(crate) fn check_list(self, resource: &Resource) -> Result<(), ApiError> {
        if self != Self::Partial {
            return Ok(());
        }
        let found = match resource.message {
            None => "unstructured.UnstructuredList".to_owned(),
            Some(message) => format!("{}.{}", message.go_package(), resource.list_kind),
        };
        Err(ApiError::unlike_form(format!(
            "you requested PartialObjectMetadata, but the requested object is a list (*{found})"
        )))
    }

    /// One served object in this form.
    pub(crate) fn object<'a>(self, resource: &Resource, object: &'a Value) -> Cow<'a, Value> {
        match self {
            Self::Whole => Cow::Borrowed(object),
            Self::Table(style) => {
                let metadata = json!({"resourceVersion": crate::object::resource_version(object)});
                Cow::Owned(table::table(resource, std::iter::once(object), metadata, style, true))
            }
            Self::Partial | Self::PartialList => Cow::Owned(table::partial(object)),
        }
    }

    /// A list of served objects in this form.
    pub(crate) fn list(self, resource: &Resource, objects: &[Value], version: u64) -> Value {
        let mut metadata = json!({"resourceVersion": version.to_string()});
        match self {
            Self::Whole => {
                if resource.is_custom() {
                    crate::object::set_field(&mut metadata, "continue", "".into());
                }
                let items = objects.iter().map(|object| handlers::listed_item(resource, object.clone()));
                json!({
                    "kind": resource.list_kind, "apiVersion": resource.api_version(),
                    "metadata": metadata, "items": items.collect::<Vec<_>>(),
                })
            }
            Self::Table(style) => table::table(resource, objects.iter(), metadata, style, true),
            Self::Partial | Self::PartialList => {
                let items = objects.iter().map(table::partial).collect::<Vec<_>>();
                json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                    "items": if items.is_empty() { Value::Null } else { items.into() },
                })
            }
        }
    }
}

/// A list of stored objects as an answer. Made while it is sent, some objects at a time, so that a list of everything
/// does not stand in memory as a whole.
pub(crate) fn list(
    form: Form,
    resource: &Arc<Resource>,
    metadata: Map<String, Value>,
    objects: Vec<Listed>,
) -> Response {
    let (kind, group_version, items) = match form {
        Form::Whole => (resource.list_kind.as_str(), resource.api_version(), "items"),
        Form::Partial | Form::PartialList => ("PartialObjectMetadataList", "meta.k8s.io/v1".to_owned(), "items"),
        Form::Table(style) => ("Table", style.api_version(), "rows"),
    };
    let mut head = json!({"kind": kind, "apiVersion": group_version, "metadata": metadata});
    if let Form::Table(_) = form {
        crate::object::set_field(&mut head, "columnDefinitions", table::column_definitions(resource));
    }
    let mut begun = head.to_string();
    if form == Form::PartialList && objects.is_empty() {
        crate::object::set_field(&mut head, items, Value::Null);
        return answer(StatusCode::OK, &head);
    }
    // Reopened, so that the items come last whatever the order of fields is.
    begun.pop();
    begun.push_str(&format!(",\"{items}\":["));
    let resource = Arc::clone(resource);
    let mut objects = objects.into_iter();
    let mut first = true;
    let mut waiting = Some(begun.into_bytes());
    let mut chunks = std::iter::from_fn(move || {
        let mut chunk = waiting.take()?;
        for object in objects.by_ref() {
            if !std::mem::take(&mut first) {
                chunk.push(b',');
            }
            match object.into_item(form, &resource) {
                Ok(item) => chunk.extend(item),
                Err(error) => {
                    tracing::error!(%error, kind = resource.kind, "a list ends early: an object can no longer be converted");
                    return Some(Err(error));
                }
            }
            if chunk.len() >= CHUNK {
                waiting = Some(Vec::new());
                return Some(Ok(Bytes::from(chunk)));
            }
        }
        chunk.extend(b"]}\n");
        Some(Ok(Bytes::from(chunk)))
    });
    let start = match chunks.next().transpose() {
        Ok(start) => start.unwrap_or_default(),
        Err(error) => return error.into_response(),
    };
    let second = match chunks.next().transpose() {
        Ok(Some(second)) => second,
        Ok(None) => return json(StatusCode::OK, start),
        Err(error) => return error.into_response(),
    };
    // Once something has been sent, an error is told by breaking off.
    let chunks = [Ok(start), Ok(second)].into_iter().chain(chunks);
    let chunks = chunks.map(|chunk: Result<_, ApiError>| chunk.map_err(|why| std::io::Error::other(why.to_string())));
    json(StatusCode::OK, Body::from_stream(futures::stream::iter(chunks)))
}

/// The header, where an empty one is none.
fn accepted(headers: &HeaderMap) -> &str {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accept.trim().is_empty() { "*/*" } else { accept }
}

fn media_types(accept: &str) -> impl Iterator<Item = &str> {
    accept.split(',').map(|range| range.split(';').next().unwrap_or_default().trim())
}

fn form_of(range: &str, include: Include) -> Option<Form> {
    let mut parts = range.split(';').map(str::trim);
    let kind = parts.next()?;
    let parameters: Vec<(&str, &str)> = parts.filter_map(|p| p.split_once('=')).collect();
    let parameter = |name: &str| parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    if !matches!(kind, "application/json" | "application/yaml" | "application/*" | "*/*") {
        return None;
    }
    match (parameter("as"), parameter("g"), parameter("v")) {
        (None, _, _) => Some(Form::Whole),
        (Some("Table"), Some("meta.k8s.io"), Some("v1")) => Some(Form::Table(Style { include, version: "v1" })),
        (Some("Table"), Some("meta.k8s.io"), Some("v1beta1")) => {
            Some(Form::Table(Style { include, version: "v1beta1" }))
        }
        (Some("PartialObjectMetadata"), Some("meta.k8s.io"), Some("v1")) => Some(Form::Partial),
        (Some("PartialObjectMetadataList"), Some("meta.k8s.io"), Some("v1")) => Some(Form::PartialList),
        _ => None,
    }
}

/// Metrics, in the form that scrapers read.
pub(crate) fn metrics(text: String) -> Response {
    const KIND: HeaderValue = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    let mut response = (StatusCode::OK, text).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, KIND);
    response
}

/// The answer where nothing is served at all.
pub(crate) fn page_not_found() -> Response {
    let mut response = (StatusCode::NOT_FOUND, "404 page not found\n").into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A JSON answer.
pub(crate) fn answer(code: StatusCode, body: &Value) -> Response {
    json(code, body.to_string() + "\n")
}

/// An answer that is JSON already.
pub(crate) fn json(code: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = (code, body.into()).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    #[test]
    fn first_form_we_speak_wins() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let cases = [
            ("", Some(Form::Whole)),
            ("*/*", Some(Form::Whole)),
            ("application/yaml", Some(Form::Whole)),
            ("application/vnd.kubernetes.protobuf,application/json", Some(Form::Whole)),
            (
                &format!("{table},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"),
                Some(Form::Table(Style { include: Include::Metadata, version: "v1" })),
            ),
            ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Some(Form::Partial)),
            ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Some(Form::Whole)),
            ("application/vnd.kubernetes.protobuf", None),
            ("text/html", None),
        ];
        let secrets = Registry::new(&[], &std::collections::BTreeMap::new(), None).find("", "v1", "secrets").unwrap();
        for (accept, wanted) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(Form::parse(&headers, &Query::default(), &secrets, true).ok(), wanted, "{accept}");
        }
    }
}
