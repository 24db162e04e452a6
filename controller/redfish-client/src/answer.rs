//! What one HTTP exchange brought.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use serde_json::Value;

use crate::fault::excerpt;
use crate::{Fault, RedfishError, Reference};

/// What one HTTP exchange brought.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn text_header(&self, name: &header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Where it points; a `Location` may be a path or a whole URL.
    pub(crate) fn location(&self) -> Option<Reference> {
        Reference::parse(self.text_header(&header::LOCATION)?)
    }

    /// How long the service asks to be left alone. The date form of `Retry-After` is not used: BMCs' clocks are wrong.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.text_header(&header::RETRY_AFTER)?.trim().parse().ok().map(Duration::from_secs)
    }

    /// The body as a JSON object, if it has one; an empty body is none. The content type is not asked: services label
    /// JSON as text and HTML as JSON.
    pub(crate) fn json(&self, method: &Method, url: &str) -> Result<Option<Value>, RedfishError> {
        let body = self.body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.body).trim_ascii();
        if body.is_empty() {
            return Ok(None);
        }
        let wrong = |problem: String| RedfishError::Body { method: method.clone(), url: url.to_owned(), problem };
        match serde_json::from_slice::<Value>(body) {
            Ok(value @ Value::Object(_)) => Ok(Some(value)),
            Ok(other) => {
                let start = excerpt(&other.to_string()).unwrap_or_default();
                Err(wrong(format!("the answer is JSON, but no object: {start}")))
            }
            Err(error) if body.starts_with(b"<") => {
                let page = excerpt(&String::from_utf8_lossy(body)).unwrap_or_else(|| error.to_string());
                Err(wrong(format!("the answer is a page for people, not JSON: {page}")))
            }
            Err(error) => Err(wrong(format!("the answer is not JSON: {error}"))),
        }
    }

    /// The refusal that this answer is; none if it is a success.
    pub(crate) fn refusal(&self, method: &Method, url: &str, user: &str) -> Option<RedfishError> {
        if self.status.is_success() {
            return None;
        }
        let fault = Fault::read(&self.body);
        let (url, user) = (url.to_owned(), user.to_owned());
        Some(match self.status {
            _ if fault.has("PasswordChangeRequired") => RedfishError::PasswordChangeRequired { url, user, fault },
            StatusCode::UNAUTHORIZED => RedfishError::Unauthorized { url, user, fault },
            status => RedfishError::Refused { method: method.clone(), url, status, fault },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &'static [u8]) -> Answer {
        let status = StatusCode::from_u16(status).unwrap();
        Answer { status, headers: HeaderMap::new(), body: Bytes::from_static(body) }
    }

    #[test]
    fn bodies() {
        let read = |body| answer(200, body).json(&Method::GET, "https://b/x");
        assert_eq!(read(b"  ").unwrap(), None);
        assert_eq!(read(b"\xef\xbb\xbf{\"a\":1}\r\n").unwrap().unwrap()["a"], 1);
        for (body, wanted) in [
            (&b"<html><h1>Starting</h1></html>"[..], "a page for people, not JSON: Starting"),
            (b"[1]", "no object: [1]"),
            (b"{\"a\":", "not JSON: EOF"),
        ] {
            let error = read(body).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        let deep = [b"{\"a\":".repeat(4000), b"1".to_vec()].concat().leak();
        assert!(read(deep).unwrap_err().to_string().contains("recursion limit"));
    }

    #[test]
    fn a_first_password_is_its_own_error() {
        let body = br#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"Base.1.16.PasswordChangeRequired"}]}}"#;
        let error = answer(403, body).refusal(&Method::GET, "https://b/x", "root").unwrap();
        assert!(matches!(error, RedfishError::PasswordChangeRequired { .. }), "{error}");
        let error = answer(403, b"<h1>Forbidden</h1>").refusal(&Method::GET, "https://b/x", "root").unwrap();
        assert_eq!(error.to_string(), "GET https://b/x: 403 Forbidden: Forbidden");
    }
}
