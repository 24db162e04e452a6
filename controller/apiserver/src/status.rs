//! Errors as clients see them: every failed request answers with a `metav1.Status`, with the code, reason and wording
//! that a stock API server uses, because clients branch on them. This room knows HTTP codes and field causes, and
//! nothing of storage or resources.

use std::collections::HashSet;
use std::fmt;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::gotext::{self, shown};

/// One field's failure inside an `Invalid` status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    reason: &'static str,
    message: String,
    field: String,
}

impl Cause {
    fn new(reason: &'static str, field: &str, message: String) -> Self {
        Self { reason, message, field: field.to_owned() }
    }

    pub(crate) fn required(field: &str) -> Self {
        Self::required_as(field, "")
    }

    /// As [`Self::required`], saying why.
    pub(crate) fn required_as(field: &str, detail: &str) -> Self {
        Self::new("FieldValueRequired", field, with_detail("Required value", detail))
    }

    pub(crate) fn invalid(field: &str, value: &Value, detail: &str) -> Self {
        Self::new("FieldValueInvalid", field, with_detail(&format!("Invalid value: {}", shown(value)), detail))
    }

    /// As [`Self::invalid`], for a value that is shown in a form of its own.
    pub(crate) fn invalid_text(field: &str, shown: &str, detail: &str) -> Self {
        Self::new("FieldValueInvalid", field, with_detail(&format!("Invalid value: {shown}"), detail))
    }

    /// As [`Self::invalid`], for values that are not worth showing.
    pub(crate) fn invalid_hidden(field: &str, detail: &str) -> Self {
        Self::new("FieldValueInvalid", field, with_detail("Invalid value", detail))
    }

    /// A value of the wrong type, or a string of the wrong format.
    pub(crate) fn type_invalid(field: &str, value: &Value, detail: &str) -> Self {
        Self::new("FieldValueTypeInvalid", field, with_detail(&format!("Invalid value: {}", shown(value)), detail))
    }

    pub(crate) fn unsupported(field: &str, value: &Value, allowed: &[Value]) -> Self {
        let quoted = |value: &Value| match value {
            Value::String(text) => gotext::quoted(text),
            other => gotext::quoted(&gotext::json(other)),
        };
        let allowed = allowed.iter().map(quoted).collect::<Vec<_>>().join(", ");
        let message = format!("Unsupported value: {}: supported values: {allowed}", shown(value));
        Self::new("FieldValueNotSupported", field, message)
    }

    pub(crate) fn duplicate(field: &str, value: &Value) -> Self {
        Self::new("FieldValueDuplicate", field, format!("Duplicate value: {}", shown(value)))
    }

    /// As [`Self::duplicate`], for values that are not worth showing.
    pub(crate) fn duplicate_hidden(field: &str) -> Self {
        Self::new("FieldValueDuplicate", field, "Duplicate value".to_owned())
    }

    pub(crate) fn forbidden(field: &str, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, with_detail("Forbidden", detail))
    }

    pub(crate) fn too_long(field: &str, max: u64) -> Self {
        let bytes = if max == 1 { "byte" } else { "bytes" };
        Self::new("FieldValueTooLong", field, format!("Too long: may not be more than {max} {bytes}"))
    }

    pub(crate) fn too_many(field: &str, found: usize, max: u64) -> Self {
        let items = if max == 1 { "item" } else { "items" };
        Self::new("FieldValueTooMany", field, format!("Too many: {found}: must have at most {max} {items}"))
    }

    /// A field that another manager owns.
    pub(crate) fn manager_conflict(field: &str, manager: &str) -> Self {
        Self::new("FieldManagerConflict", field, format!("conflict with {manager}"))
    }

    pub(crate) fn reason(&self) -> &'static str {
        self.reason
    }

    fn to_value(&self) -> Value {
        let fields = [("reason", self.reason), ("message", &self.message), ("field", &self.field)];
        let said = fields.into_iter().filter(|(_, text)| !text.is_empty());
        Value::Object(said.map(|(name, text)| (name.to_owned(), text.into())).collect())
    }

    /// The failure in one line: field, then what is wrong with it.
    pub(crate) fn line(&self) -> String {
        if self.field.is_empty() { self.message.clone() } else { format!("{}: {}", self.field, self.message) }
    }
}

fn with_detail(what: &str, detail: &str) -> String {
    if detail.is_empty() { what.to_owned() } else { format!("{what}: {detail}") }
}

