//! Reading a request: what its path names, its query, its body. No resource is looked up here.

use std::time::Duration;

use axum::body::Body;
use futures::StreamExt as _;
use http::{HeaderMap, Uri, header};
use serde_json::Value;

use crate::body;
use crate::builtin::Message;
use crate::protobuf;
use crate::registry::Resource;
use crate::status::ApiError;

/// Largest body taken, in bytes; upstream's limit.
const BODY_LIMIT: usize = 3 * 1024 * 1024;
/// Of a larger body so much is read to be forgotten, in bytes, so that its sender gets to see the refusal.
const BODY_READ: usize = 16 * 1024 * 1024;
/// Media types of objects, as upstream names them.
const TAKEN: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
/// What upstream reads first of any object, as its errors show it.
const TYPE_META: &str =
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
/// A body must have arrived within this time.
const BODY_DEADLINE: Duration = Duration::from_secs(60);

/// The media type of Kubernetes' protobuf.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A path under `/api/v1` or `/apis/<group>/<version>`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    /// Empty for cluster-scoped objects and lists over all namespaces.
    pub(crate) namespace: String,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

/// A path with its `%xx` decoded, before it is taken apart: an encoded slash is a slash, as upstream has it.
pub(crate) fn decode_path(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let encoded = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(encoded.unwrap_or(*first));
        rest = if encoded.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Why a name cannot be a part of a path.
pub(crate) fn check_name(name: &str) -> Result<(), ApiError> {
    let why = match name {
        "." | ".." => format!("may not be '{name}'"),
        _ if name.contains('%') => "may not contain '%'".to_owned(),
        _ => return Ok(()),
    };
    Err(ApiError::bad_request(format!("Name parameter invalid: {name:?}: {why}")))
}

impl ResourcePath {
    /// `None` when the path is not one of a resource. Parts beyond the subresource stay with it.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.split('/').collect::<Vec<_>>();
        if parts.last() == Some(&"") {
            parts.pop();
        }
        // An empty namespace is none.
        if matches!(parts.as_slice(), ["api", _, "namespaces", "", _, ..]) {
            parts.drain(2..4);
        }
        if parts.iter().any(|part| part.is_empty()) {
            return None;
        }
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let mut found = Self { group: group.to_owned(), version: version.to_owned(), ..Self::default() };
        let rest = match rest {
            // A namespace's own subresources come before resources of that name in it.
            ["namespaces", _, "status" | "finalize"] => rest,
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => {
                (*namespace).clone_into(&mut found.namespace);
                rest
            }
            rest => rest,
        };
        let mut rest = rest.iter().map(|part| (*part).to_owned());
        found.plural = rest.next()?;
        found.name = rest.next();
        found.subresource = rest.next();
        if let Some(subresource) = &mut found.subresource {
            // No subresource has parts, so this is none that exists.
            rest.for_each(|part| *subresource += &format!("/{part}"));
        }
        Some(found)
    }
}

/// The query of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query as Go does: what is not well formed is as if it were not there.
    pub(crate) fn parse(uri: &Uri) -> Self {
        let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
        let pairs = pairs.filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((unescape(name)?, unescape(value)?))
        });
        Self(pairs.collect())
    }

    /// The first value of a parameter, empty when it is absent.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// All values of a parameter.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str()).collect()
    }

    /// Whether a parameter is there, with whatever value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// A parameter that is there is true, unless it says otherwise; as upstream reads them.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.has(name) && !matches!(self.get(name), "0") && !self.get(name).eq_ignore_ascii_case("false")
    }
}

/// Decodes `%41` and `+`; `None` when a percent sign is followed by no number.
fn unescape(text: &str) -> Option<String> {
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    Some(String::from_utf8_lossy(&plain).into_owned())
}

