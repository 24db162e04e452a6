//! Continue tokens: where the next page of a list begins and at which version. The client's to carry, not to read.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::status::ApiError;

const FORMAT: &str = "meta.k8s.io/v1";

/// A continue token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// The version of the first page; `None` for the newest one, inconsistent with the first page.
    pub(super) version: Option<u64>,
    /// The first place of the page, inside the namespace asked for.
    pub(super) start: String,
}

#[derive(Serialize, Deserialize)]
struct Encoded {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

impl Token {
    /// What follows the object at `place` of the state at `version`.
    pub(super) fn behind(version: u64, place: &str) -> Self {
        // The zero byte is the least that can follow: what comes next begins right behind the last object.
        Self { version: Some(version), start: format!("{place}\0") }
    }

    pub(super) fn encode(&self) -> String {
        let rv = self.version.map_or(-1, |version| i64::try_from(version).unwrap_or(i64::MAX));
        let encoded = Encoded { v: FORMAT.to_owned(), rv, start: format!("/{}", self.start) };
        // Three plain fields: nothing in it can fail.
        URL_SAFE_NO_PAD.encode(serde_json::to_string(&encoded).unwrap_or_default())
    }

    pub(super) fn decode(text: &str) -> Result<Self, ApiError> {
        Self::try_decode(text)
            .map_err(|why| ApiError::bad_request(format!("invalid continue token: continue key is not valid: {why}")))
    }

    fn try_decode(text: &str) -> Result<Self, String> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| {
            let alphabet = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
            let odd = text.len() - usize::from(text.len() % 4 == 1);
            let at = text.bytes().position(|c| !alphabet(&c)).unwrap_or(odd);
            format!("illegal base64 data at input byte {at}")
        })?;
        let encoded: Encoded = serde_json::from_slice(&bytes).map_err(|error| problem(&bytes, &error))?;
        if encoded.v != FORMAT {
            return Err(format!("server does not recognize this encoded version {}", encoded.v));
        }
        if encoded.rv == 0 {
            return Err(format!("incorrect encoded start resourceVersion (version {FORMAT})"));
        }
        if encoded.start.is_empty() {
            return Err(format!("encoded start key empty (version {FORMAT})"));
        }
        let start = encoded.start.strip_prefix('/').unwrap_or(&encoded.start);
        // It is joined to the place of the resource, and must not lead out of that.
        if start.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(encoded.start);
        }
        Ok(Self { version: u64::try_from(encoded.rv).ok(), start: start.to_owned() })
    }
}

/// What is wrong with the JSON of a token, in Go's words where it does not even begin.
fn problem(bytes: &[u8], error: &serde_json::Error) -> String {
    match bytes.first() {
        None => "unexpected end of JSON input".to_owned(),
        Some(first) if !matches!(first, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
            let shown = match char::from(*first) {
                '\'' => "\\'".to_owned(),
                c @ ('\u{0}'..='\u{1f}' | '\u{7f}') => format!("\\x{:02x}", u32::from(c)),
                c @ '\u{80}'..='\u{9f}' => format!("\\u{:04x}", u32::from(c)),
                c => c.to_string(),
            };
            format!("invalid character '{shown}' looking for beginning of value")
        }
        Some(_) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(version in proptest::option::of(1..i64::MAX as u64), start in "[a-z0-9.-]{1,20}[a-z]\u{0}?") {
            let token = Token { version, start };
            prop_assert_eq!(Token::decode(&token.encode()).unwrap(), token);
        }

        #[test]
        fn never_panics(text in ".{0,60}") {
            let _ = Token::decode(&text);
        }
    }

    /// As a kube-apiserver v1.36 answers.
    #[test]
    fn broken_ones_are_refused() {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let cases = [
            ("x".to_owned(), "illegal base64 data at input byte 0"),
            ("nonsense".to_owned(), "invalid character '\\u009e' looking for beginning of value"),
            ("abc=".to_owned(), "illegal base64 data at input byte 3"),
            (
                encode(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#),
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ),
            (encode(r#"{"v":"meta.k8s.io/v1","rv":5,"start":""}"#), "encoded start key empty (version meta.k8s.io/v1)"),
            (
                encode(r#"{"v":"meta.k8s.io/v2","rv":5,"start":"a"}"#),
                "server does not recognize this encoded version meta.k8s.io/v2",
            ),
            (encode(r#"{"v":"meta.k8s.io/v1","rv":5,"start":"../a"}"#), "../a"),
        ];
        for (text, wanted) in cases {
            let error = Token::decode(&text).unwrap_err().to_string();
            let wanted = format!("invalid continue token: continue key is not valid: {wanted} (400 BadRequest)");
            assert_eq!(error, wanted);
        }
    }
}
