//! A file made of pieces in memory, sent without joining them.

use std::convert::Infallible;
use std::ops::Range;

use axum::body::Body;
use axum::http::response::Builder;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures::stream;

use super::range::{Wanted, wanted};

/// One representation.
pub(super) struct Content {
    content_type: &'static str,
    pieces: Vec<Bytes>,
}

impl Content {
    pub(super) fn new(content_type: &'static str, pieces: impl Into<Vec<Bytes>>) -> Self {
        Self { content_type, pieces: pieces.into() }
    }

    /// All of it or the range asked for; a HEAD has the same headers and no body.
    pub(super) fn respond(self, method: &Method, headers: &HeaderMap) -> Response {
        let len = self.pieces.iter().map(|piece| piece.len() as u64).sum();
        let (builder, range) = head(self.content_type, len, headers);
        let body = if *method == Method::HEAD {
            Body::empty()
        } else {
            let pieces = cut(self.pieces, range).into_iter().map(Ok::<_, Infallible>);
            Body::from_stream(stream::iter(pieces))
        };
        finish(builder, body)
    }
}

/// Status and headers for a representation of `len` octets, and the octets to send.
pub(super) fn head(content_type: &'static str, len: u64, headers: &HeaderMap) -> (Builder, Range<u64>) {
    let builder = Response::builder().header(header::CONTENT_TYPE, content_type).header(header::ACCEPT_RANGES, "bytes");
    match wanted(headers, len) {
        Wanted::All => (builder.header(header::CONTENT_LENGTH, len), 0..len),
        Wanted::Part(part) => {
            let content_range = format!("bytes {}-{}/{len}", part.start, part.end.saturating_sub(1));
            let builder = builder
                .status(StatusCode::PARTIAL_CONTENT)
                .header(header::CONTENT_RANGE, content_range)
                .header(header::CONTENT_LENGTH, part.end - part.start);
            (builder, part)
        }
        Wanted::Unsatisfiable => {
            let builder = builder
                .status(StatusCode::RANGE_NOT_SATISFIABLE)
                .header(header::CONTENT_RANGE, format!("bytes */{len}"))
                .header(header::CONTENT_LENGTH, 0);
            (builder, 0..0)
        }
    }
}

/// The response; header values made here are always valid.
pub(super) fn finish(builder: Builder, body: Body) -> Response {
    builder.body(body).unwrap_or_else(|_| {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

/// The length a response announces.
pub(super) fn length_of(response: &Response) -> u64 {
    let value: Option<&HeaderValue> = response.headers().get(header::CONTENT_LENGTH);
    value.and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The part of the pieces that lies in `range`, as slices of the same memory.
fn cut(pieces: Vec<Bytes>, range: Range<u64>) -> Vec<Bytes> {
    let mut start = 0;
    let mut kept = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let end = start + piece.len() as u64;
        let within = |at: u64| usize::try_from(at.clamp(start, end) - start).unwrap_or(piece.len());
        let part = piece.slice(within(range.start)..within(range.end));
        if !part.is_empty() {
            kept.push(part);
        }
        start = end;
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cutting_pieces_is_cutting_the_whole(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..5), a in 0usize..40, b in 0usize..40) {
            let whole = pieces.concat();
            let (a, b) = (a.min(whole.len()), b.min(whole.len()));
            let (a, b) = (a.min(b), a.max(b));
            let got = cut(pieces.into_iter().map(Bytes::from).collect(), a as u64..b as u64).concat();
            prop_assert_eq!(&got, &whole[a..b]);
        }
    }
}
