//! The form in which a client wants objects: whole, as a table, or only their metadata. Chosen by the Accept header.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::registry::Resource;
use crate::request::Query;
use crate::status::ApiError;
use crate::table::{self, Include};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    Table(Include),
    Partial,
}

impl Form {
    pub(crate) fn parse(headers: &HeaderMap, query: &Query) -> Result<Self, ApiError> {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
        let include = match query.get("includeObject") {
            "" | "Metadata" => Include::Metadata,
            "None" => Include::Nothing,
            "Object" => Include::Object,
            other => return Err(ApiError::bad_request(format!("unrecognized includeObject value: {other:?}"))),
        };
        accept
            .split(',')
            .find_map(|range| form_of(range, include))
            .ok_or_else(|| ApiError::not_acceptable("application/json"))
    }

    /// One served object in this form.
    pub(crate) fn object(self, resource: &Resource, object: &Value) -> Value {
        match self {
            Self::Whole => object.clone(),
            Self::Table(include) => {
                let metadata = json!({"resourceVersion": crate::object::resource_version(object)});
                table::table(resource, std::iter::once(object), metadata, include, true)
            }
            Self::Partial => table::partial(object),
        }
    }

    /// A list of served objects in this form.
    pub(crate) fn list(self, resource: &Resource, objects: &[Value], version: u64) -> Value {
        let metadata = json!({"resourceVersion": version.to_string()});
        match self {
            Self::Whole => json!({
                "kind": resource.list_kind, "apiVersion": resource.api_version(),
                "metadata": metadata, "items": objects,
            }),
            Self::Table(include) => table::table(resource, objects.iter(), metadata, include, true),
            Self::Partial => json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                "items": objects.iter().map(table::partial).collect::<Vec<_>>(),
            }),
        }
    }
}

fn form_of(range: &str, include: Include) -> Option<Form> {
    let mut parts = range.split(';').map(str::trim);
    let kind = parts.next()?;
    let parameters: Vec<(&str, &str)> = parts.filter_map(|p| p.split_once('=')).collect();
    let parameter = |name: &str| parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    if !matches!(kind, "application/json" | "application/*" | "*/*") {
        return None;
    }
    match (parameter("as"), parameter("g"), parameter("v")) {
        (None, _, _) => Some(Form::Whole),
        (Some("Table"), Some("meta.k8s.io"), Some("v1")) => Some(Form::Table(include)),
        (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("meta.k8s.io"), Some("v1")) => {
            Some(Form::Partial)
        }
        _ => None,
    }
}

/// A JSON answer.
pub(crate) fn answer(code: StatusCode, body: &Value) -> Response {
    let mut response = (code, body.to_string()).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_form_we_speak_wins() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let cases = [
            ("", None),
            ("*/*", Some(Form::Whole)),
            ("application/vnd.kubernetes.protobuf,application/json", Some(Form::Whole)),
            (
                &format!("{table},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"),
                Some(Form::Table(Include::Metadata)),
            ),
            ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Some(Form::Partial)),
            ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Some(Form::Whole)),
            ("application/vnd.kubernetes.protobuf", None),
        ];
        for (accept, wanted) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(Form::parse(&headers, &Query::default()).ok(), wanted, "{accept}");
        }
    }
}