/// The usual form of a path under the old `/watch/`, which a few clients still use.
pub(crate) fn usual_watch(uri: &Uri) -> Option<Uri> {
    let parts: Vec<&str> = uri.path().split('/').collect();
    let (head, rest) = match parts.as_slice() {
        ["", "api", version, "watch", rest @ ..] => (format!("/api/{version}"), rest),
        ["", "apis", group, version, "watch", rest @ ..] => (format!("/apis/{group}/{version}"), rest),
        _ => return None,
    };
    // One object is watched as a list of it.
    let (rest, name) = match rest {
        ["namespaces", namespace, plural, name] => (["namespaces", namespace, plural].join("/"), Some(name)),
        ["namespaces", _, _] => (rest.join("/"), None),
        [plural, name] => ((*plural).to_owned(), Some(name)),
        _ => (rest.join("/"), None),
    };
    let selector = name.map(|name| format!("&fieldSelector=metadata.name%3D{name}")).unwrap_or_default();
    let query = uri.query().unwrap_or_default();
    format!("{head}/{rest}?watch=1{selector}&{query}").parse().ok()
}

/// The media type of a body, without parameters; empty when not given.
pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

/// Whether what follows the media type is not `; name=value`.
fn has_broken_parameters(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.trim_end_matches([';', ' ']).split(';').skip(1).any(|parameter| !parameter.contains('='))
}

/// Takes the whole body, within the limits of size and time.
pub(crate) async fn read_body(body: Body) -> Result<bytes::Bytes, ApiError> {
    match tokio::time::timeout(BODY_DEADLINE, take(body)).await {
        Err(_) => Err(ApiError::timeout("the request's body did not arrive in time")),
        Ok(taken) => taken,
    }
}

async fn take(body: Body) -> Result<bytes::Bytes, ApiError> {
    let mut stream = body.into_data_stream();
    let (mut taken, mut length) = (bytes::BytesMut::new(), 0_usize);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| ApiError::bad_request(error.to_string()))?;
        length = length.saturating_add(chunk.len());
        if length <= BODY_LIMIT {
            taken.extend_from_slice(&chunk);
        } else if length > BODY_READ {
            break;
        } else {
            // A client that is still sending would not see the answer.
            taken.clear();
        }
    }
    if length > BODY_LIMIT { Err(ApiError::too_large(BODY_LIMIT)) } else { Ok(taken.freeze()) }
}

/// The options of a delete.
pub(crate) fn parse_delete_options(headers: &HeaderMap, bytes: &[u8]) -> Result<Value, ApiError> {
    match content_type(headers) {
        PROTOBUF if protobuf::is_protobuf(bytes) => {
            let message = Message::named("meta.v1.DeleteOptions").ok_or_else(ApiError::unprocessable)?;
            let read = protobuf::open(bytes).and_then(|envelope| envelope.decode(message));
            read.map_err(|problem| ApiError::bad_request(problem.to_string()))
        }
        "" | "application/json" => text_delete_options(body::json(bytes).map_err(no_kind)?),
        "application/yaml" => text_delete_options(body::yaml(bytes).map_err(ApiError::bad_request)?),
        _ => Err(ApiError::unsupported_media_type(TAKEN)),
    }
}

/// The refusal of a body that does not even say what it is.
fn no_kind(why: String) -> ApiError {
    ApiError::bad_request(format!("couldn't get version/kind; json parse error: {why}"))
}

fn text_delete_options((options, _): body::Body) -> Result<Value, ApiError> {
    let found = match &options {
        Value::Object(_) => None,
        // no options
        Value::Null => return Ok(Value::Object(serde_json::Map::new())),
        Value::Bool(_) => Some("bool"),
        Value::Number(_) => Some("number"),
        Value::String(_) => Some("string"),
        Value::Array(_) => Some("array"),
    };
    if let Some(found) = found {
        return Err(no_kind(format!("json: cannot unmarshal {found} into Go value of type {TYPE_META}")));
    }
    let kind = options.get("kind").and_then(Value::as_str).unwrap_or_default();
    if !matches!(kind, "" | "DeleteOptions") {
        let version = options.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let scheme = "in scheme \"pkg/runtime/scheme.go:111\"";
        return Err(ApiError::bad_request(format!("no kind {kind:?} is registered for version {version:?} {scheme}")));
    }
    if options.get("gracePeriodSeconds").is_some_and(Value::is_string) {
        let why = "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64";
        return Err(ApiError::bad_request(why));
    }
    Ok(options)
}

