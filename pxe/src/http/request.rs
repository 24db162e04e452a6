//! The head of a request (RFC 9112), as far as boot files need it.

use httparse::{Error, Status};

/// Longest head taken. Firmware sends some hundred octets.
pub(super) const MAX_HEAD: usize = 8192;
const MAX_FIELDS: usize = 64;

/// What is wanted of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    /// Headers as for `Get`, no body.
    Head,
    /// Not served.
    Other,
}

/// The program that asks, as far as it says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    Ipxe,
    /// UEFI's own HTTP boot.
    Uefi,
    Other,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: Method,
    /// As sent.
    pub(super) target: String,
    pub(super) range: Option<String>,
    pub(super) if_range: Option<String>,
    /// Whether another request may follow on the connection.
    pub(super) keep_alive: bool,
    /// Whether the client must be told so (HTTP/1.0).
    pub(super) say_keep_alive: bool,
    /// A body follows, which nothing here reads.
    pub(super) has_body: bool,
    pub(super) client: Client,
}

/// A head that is not understood, as the status that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) u16);

/// Reads the head at the start of `received`, if it is whole: the request and the head's length.
pub(super) fn parse(received: &[u8]) -> Result<Option<(Request, usize)>, Malformed> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(received) {
        Ok(Status::Complete(length)) if length <= MAX_HEAD => length,
        Ok(Status::Partial) if received.len() < MAX_HEAD => return Ok(None),
        Ok(_) | Err(Error::TooManyHeaders) => return Err(Malformed(431)),
        Err(Error::Version) => return Err(Malformed(505)),
        Err(_) => return Err(Malformed(400)),
    };
    let method = match head.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        _ => Method::Other,
    };
    let http_1_0 = head.version == Some(0);
    let mut request = Request {
        method,
        target: head.path.unwrap_or_default().to_owned(),
        range: None,
        if_range: None,
        keep_alive: !http_1_0,
        say_keep_alive: false,
        has_body: false,
        client: Client::Other,
    };
    for field in head.headers.iter() {
        let value = std::str::from_utf8(field.value).unwrap_or_default().trim();
        let named = |name: &str| field.name.eq_ignore_ascii_case(name);
        if named("range") {
            request.range = Some(value.to_owned());
        } else if named("if-range") {
            request.if_range = Some(value.to_owned());
        } else if named("user-agent") {
            request.client = match value.get(..5) {
                Some("iPXE/") => Client::Ipxe,
                _ if value.starts_with("UefiHttpBoot") => Client::Uefi,
                _ => Client::Other,
            };
        } else if named("connection") {
            for token in value.split(',').map(str::trim) {
                if token.eq_ignore_ascii_case("close") {
                    request.keep_alive = false;
                } else if token.eq_ignore_ascii_case("keep-alive") && http_1_0 {
                    (request.keep_alive, request.say_keep_alive) = (true, true);
                }
            }
        } else if named("transfer-encoding") || named("content-length") && value != "0" {
            request.has_body = true;
        }
    }
    // Where the next request begins is not known.
    request.keep_alive &= !request.has_body && method != Method::Other;
    Ok(Some((request, length)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(head: &str) -> Request {
        let (request, length) = parse(head.as_bytes()).unwrap().unwrap();
        assert_eq!(length, head.len());
        request
    }

    #[test]
    fn heads_of_firmware_and_others() {
        // As OVMF 2022.11 and Debian's iPXE send them.
        let ovmf = request(
            "HEAD /b/0/boot.efi HTTP/1.1\r\nHost: 10.77.0.1:8080\r\nAccept: */*\r\nUser-Agent: UefiHttpBoot/1.0\r\n\r\n",
        );
        assert_eq!((ovmf.method, ovmf.target.as_str(), ovmf.keep_alive), (Method::Head, "/b/0/boot.efi", true));
        assert_eq!(ovmf.client, Client::Uefi);
        let ipxe = request(
            "GET /b/0/kernel HTTP/1.1\r\nUser-Agent: iPXE/1.0.0+\r\nConnection: keep-alive\r\nHost: x\r\nRange: bytes=0-1\r\n\r\n",
        );
        assert_eq!((ipxe.keep_alive, ipxe.say_keep_alive, ipxe.client), (true, false, Client::Ipxe));
        assert_eq!(ipxe.range.as_deref(), Some("bytes=0-1"));
        let bare = request("GET / HTTP/1.0\n\n");
        assert!(!bare.keep_alive);
        let asked = request("GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\n");
        assert!(asked.keep_alive && asked.say_keep_alive);
        assert!(!request("GET / HTTP/1.1\r\nConnection: foo, Close\r\n\r\n").keep_alive);
        assert!(!request("POST / HTTP/1.1\r\n\r\n").keep_alive);
        assert!(request("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n").keep_alive);
        for body in ["Content-Length: 5", "Content-Length: ", "Transfer-Encoding: chunked"] {
            let request = request(&format!("GET / HTTP/1.1\r\n{body}\r\n\r\n"));
            assert!(request.has_body && !request.keep_alive, "{body}");
        }
    }

    #[test]
    fn what_is_not_understood_has_a_status() {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(MAX_HEAD));
        let fields = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MAX_FIELDS + 1));
        for (head, status) in [
            ("GET / HTTP/2.0\r\n\r\n", 505),
            ("\x16\x03\x01\x02\x00\x01", 400),
            ("GET /a b HTTP/1.1\r\n\r\n", 505),
            ("GET / HTTP/1.1\r\nbad name: x\r\n\r\n", 400),
            (&long, 431),
            (&fields, 431),
        ] {
            assert_eq!(parse(head.as_bytes()), Err(Malformed(status)), "{}", head.get(..20).unwrap_or(head));
        }
    }

    proptest! {
        #[test]
        fn a_head_is_whole_at_its_last_octet_and_not_before(target in "/[a-z0-9]{0,20}", value in "[ -~]{0,20}") {
            let head = format!("GET {target} HTTP/1.1\r\nX: {value}\r\n\r\n");
            for end in 0..head.len() {
                prop_assert_eq!(parse(&head.as_bytes()[..end]), Ok(None));
            }
            prop_assert_eq!(request(&head).target, target);
        }

        #[test]
        fn any_octets_are_taken(octets in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&octets);
        }
    }
}
