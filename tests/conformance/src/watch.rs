//! Watches: a stream of events, read until enough have been seen.

use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::corpus::Until;
use crate::outcome::HARNESS_EVENT;

/// Longest wait for the events of one step.
const PATIENCE: Duration = Duration::from_secs(15);
/// Longest line: more than any event of the corpus.
const LONGEST: usize = 16 * 1024 * 1024;

/// An open watch.
pub(crate) struct Stream {
    body: Incoming,
    buffer: BytesMut,
    bookmarks: bool,
}

impl Stream {
    pub(crate) fn new(body: Incoming, bookmarks: bool) -> Self {
        Self { body, buffer: BytesMut::new(), bookmarks }
    }

    /// The events up to and with the one that fulfils `until`. What went wrong is itself an event, of a type no
    /// server sends.
    pub(crate) async fn read(&mut self, until: &Until) -> Vec<Value> {
        let deadline = Instant::now() + PATIENCE;
        let mut events = Vec::new();
        while !is_enough(&events, until) {
            match timeout_at(deadline, self.next()).await {
                Ok(Ok(Some(event))) if self.counts(&event) => events.push(event),
                Ok(Ok(Some(_))) => {}
                Ok(Ok(None)) if matches!(until, Until::End) => break,
                Ok(Ok(None)) => return with(events, "the stream ended"),
                Ok(Err(error)) => return with(events, &error.to_string()),
                Err(_) => return with(events, "no more events in time"),
            }
        }
        events
    }

    fn counts(&self, event: &Value) -> bool {
        let ends_initial = event.pointer("/object/metadata/annotations/k8s.io~1initial-events-end").is_some();
        self.bookmarks || ends_initial || event.get("type").and_then(Value::as_str) != Some("BOOKMARK")
    }

    async fn next(&mut self) -> anyhow::Result<Option<Value>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end);
                self.buffer.advance(1);
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            anyhow::ensure!(self.buffer.len() < LONGEST, "an event without end");
            match self.body.frame().await {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame?.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}

fn is_enough(events: &[Value], until: &Until) -> bool {
    match until {
        Until::Count(count) => events.len() >= *count,
        Until::Event { r#type, name } => events.last().is_some_and(|event| {
            let named = event.pointer("/object/metadata/name").and_then(Value::as_str);
            event.get("type").and_then(Value::as_str) == Some(r#type) && (name.is_none() || named == name.as_deref())
        }),
        Until::End => false,
    }
}

fn with(mut events: Vec<Value>, why: &str) -> Vec<Value> {
    events.push(json!({"type": HARNESS_EVENT, "object": why}));
    events
}