/// The body of a create or update of a `kind`, and what a strict reader would refuse in it.
pub(crate) fn parse_object(headers: &HeaderMap, resource: &Resource, bytes: &[u8]) -> Result<body::Body, ApiError> {
    match resource.message {
        Some(message) if content_type(headers) == PROTOBUF => {
            let read = protobuf_object(bytes, message, &resource.api_version(), &resource.kind);
            read.map_err(|problem| unrecognized(&resource.kind, &problem, bytes))
        }
        None => {
            let (object, problems) = parse_text_object(headers, &resource.kind, bytes, body::json)?;
            check_type_meta(&object, &resource.kind, bytes)?;
            Ok((object, problems))
        }
        Some(message) => {
            let typed = |bytes: &[u8]| body::typed_json(bytes, Some(message));
            let (mut object, problems) = parse_text_object(headers, &resource.kind, bytes, typed)?;
            check_type_meta(&object, &resource.kind, bytes)?;
            // Upstream knows a built-in kind from the path, when the object does not say it.
            if let Some(fields) = object.as_object_mut() {
                let defaults = [("apiVersion", resource.api_version()), ("kind", resource.kind.clone())];
                for (field, default) in defaults {
                    let said = fields.entry(field).or_insert_with(|| Value::from(""));
                    if said.as_str() == Some("") {
                        *said = default.into();
                    }
                }
            }
            Ok((object, problems))
        }
    }
}

/// The version and the kind are read before anything else, so that their faults come first.
fn check_type_meta(object: &Value, kind: &str, bytes: &[u8]) -> Result<(), ApiError> {
    for field in ["apiVersion", "kind"] {
        let found = match object.get(field) {
            None | Some(Value::String(_) | Value::Null) => continue,
            Some(Value::Bool(_)) => "bool",
            Some(Value::Number(_)) => "number",
            Some(Value::Array(_)) => "array",
            Some(Value::Object(_)) => "object",
        };
        let why = format!("json: cannot unmarshal {found} into Go struct field .{field} of type string");
        return Err(unrecognized(kind, &format!("couldn't get version/kind; json parse error: {why}"), bytes));
    }
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if version.matches('/').count() > 1 {
        return Err(unrecognized(kind, &format!("unexpected GroupVersion string: {version}"), bytes));
    }
    Ok(())
}

/// As [`parse_object`], for a `kind` that is served as text only. `json` reads it where it is JSON.
pub(crate) fn parse_text_object(
    headers: &HeaderMap,
    kind: &str,
    bytes: &[u8],
    json: impl FnOnce(&[u8]) -> Result<body::Body, String>,
) -> Result<body::Body, ApiError> {
    if has_broken_parameters(headers) {
        return Err(ApiError::unsupported_media_type(TAKEN));
    }
    let read = match content_type(headers) {
        "" | "application/json" => {
            json(bytes).map_err(|problem| format!("couldn't get version/kind; json parse error: {problem}"))
        }
        "application/yaml" => body::yaml(bytes),
        _ => return Err(ApiError::unsupported_media_type(TAKEN)),
    };
    let (value, problems) = read.map_err(|problem| unrecognized(kind, &problem, bytes))?;
    let found = match &value {
        Value::Object(_) => return Ok((value, problems)),
        Value::Null => return Ok((Value::Object(serde_json::Map::new()), problems)),
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    };
    let why = format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type {TYPE_META}"
    );
    Err(unrecognized(kind, &why, bytes))
}

/// An object in protobuf, which says nothing of duplicate keys.
fn protobuf_object(bytes: &[u8], message: &Message, api_version: &str, kind: &str) -> Result<body::Body, String> {
    let read = protobuf::open(bytes).and_then(|envelope| envelope.decode(message));
    let mut object = read.map_err(|problem| problem.to_string())?;
    if let Some(fields) = object.as_object_mut() {
        fields.entry("apiVersion").or_insert_with(|| api_version.into());
        fields.entry("kind").or_insert_with(|| kind.into());
    }
    Ok((object, Vec::new()))
}

/// The refusal of a body that no object can be read from.
pub(crate) fn unrecognized(kind: &str, why: &str, bytes: &[u8]) -> ApiError {
    let summary = summary(bytes);
    ApiError::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why} ({summary})"))
}

