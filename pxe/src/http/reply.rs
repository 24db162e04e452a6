//! Answers as firmware can read them (RFC 9110): an exact Content-Length always, never chunked, no redirect, no field
//! without a value, the same fields for HEAD as for GET.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;

use bytes::Bytes;

use super::content::{Content, Piece};
use super::range::{Wanted, wanted};
use super::request::{Client, Method, Request};

pub(super) const TEXT: &str = "text/plain; charset=utf-8";
pub(super) const BINARY: &str = "application/octet-stream";
pub(super) const EFI: &str = "application/efi";
/// The UEFI specification's type for a RAM disk with a CD in it (table 24-2 of 2.10).
pub(super) const EFI_ISO: &str = "application/vnd.efi-iso";

/// Why a request has no file for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) why: Cow<'static, str>,
}

impl Refusal {
    pub(super) fn new(status: u16, why: impl Into<Cow<'static, str>>) -> Self {
        Self { status, why: why.into() }
    }

    pub(super) const fn not_found(why: &'static str) -> Self {
        Self { status: 404, why: Cow::Borrowed(why) }
    }
}

/// What goes out for one request.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// Octets of the head.
    pub(super) head: u64,
    /// Octets of the body.
    pub(super) body: u64,
    /// The head, then the body.
    pub(super) pieces: VecDeque<Piece>,
    pub(super) keep_alive: bool,
}

/// The answer to `request`.
pub(super) fn to(request: &Request, outcome: Result<Content, Refusal>) -> Reply {
    match outcome {
        Ok(content) => file(request, content),
        Err(refusal) => refused(Some(request), refusal.status),
    }
}

fn file(request: &Request, content: Content) -> Reply {
    let len = content.len();
    let mut head = Head::new();
    head.field("Content-Type", content.content_type);
    head.field("Accept-Ranges", "bytes");
    head.field("ETag", &content.etag);
    // It may hold secrets, and a proxy's copy would outlive them.
    head.field("Cache-Control", "no-store");
    let asked = wanted(request.range.as_deref(), request.if_range.as_deref(), Some(&content.etag), len);
    match asked {
        Wanted::All => head.finish(200, request, content.cut(&(0..len)), len),
        Wanted::Part(part) => {
            head.field("Content-Range", &format!("bytes {}-{}/{len}", part.start, part.end.saturating_sub(1)));
            let body = part.end - part.start;
            head.finish(206, request, content.cut(&part), body)
        }
        Wanted::Unsatisfiable => {
            head.field("Content-Range", &format!("bytes */{len}"));
            head.finish(416, request, vec![], 0)
        }
    }
}

/// A status with a line of text. Without a request (it was not understood) the connection ends.
pub(super) fn refused(request: Option<&Request>, status: u16) -> Reply {
    let mut head = Head::new();
    head.field("Content-Type", TEXT);
    match status {
        405 => head.field("Allow", "GET, HEAD"),
        503 => head.field("Retry-After", "2"),
        _ => {}
    }
    let text = Bytes::from(format!("{}\n", reason(status).to_ascii_lowercase()));
    let unread = Request {
        method: Method::Get,
        target: String::new(),
        range: None,
        if_range: None,
        keep_alive: false,
        say_keep_alive: false,
        has_body: true,
        client: Client::Other,
    };
    let len = text.len() as u64;
    head.finish(status, request.unwrap_or(&unread), vec![Piece::Made(text)], len)
}

struct Head(String);

impl Head {
    fn new() -> Self {
        Self(String::with_capacity(256))
    }

    fn field(&mut self, name: &str, value: &str) {
        self.0.extend([name, ": ", value, "\r\n"]);
    }

    fn finish(mut self, status: u16, request: &Request, body: Vec<Piece>, len: u64) -> Reply {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "Content-Length: {len}\r\n");
        if !request.keep_alive {
            self.field("Connection", "close");
        } else if request.say_keep_alive {
            self.field("Connection", "keep-alive");
        }
        let head = Bytes::from(format!("HTTP/1.1 {status} {}\r\n{}\r\n", reason(status), self.0));
        let head_len = head.len() as u64;
        let (body, len) = if request.method == Method::Head { (vec![], 0) } else { (body, len) };
        let pieces = [Piece::Made(head)].into_iter().chain(body).collect();
        Reply { status, head: head_len, body: len, pieces, keep_alive: request.keep_alive }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        410 => "Gone",
        416 => "Range Not Satisfiable",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::parse;

    fn reply(head: &str, outcome: Result<Content, Refusal>) -> String {
        let (request, _) = parse(head.as_bytes()).unwrap().unwrap();
        let reply = to(&request, outcome);
        let octets: u64 = reply.pieces.iter().map(Piece::len).sum();
        assert_eq!(octets, reply.head + reply.body);
        let octets = reply.pieces.into_iter().flat_map(|piece| match piece {
            Piece::Made(octets) => octets.to_vec(),
            Piece::Stored(..) => panic!(),
        });
        String::from_utf8(octets.collect()).unwrap()
    }

    fn content() -> Content {
        Content::new(EFI, "\"1\"".into(), vec![Piece::Made("0123456789".into())])
    }

    #[test]
    fn answers_are_exactly_these() {
        let whole = "HTTP/1.1 200 OK\r\nContent-Type: application/efi\r\nAccept-Ranges: bytes\r\nETag: \"1\"\r\n\
                     Cache-Control: no-store\r\nContent-Length: 10\r\n\r\n";
        assert_eq!(reply("HEAD / HTTP/1.1\r\n\r\n", Ok(content())), whole);
        assert_eq!(reply("GET / HTTP/1.1\r\n\r\n", Ok(content())), format!("{whole}0123456789"));
        let part = reply("GET / HTTP/1.1\r\nRange: bytes=2-3\r\nConnection: close\r\n\r\n", Ok(content()));
        assert_eq!(
            part,
            "HTTP/1.1 206 Partial Content\r\nContent-Type: application/efi\r\nAccept-Ranges: bytes\r\nETag: \"1\"\r\n\
             Cache-Control: no-store\r\nContent-Range: bytes 2-3/10\r\nContent-Length: 2\r\nConnection: close\r\n\r\n23"
        );
        let beyond = reply("GET / HTTP/1.1\r\nRange: bytes=10-\r\n\r\n", Ok(content()));
        assert!(beyond.starts_with("HTTP/1.1 416 ") && beyond.contains("\r\nContent-Range: bytes */10\r\n"));
        assert!(beyond.ends_with("\r\nContent-Length: 0\r\n\r\n"));
        let gone = reply("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", Err(Refusal::new(410, "spent")));
        assert_eq!(
            gone,
            "HTTP/1.1 410 Gone\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n\
             Connection: keep-alive\r\n\r\ngone\n"
        );
    }

    #[test]
    fn no_answer_has_a_field_without_a_value_or_a_redirect_or_chunks() {
        for status in [200, 206, 400, 404, 405, 408, 410, 416, 431, 500, 503, 505] {
            let head = refused(None, status);
            let Some(Piece::Made(octets)) = head.pieces.front() else { panic!() };
            let text = String::from_utf8(octets.to_vec()).unwrap();
            for field in text.trim_end().lines().skip(1) {
                let (name, value) = field.split_once(": ").unwrap();
                assert!(!value.trim().is_empty() && name != "Transfer-Encoding" && name != "Location", "{field}");
            }
            assert!(text.contains("\r\nConnection: close\r\n"));
        }
    }
}