/// Which object a status speaks about (`details` of the Status).
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject {
    pub(crate) group: String,
    /// The plural for most errors, the kind for `Invalid`, as upstream does it.
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl Subject {
    fn qualified(&self) -> String {
        if self.group.is_empty() { self.kind.clone() } else { format!("{}.{}", self.kind, self.group) }
    }
}

/// A failed request. Boxed, so that results stay small on the way of success.
#[derive(Debug, Clone)]
pub(crate) struct ApiError(Box<Failure>);

#[derive(Debug, Clone)]
struct Failure {
    code: StatusCode,
    reason: &'static str,
    message: String,
    subject: Option<Subject>,
    causes: Vec<Cause>,
    /// Seconds after which the request may be tried again.
    retry_after: Option<u32>,
    is_outdated: bool,
    /// A continue token to go on with.
    resume: Option<String>,
    /// What was odd about the request besides, for the people behind it.
    warnings: Vec<String>,
}

impl ApiError {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(Failure {
            code,
            reason,
            message,
            subject: None,
            causes: Vec::new(),
            retry_after: None,
            is_outdated: false,
            resume: None,
            warnings: Vec::new(),
        }))
    }

    /// Tells what was odd about the request, although it is refused for something else.
    pub(crate) fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.0.warnings = warnings;
        self
    }

    fn about(mut self, subject: Subject) -> Self {
        self.0.subject = Some(subject);
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn forbidden(subject: Subject, why: &str) -> Self {
        let message = match subject.name.as_str() {
            "" => format!("{} is forbidden: {why}", subject.qualified()),
            name => format!("{} \"{name}\" is forbidden: {why}", subject.qualified()),
        };
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(subject)
    }

    /// As [`Self::forbidden`], for what is no resource.
    pub(crate) fn forbidden_path(message: String) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(Subject::default())
    }

    /// The namespace is on its way out, and takes nothing in.
    pub(crate) fn terminating(subject: Subject, namespace: &str) -> Self {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut error = Self::forbidden(subject, &why);
        error.0.causes = vec![Cause::new(
            "NamespaceTerminating",
            "metadata.namespace",
            format!("namespace {namespace} is being terminated"),
        )];
        error
    }

    /// A path that no resource is served at.
    pub(crate) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(Subject::default())
    }

    pub(crate) fn not_found(subject: Subject) -> Self {
        let message = format!("{} {} not found", subject.qualified(), gotext::quoted(&subject.name));
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(subject)
    }

    pub(crate) fn already_exists(subject: Subject) -> Self {
        let message = format!("{} \"{}\" already exists", subject.qualified(), subject.name);
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(subject)
    }

    /// As [`Self::already_exists`], where the other object is on its way out.
    pub(crate) fn still_exists(subject: Subject) -> Self {
        let mut error = Self::already_exists(subject);
        error.0.message.insert_str(0, "object is being deleted: ");
        error
    }

    /// No free name was found for an object that is to get one.
    pub(crate) fn generated_name_taken(subject: Subject) -> Self {
        let message = format!(
            "{} \"{}\" already exists, the server was not able to generate a unique name for the object",
            subject.qualified(),
            subject.name
        );
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(subject)
    }

    pub(crate) fn conflict(subject: Subject, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{}\": {why}", subject.qualified(), subject.name);
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(subject)
    }

    /// An apply that others are in the way of.
    pub(crate) fn apply_conflict(message: &str, causes: Vec<Cause>) -> Self {
        let mut error = Self::new(StatusCode::CONFLICT, "Conflict", message).about(Subject::default());
        error.0.causes = causes;
        error
    }

    pub(crate) fn invalid(subject: Subject, causes: Vec<Cause>) -> Self {
        let mut lines: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        for line in causes.iter().map(Cause::line) {
            if seen.insert(line.clone()) {
                lines.push(line);
            }
        }
        let what = match lines.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} {} is invalid: {what}", subject.qualified(), gotext::quoted(&subject.name));
        let mut error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).about(subject);
        error.0.causes = causes;
        error
    }

    /// A patch that is well formed but cannot be carried out on the object as it is. Upstream does not say why.
    pub(crate) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).about(Subject::default())
    }

    /// A failure that upstream answers without a reason.
    pub(crate) fn unexplained(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).about(Subject::default())
    }

    /// What may not be done any more while a definition is being deleted.
    pub(crate) fn no_longer_allowed(subject: Subject, verb: &str) -> Self {
        Self::forbidden(subject, &format!("{verb} not allowed while custom resource definition is terminating"))
    }

    /// A verb that a subresource of a custom kind does not have.
    pub(crate) fn not_supported(subject: &Subject, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind {:?}", subject.qualified());
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).about(subject.clone())
    }

    pub(crate) fn not_acceptable(supported: &str) -> Self {
        let message = format!("only the following media types are accepted: {supported}");
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// A form that is no form of what was asked for.
    pub(crate) fn unlike_form(message: String) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// None of the media types that the client takes is served by a path; a path of lists can also be watched.
    pub(crate) fn no_representation(lists: bool) -> Self {
        let kinds = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"].join(", ");
        let streams = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
        let kinds = if lists { format!("{kinds}, {streams}") } else { kinds };
        let message = format!("406: Not Acceptable\n\nAvailable representations: {kinds}");
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message).about(Subject::default())
    }

    pub(crate) fn unsupported_media_type(supported: &str) -> Self {
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {supported}");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    /// A media type that a router knows no handler for.
    pub(crate) fn no_such_media_type() -> Self {
        let code = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Self::new(code, "UnsupportedMediaType", "415: Unsupported Media Type").about(Subject::default())
    }

    /// A version asked for that is not there yet.
    pub(crate) fn too_new(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let mut error = Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message).about(Subject::default());
        error.0.causes = vec![Cause::new("ResourceVersionTooLarge", "", "Too large resource version".to_owned())];
        error.0.retry_after = Some(1);
        error
    }

    /// More requests than are worked on at once.
    pub(crate) fn too_many_requests() -> Self {
        let message = "Too many requests, please try again later.";
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message).about(Subject::default());
        error.0.retry_after = Some(1);
        error
    }

    /// A version asked for that is no longer remembered.
    pub(crate) fn gone(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// As [`Self::gone`], for the page of a list; `resume` continues it on the newest state.
    pub(crate) fn expired_page(resume: &str) -> Self {
        let mut error = Self::gone(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list \
             without the continue parameter, or use the continue token in this response to retrieve the remainder of \
             the results. Continuing with the provided token results in an inconsistent list - objects that were \
             created, modified, or deleted between the time the first chunk was returned and now may show up in the \
             list.",
        );
        error.0.resume = Some(resume.to_owned());
        error
    }

    /// The version asked for has left the history that watches can be served from.
    pub(crate) fn expired(asked: u64, oldest: u64) -> Self {
        Self::new(StatusCode::GONE, "Expired", format!("too old resource version: {asked} ({oldest})"))
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::entity_too_large(format!("limit is {limit}"))
    }

    pub(crate) fn entity_too_large(why: impl fmt::Display) -> Self {
        let message = format!("Request entity too large: {why}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    pub(crate) fn timeout(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
    }

    /// The server is closing: ask again later, or elsewhere.
    /// The kind changed while one of its objects was being written.
    pub(crate) fn outdated(subject: Subject) -> Self {
        let mut error = Self::conflict(subject, "the definition of the kind has been modified; please try again");
        error.0.is_outdated = true;
        error
    }

    /// Whether the same request may be answered otherwise by the kind as it is now.
    pub(crate) fn is_outdated(&self) -> bool {
        self.0.is_outdated
    }

    pub(crate) fn unavailable() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "the server is shutting down")
    }

    pub(crate) fn internal(why: impl fmt::Display) -> Self {
        let message = why.to_string();
        let mut error = Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
        .about(Subject::default());
        error.0.causes = vec![Cause::new("", "", message)];
        error
    }

    /// A failure that has no reason of its own.
    pub(crate) fn unknown(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    /// The wire form, also used inside a watch stream.
    pub(crate) fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.0.message, "code": self.0.code.as_u16(),
        });
        if !self.0.reason.is_empty() {
            crate::object::set_field(&mut status, "reason", self.0.reason.into());
        }
        if let Some(resume) = &self.0.resume {
            crate::object::set_meta(&mut status, "continue", resume.as_str());
        }
        if let (Some(details), Some(status)) = (self.details(), status.as_object_mut()) {
            status.insert("details".to_owned(), details);
        }
        status
    }

    fn details(&self) -> Option<Value> {
        let subject = self.0.subject.as_ref()?;
        let mut details = Map::new();
        for (key, text) in [("name", &subject.name), ("group", &subject.group), ("kind", &subject.kind)] {
            if !text.is_empty() {
                details.insert(key.to_owned(), Value::from(text.as_str()));
            }
        }
        if !self.0.causes.is_empty() {
            let causes = self.0.causes.iter().map(Cause::to_value);
            details.insert("causes".to_owned(), causes.collect());
        }
        if let Some(seconds) = self.0.retry_after {
            details.insert("retryAfterSeconds".to_owned(), seconds.into());
        }
        Some(Value::Object(details))
    }
}

impl From<crate::store::StoreError> for ApiError {
    fn from(error: crate::store::StoreError) -> Self {
        // What etcd refuses, upstream passes on as it is, without a reason.
        if error.is_too_large() || error.is_no_space() {
            return Self::unexplained(error.to_string());
        }
        Self::internal(error)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.0.message, self.0.code.as_u16(), self.0.reason)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.0.code, self.to_value().to_string() + "\n").into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.0.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        crate::handlers::warn(&mut response, &self.0.warnings);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_reads_like_upstream() {
        let subject = Subject { group: "metal3.io".into(), kind: "BareMetalHost".into(), name: "a".into() };
        let causes = vec![Cause::required("spec.x"), Cause::type_invalid("spec.y", &"string".into(), "no")];
        let status = ApiError::invalid(subject, causes).to_value();
        assert_eq!(
            status["message"],
            "BareMetalHost.metal3.io \"a\" is invalid: [spec.x: Required value, \
             spec.y: Invalid value: \"string\": no]"
        );
        assert_eq!(status["details"]["causes"][0]["field"], "spec.x");
        assert_eq!(status["code"], 422);
    }
}