/// The start of a body, as an error message shows it: as text when it looks like JSON, else as bytes.
fn summary(bytes: &[u8]) -> String {
    const SHOWN: usize = 30;
    let start = bytes.get(..bytes.len().min(SHOWN)).unwrap_or_default();
    let shown = if bytes.first() == Some(&b'{') {
        String::from_utf8_lossy(start).into_owned()
    } else {
        start.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    match bytes.len() {
        0 => "<empty>".to_owned(),
        length if length > SHOWN => format!("{shown} ..."),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_as_go_reads_them() {
        let uri: Uri = "/x?&limit=5&a=%41+b&bad=%zz&also%=1&semi=1;2&empty=&bare&a=2".parse().unwrap();
        let query = Query::parse(&uri);
        assert_eq!((query.get("limit"), query.all("a")), ("5", vec!["A b", "2"]));
        for absent in ["bad", "also%", "semi"] {
            assert!(!query.has(absent), "{absent}");
        }
        assert!(query.flag("empty") && query.flag("bare") && !query.flag("none"));
    }

    #[test]
    fn old_watches_are_watches() {
        let cases = [
            ("/api/v1/watch/namespaces/n/pods?x=1", Some("/api/v1/namespaces/n/pods?watch=1&x=1")),
            ("/api/v1/watch/namespaces", Some("/api/v1/namespaces?watch=1&")),
            ("/api/v1/watch/namespaces/n", Some("/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Dn&")),
            (
                "/apis/g/v1/watch/namespaces/n/ws/a",
                Some("/apis/g/v1/namespaces/n/ws?watch=1&fieldSelector=metadata.name%3Da&"),
            ),
            ("/api/v1/namespaces/watch", None),
        ];
        for (path, wanted) in cases {
            let found = usual_watch(&path.parse().unwrap()).map(|uri| uri.to_string());
            assert_eq!(found.as_deref(), wanted, "{path}");
        }
    }

    fn shown(path: &str) -> Option<String> {
        let p = ResourcePath::parse(path)?;
        let (name, sub) = (p.name.unwrap_or_default(), p.subresource.unwrap_or_default());
        Some(format!("{}|{}|{}|{}|{name}|{sub}", p.group, p.version, p.namespace, p.plural))
    }

    #[test]
    fn paths_are_decoded_once() {
        let cases = [
            ("/a%2Fb", "/a/b"),
            ("/%61", "/a"),
            ("/a%25", "/a%"),
            ("/%zz%", "/%zz%"),
            ("/%2", "/%2"),
            ("/%252e", "/%2e"),
        ];
        for (path, wanted) in cases {
            assert_eq!(decode_path(path), wanted, "{path}");
        }
        assert!(check_name("..").is_err() && check_name("a%").is_err() && check_name("a.b").is_ok());
    }

    #[test]
    fn paths_name_resources() {
        let cases = [
            ("/api/v1/secrets", Some("|v1||secrets||")),
            ("/api/v1/namespaces", Some("|v1||namespaces||")),
            ("/api/v1/namespaces/x", Some("|v1||namespaces|x|")),
            ("/api/v1/namespaces/x/status", Some("|v1||namespaces|x|status")),
            ("/api/v1/namespaces/x/secrets/s", Some("|v1|x|secrets|s|")),
            (
                "/apis/metal3.io/v1alpha1/namespaces/x/baremetalhosts/h/status",
                Some("metal3.io|v1alpha1|x|baremetalhosts|h|status"),
            ),
            ("/apis/metal3.io/v1alpha1/baremetalhosts/", Some("metal3.io|v1alpha1||baremetalhosts||")),
            ("/api/v1/namespaces/x/secrets/s/status/more", Some("|v1|x|secrets|s|status/more")),
            ("/api/v1/namespaces//secrets", Some("|v1||secrets||")),
            ("/api/v1", None),
            ("/apis/g", None),
            ("/api//secrets", None),
            ("", None),
        ];
        for (path, wanted) in cases {
            assert_eq!(shown(path).as_deref(), wanted, "{path}");
        }
    }
}
