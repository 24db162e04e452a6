//! What goes back over the wire, and the bodies of refusals as the base message registry words them for machines: the
//! message ids are the registry's, the sentences our own.

use bytes::Bytes;
use serde_json::{Value, json};

/// Prefix of message ids.
const REGISTRY: &str = "Base.1.18";

/// What stands in an answer.
#[derive(Debug, Clone)]
pub enum Body {
    /// Nothing.
    Empty,
    /// JSON.
    Json(Value),
    /// Anything else, with its content type.
    Raw(&'static str, Bytes),
}

/// An answer, with what a fault made of it.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers beyond those of every answer.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Body,
    /// Only half of the body is sent, then the connection ends.
    pub cut: bool,
    /// So many more bytes of blanks follow the body.
    pub padding: u64,
    /// Another content type than the body's.
    pub content_type: Option<String>,
}

impl Answer {
    /// That status and body.
    #[must_use]
    pub fn new(status: u16, body: Body) -> Self {
        Self { status, headers: Vec::new(), body, cut: false, padding: 0, content_type: None }
    }

    /// 200 with that.
    #[must_use]
    pub fn ok(body: Value) -> Self {
        Self::new(200, Body::Json(body))
    }

    /// 204.
    #[must_use]
    pub fn no_content() -> Self {
        Self::new(204, Body::Empty)
    }

    /// With one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Whether it reports success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// An error with one message of the base registry.
    #[must_use]
    pub fn error(status: u16, id: &str, sentence: &str, arguments: &[&str]) -> Self {
        let message = json!({
            "@odata.type": "#Message.v1_2_1.Message",
            "MessageId": format!("{REGISTRY}.{id}"),
            "Message": sentence,
            "MessageArgs": arguments,
            "MessageSeverity": "Critical",
            "Resolution": "See the message.",
        });
        let code = format!("{REGISTRY}.{id}");
        let error = json!({ "code": code, "message": sentence, "@Message.ExtendedInfo": [message] });
        Self::new(status, Body::Json(json!({ "error": error })))
    }

    /// The messages of an error.
    pub(super) fn said(&self) -> Value {
        let Body::Json(body) = &self.body else { return Value::Null };
        body.pointer("/error/@Message.ExtendedInfo").cloned().unwrap_or_default()
    }

    pub(super) fn not_found(path: &str) -> Self {
        Self::error(404, "ResourceMissingAtURI", &format!("there is nothing at {path}"), &[path])
    }

    pub(super) fn not_allowed(method: &str, allow: &str) -> Self {
        let sentence = format!("{method} is not for this resource");
        Self::error(405, "OperationNotAllowed", &sentence, &[]).with("Allow", allow)
    }

    pub(super) fn malformed() -> Self {
        Self::error(400, "MalformedJSON", "the body is not a JSON object", &[])
    }

    pub(super) fn unknown_property(name: &str) -> Self {
        Self::error(400, "PropertyUnknown", &format!("{name} is not a property of this resource"), &[name])
    }

    pub(super) fn read_only(name: &str) -> Self {
        Self::error(400, "PropertyNotWritable", &format!("{name} cannot be written"), &[name])
    }

    pub(super) fn not_in_list(value: &str, property: &str) -> Self {
        let sentence = format!("{value} is not a value of {property}");
        Self::error(400, "PropertyValueNotInList", &sentence, &[value, property])
    }

    pub(super) fn wrong_type(value: &str, property: &str) -> Self {
        let sentence = format!("{value} is of the wrong type for {property}");
        Self::error(400, "PropertyValueTypeError", &sentence, &[value, property])
    }

    pub(super) fn missing_parameter(action: &str, name: &str) -> Self {
        let sentence = format!("{action} needs {name}");
        Self::error(400, "ActionParameterMissing", &sentence, &[action, name])
    }

    pub(super) fn unknown_parameter(action: &str, name: &str) -> Self {
        let sentence = format!("{name} is not a parameter of {action}");
        Self::error(400, "ActionParameterUnknown", &sentence, &[action, name])
    }

    pub(super) fn parameter_not_in_list(value: &str, name: &str, action: &str) -> Self {
        let sentence = format!("{value} is not a value of {name} of {action}");
        Self::error(400, "ActionParameterValueNotInList", &sentence, &[value, name, action])
    }

    pub(super) fn success() -> Self {
        let Self { body, .. } = Self::error(200, "Success", "done", &[]);
        let Body::Json(mut body) = body else { return Self::no_content() };
        if let Some(severity) = body.pointer_mut("/error/@Message.ExtendedInfo/0/MessageSeverity") {
            *severity = json!("OK");
        }
        Self::ok(body)
    }
}
