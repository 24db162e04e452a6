//! URLs, as far as rules look into them.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::eval::{Found, no_overload};
use super::super::value::{Key, Value};
use crate::schema::Format;

/// An absolute URL, or an absolute path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    text: String,
    scheme: String,
    host: String,
    path: String,
    query: String,
}

impl Url {
    pub(super) fn parse(text: &str) -> Option<Self> {
        if !Format::Uri.fits(text) {
            return None;
        }
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) if !text.starts_with('/') => (scheme.to_lowercase(), rest),
            _ => (String::new(), text),
        };
        let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = match before.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            Some(after) => after.find('/').map_or((after, ""), |at| after.split_at(at)),
            None => ("", before),
        };
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        Some(Self {
            text: text.to_owned(),
            scheme,
            host: host.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn method<'v>(&self, name: &str) -> Found<'v> {
        let (hostname, port) = match self.host.strip_prefix('[').and_then(|bracketed| bracketed.split_once(']')) {
            Some((name, port)) => (name, port.trim_start_matches(':')),
            None => self.host.rsplit_once(':').unwrap_or((&self.host, "")),
        };
        Ok(match name {
            "getScheme" => Value::text(self.scheme.as_str()),
            "getHost" => Value::text(self.host.as_str()),
            "getHostname" => Value::text(hostname),
            "getPort" => Value::text(port),
            "getEscapedPath" => Value::text(self.path.as_str()),
            "getQuery" => self.query_map(),
            _ => return no_overload(),
        })
    }

    fn query_map<'v>(&self) -> Value<'v> {
        let mut found: BTreeMap<Key, Vec<Value<'v>>> = BTreeMap::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            found.entry(Key::Text(decoded(name))).or_default().push(Value::text(decoded(value)));
        }
        Value::Map(Rc::new(found.into_iter().map(|(key, list)| (key, Value::list(list))).collect()))
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let hex = after
            .get(..2)
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        rest = after;
        match (byte, hex) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', _) => bytes.push(b' '),
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
