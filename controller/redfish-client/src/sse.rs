//! Events that a service pushes down an open connection: server-sent events (DSP0266 13.6, WHATWG HTML 9.2), within
//! bounds.

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::Method;
use serde_json::Value;

use crate::{Client, RedfishError, Reference};

/// The largest event that is taken; a service that sends a larger one is not listened to any more.
const EVENT_LIMIT: usize = 1 << 20;

/// One event: its id, where it has one, and its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    /// The id of the last event that had one.
    pub id: Option<String>,
    /// The lines of data.
    pub data: String,
}

impl ServerEvent {
    /// The data as JSON; none if it is not.
    #[must_use]
    pub fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.data).ok()
    }
}

/// An open stream of events. Dropping it closes the connection.
pub struct Listener {
    url: String,
    chunks: BoxStream<'static, Result<Bytes, RedfishError>>,
    decoder: Decoder,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Listener {
    /// The next event; none when the service has ended the stream. Waits as long as nothing happens: whoever wants to
    /// know a dead connection from a quiet one sets a time limit and listens anew. Nothing is lost when the wait is
    /// given up.
    ///
    /// # Errors
    /// When the connection breaks, or an event is too large.
    pub async fn next(&mut self) -> Result<Option<ServerEvent>, RedfishError> {
        loop {
            if let Some(event) = self.decoder.next().map_err(|problem| self.broken(problem))? {
                return Ok(Some(event));
            }
            match self.chunks.next().await {
                Some(Ok(chunk)) => self.decoder.push(&chunk),
                Some(Err(error)) => return Err(error),
                None => return Ok(None),
            }
        }
    }

    fn broken(&self, problem: String) -> RedfishError {
        RedfishError::Body { method: Method::GET, url: self.url.clone(), problem }
    }
}

impl Client {
    /// Opens the stream of events at `at` (`EventService.ServerSentEventUri`).
    ///
    /// # Errors
    /// As [`Client::get`], without retries.
    pub async fn listen(&self, at: &Reference) -> Result<Listener, RedfishError> {
        let answer = self.open(at).await?;
        let url = self.wire().url(at);
        let named = url.clone();
        let chunks = answer.bytes_stream().map(move |chunk| {
            chunk.map_err(|error| RedfishError::Connection {
                method: Method::GET,
                url: named.clone(),
                why: error.to_string(),
                sent: true,
            })
        });
        Ok(Listener { url, chunks: chunks.boxed(), decoder: Decoder::default() })
    }
}

/// From bytes to events. Holds at most one event and one chunk.
#[derive(Default)]
struct Decoder {
    raw: BytesMut,
    /// How much of `raw` is known to hold no end of a line.
    scanned: usize,
    id: Option<String>,
    data: Option<String>,
}

impl Decoder {
    fn push(&mut self, chunk: &[u8]) {
        self.raw.extend_from_slice(chunk);
    }

    /// The next event that is whole.
    fn next(&mut self) -> Result<Option<ServerEvent>, String> {
        while let Some(line) = self.line() {
            if line.is_empty() {
                if let Some(data) = self.data.take() {
                    return Ok(Some(ServerEvent { id: self.id.clone(), data }));
                }
                continue;
            }
            let text = String::from_utf8_lossy(&line);
            let (field, value) = text.split_once(':').unwrap_or((&*text, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "data" => {
                    let data = self.data.get_or_insert_default();
                    if !data.is_empty() {
                        data.push('\n');
                    }
                    data.push_str(value);
                }
                "id" => self.id = Some(value.to_owned()),
                // A comment keeps the connection alive; other fields do not concern us.
                _ => {}
            }
            self.bounded()?;
        }
        self.bounded()?;
        Ok(None)
    }

    fn bounded(&self) -> Result<(), String> {
        if self.raw.len().saturating_add(self.data.as_ref().map_or(0, String::len)) > 2 * EVENT_LIMIT
            || self.data.as_ref().is_some_and(|data| data.len() > EVENT_LIMIT)
        {
            return Err(format!("an event is larger than {EVENT_LIMIT} bytes"));
        }
        Ok(())
    }

    /// The next whole line without its end: CR, LF or both.
    fn line(&mut self) -> Option<BytesMut> {
        let fresh = self.raw.get(self.scanned..).unwrap_or_default();
        let Some(at) = fresh.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.scanned = self.raw.len();
            return None;
        };
        let end = self.scanned + at;
        self.scanned = end;
        let ends_with_cr = self.raw.get(end) == Some(&b'\r');
        let next = self.raw.get(end + 1);
        if ends_with_cr && next.is_none() {
            // Its LF may be in the next chunk.
            return None;
        }
        let skip = if ends_with_cr && next == Some(&b'\n') { 2 } else { 1 };
        let line = self.raw.split_to(end);
        let _ = self.raw.split_to(skip);
        self.scanned = 0;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(chunks: &[&[u8]]) -> Vec<(Option<String>, String)> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.push(chunk);
            while let Some(event) = decoder.next().unwrap() {
                events.push((event.id, event.data));
            }
        }
        events
    }

    const STREAM: &[u8] =
        b": hello\n\nid: 1\ndata: {\"Id\":\ndata:  \"1\"}\n\nretry: 5\nid:2\r\ndata:x\r\n\r\ndata\n\n";

    #[test]
    fn events_of_a_stream() {
        let one = Some("1".to_owned());
        let two = Some("2".to_owned());
        let wanted = vec![(one, "{\"Id\":\n \"1\"}".to_owned()), (two.clone(), "x".to_owned()), (two, String::new())];
        assert_eq!(decode(&[STREAM]), wanted);
        let bytes: Vec<&[u8]> = STREAM.chunks(1).collect();
        assert_eq!(decode(&bytes), wanted);
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut decoder = Decoder::default();
        let mut refused = false;
        for _ in 0..4 * EVENT_LIMIT / 4096 {
            decoder.push(&[b'x'; 4096]);
            refused |= decoder.next().is_err();
        }
        assert!(refused);
        let mut decoder = Decoder::default();
        let line = [b"data:".as_slice(), &[b'x'; 4000], b"\n"].concat();
        let refused = (0..EVENT_LIMIT / 4000 + 2).any(|_| {
            decoder.push(&line);
            decoder.next().is_err()
        });
        assert!(refused);
    }

    proptest! {
        #[test]
        fn where_it_is_cut_does_not_matter(cuts in proptest::collection::vec(0..STREAM.len(), 0..6)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut chunks: Vec<&[u8]> = Vec::new();
            let mut from = 0;
            for cut in cuts.into_iter().chain([STREAM.len()]) {
                chunks.push(&STREAM[from..cut]);
                from = cut;
            }
            prop_assert_eq!(decode(&chunks), decode(&[STREAM]));
        }
    }
}
