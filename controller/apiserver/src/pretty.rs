//! Indents JSON for people, as it passes by: nothing of the answer is held.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderMap, header};

use crate::request::Query;

/// Whether the client wants to read the answer with its own eyes.
pub(crate) fn is_wanted(query: &Query, headers: &HeaderMap) -> bool {
    match query.get("pretty") {
        "" => {
            let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
            ["curl", "Wget", "Mozilla/5.0"].iter().any(|known| agent.starts_with(known))
        }
        value => matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True"),
    }
}

/// Indents a JSON answer; leaves others as they are.
pub(crate) fn indent(response: Response) -> Response {
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if !is_json {
        return response;
    }
    let (mut head, body) = response.into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    let mut indenter = Indenter::default();
    let indented = body.into_data_stream().map(move |chunk| chunk.map(|chunk| indenter.pass(&chunk)));
    Response::from_parts(head, Body::from_stream(indented))
}

#[derive(Default)]
struct Indenter {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// An object or list was opened, and nothing followed yet.
    opened: bool,
}

impl Indenter {
    fn pass(&mut self, chunk: &[u8]) -> Bytes {
        let mut out = Vec::with_capacity(chunk.len() * 2);
        for byte in chunk {
            self.byte(*byte, &mut out);
        }
        out.into()
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        if self.in_string {
            out.push(byte);
            self.in_string = byte != b'"' || self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            return;
        }
        if matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
            return;
        }
        let opened = std::mem::take(&mut self.opened);
        if matches!(byte, b'}' | b']') {
            self.depth = self.depth.saturating_sub(1);
            if !opened {
                self.line(out);
            }
            out.push(byte);
            return;
        }
        if opened {
            self.line(out);
        }
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                self.depth += 1;
                self.opened = true;
            }
            b',' => {
                out.push(byte);
                self.line(out);
            }
            b':' => out.extend(b": "),
            b'"' => {
                out.push(byte);
                self.in_string = true;
            }
            other => out.push(other),
        }
    }

    fn line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', self.depth * 2));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn indented(text: &str, cut: usize) -> String {
        let mut indenter = Indenter::default();
        let (left, right) = text.as_bytes().split_at(cut.min(text.len()));
        let mut out = indenter.pass(left).to_vec();
        out.extend(indenter.pass(right));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn reads_as_serde_indents() {
        let value = json!({"a": [], "b": {}, "c": [1, {"d": "x\"{,\\"}], "e": null, "f": [[], [{}]]});
        let text = value.to_string();
        for cut in 0..text.len() {
            assert_eq!(indented(&text, cut), serde_json::to_string_pretty(&value).unwrap(), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn changes_nothing_but_space(keys in proptest::collection::vec(".{0,8}", 0..6), cut in 0_usize..80) {
            let value: Value = json!({"k": keys, "n": {"m": keys}});
            let text = indented(&value.to_string(), cut);
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }
}
