//! What a host was asked, for tests to look at: bounded, and without secrets.

use std::collections::VecDeque;
use std::sync::Mutex;

use serde_json::Value;

use super::json::objects;
use crate::host::locked;

/// Requests that are kept when nobody says otherwise.
const LIMIT: usize = 64;

/// A body longer than this is kept as its length only.
const BODY_LIMIT: usize = 8 * 1024;

const SECRET_HEADERS: [&str; 3] = ["authorization", "x-auth-token", "cookie"];
const SECRETS: [&str; 3] = ["Password", "Token", "NewPassword"];

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Rising by one, from 1; also counts those that are forgotten.
    pub number: u64,
    /// HTTP method.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    /// Headers by lower-case name; of secret ones only `hidden`.
    pub headers: Vec<(String, String)>,
    /// The body, passwords hidden.
    pub body: Option<Value>,
}

impl Seen {
    /// The first header of that lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }
}

/// The last requests of one host.
#[derive(Debug)]
pub struct Recorder {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    seen: VecDeque<Seen>,
    total: u64,
    limit: usize,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { inner: Mutex::new(Inner { seen: VecDeque::new(), total: 0, limit: LIMIT }) }
    }
}

impl Recorder {
    pub(super) fn add(&self, method: &str, path: &str, headers: &http::HeaderMap, body: &[u8]) {
        let mut inner = locked(&self.inner);
        inner.total += 1;
        if inner.limit == 0 {
            return;
        }
        let headers = headers.iter().map(|(name, value)| {
            let hidden = SECRET_HEADERS.contains(&name.as_str());
            let value = if hidden { "hidden".into() } else { String::from_utf8_lossy(value.as_bytes()) };
            (name.as_str().to_owned(), value.into_owned())
        });
        let (method, path, headers) = (method.to_owned(), path.to_owned(), headers.collect());
        let seen = Seen { number: inner.total, method, path, headers, body: readable(body) };
        while inner.seen.len() >= inner.limit {
            inner.seen.pop_front();
        }
        inner.seen.push_back(seen);
    }

    /// The last requests, the oldest first.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        locked(&self.inner).seen.iter().cloned().collect()
    }

    /// `METHOD path` of the last requests, the oldest first.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        locked(&self.inner).seen.iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect()
    }

    /// How many requests there were.
    #[must_use]
    pub fn total(&self) -> u64 {
        locked(&self.inner).total
    }

    /// Keeps so many from now on.
    pub fn set_limit(&self, limit: usize) {
        let mut inner = locked(&self.inner);
        inner.limit = limit;
        let surplus = inner.seen.len().saturating_sub(limit);
        inner.seen.drain(..surplus);
    }

    /// Forgets the requests, not their number.
    pub fn clear(&self) {
        locked(&self.inner).seen.clear();
    }
}

fn readable(body: &[u8]) -> Option<Value> {
    if body.is_empty() {
        return None;
    }
    if body.len() > BODY_LIMIT {
        return Some(Value::String(format!("{} bytes", body.len())));
    }
    let Ok(mut value) = serde_json::from_slice(body) else {
        return Some(Value::String(String::from_utf8_lossy(body).into_owned()));
    };
    objects(&mut value, &mut |object| {
        for name in SECRETS {
            if let Some(secret) = object.get_mut(name) {
                *secret = Value::String("hidden".to_owned());
            }
        }
    });
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_hides_secrets() {
        let recorder = Recorder::default();
        let mut headers = http::HeaderMap::new();
        headers.insert("authorization", http::HeaderValue::from_static("Basic c2VjcmV0"));
        headers.insert("accept", http::HeaderValue::from_static("application/json"));
        for number in 0..100 {
            recorder.add("POST", &format!("/{number}"), &headers, br#"{"UserName":"a","Password":"secret"}"#);
        }
        let seen = recorder.seen();
        assert_eq!((seen.len(), recorder.total()), (LIMIT, 100));
        assert_eq!(recorder.lines().last().unwrap(), "POST /99");
        assert!(!format!("{seen:?}").contains("secret"));
        assert_eq!(seen[0].header("accept"), Some("application/json"));
        recorder.set_limit(1);
        assert_eq!(recorder.lines(), ["POST /99"]);
    }
}
