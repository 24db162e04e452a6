//! What becomes of a message to port 69: a transfer, a refusal in the protocol's words, or nothing.

use super::files::{Files, Mode, NoFile};
use super::limits::TftpLimits;
use super::packet::Packet;
use super::terms::Terms;
use super::transfer::Transfer;

/// Error numbers of RFC 1350.
const NOT_FOUND: u16 = 1;
const ACCESS_VIOLATION: u16 = 2;
const ILLEGAL_OPERATION: u16 = 4;

/// A request that is served.
#[derive(Debug)]
pub(super) struct Admitted {
    /// The file's name here.
    pub(super) name: String,
    pub(super) transfer: Transfer,
}

/// A request that is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The file asked for, if it was a request to read.
    pub(super) asked: Option<String>,
    /// The error's number; `None` for what is not answered.
    pub(super) code: Option<u16>,
    /// For the client and for people.
    pub(super) why: &'static str,
}

impl Refusal {
    /// The ERROR message, if one is due.
    pub(super) fn message(&self) -> Option<Vec<u8>> {
        self.code.map(|code| Packet::Error { code, message: self.why.to_owned() }.encode())
    }
}

/// Judges one message. `largest_block` is what fits the interface's MTU.
pub(super) fn admit(
    message: &[u8],
    files: &Files,
    limits: &TftpLimits,
    largest_block: u16,
) -> Result<Admitted, Refusal> {
    let refuse = |code, why| Err(Refusal { asked: None, code, why });
    let (file, mode, options) = match Packet::decode(message) {
        Ok(Packet::Read { file, mode, options }) => (file, mode, options),
        Ok(Packet::Write) => return refuse(Some(ACCESS_VIOLATION), "this server is read-only"),
        // An error is never answered with an error, noise not at all, nor what belongs to a transfer that has ended.
        Ok(_) | Err(_) => return refuse(None, "not a request"),
    };
    let refuse = |code, why| Err(Refusal { asked: Some(file.clone()), code: Some(code), why });
    let mode = match mode.to_ascii_lowercase().as_str() {
        "octet" => Mode::Octet,
        "netascii" => Mode::NetAscii,
        "mail" => return refuse(ILLEGAL_OPERATION, "mode mail is obsolete and not served"),
        _ => return refuse(ILLEGAL_OPERATION, "unknown transfer mode"),
    };
    match files.find(&file, mode) {
        Ok((name, content)) => {
            let terms = Terms::settle(&options, content.len(), limits, largest_block);
            Ok(Admitted { name, transfer: Transfer::new(content, terms, limits.attempts) })
        }
        Err(NoFile::Unknown) => refuse(NOT_FOUND, "no such file"),
        Err(NoFile::Forbidden(why)) => refuse(ACCESS_VIOLATION, why),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn refused(message: &[u8]) -> (Option<u16>, &'static str) {
        let mut files = Files::default();
        files.insert("file", Bytes::from_static(b"content"));
        let refusal = admit(message, &files, &TftpLimits::default(), 1468).unwrap_err();
        assert_eq!(refusal.message().is_some(), refusal.code.is_some());
        (refusal.code, refusal.why)
    }

    #[test]
    fn what_is_not_served_is_refused_in_words_or_dropped() {
        for (message, expected) in [
            (&b"\0\x01nothing\0octet\0"[..], (Some(1), "no such file")),
            (b"\0\x01/etc/passwd\0octet\0", (Some(1), "no such file")),
            (b"\0\x01../../etc/passwd\0octet\0", (Some(2), "the file name leaves the directory")),
            (b"\0\x01file\0mail\0", (Some(4), "mode mail is obsolete and not served")),
            (b"\0\x01file\0binary\0", (Some(4), "unknown transfer mode")),
            (b"\0\x02file\0octet\0", (Some(2), "this server is read-only")),
            (b"\0\x02", (Some(2), "this server is read-only")),
            (b"\0\x01file", (None, "not a request")),
            (b"\0\x01file\0octet", (None, "not a request")),
            (b"\0\x03\0\x01data", (None, "not a request")),
            (b"\0\x04\0\x01", (None, "not a request")),
            (b"\0\x05\0\x08aborted\0", (None, "not a request")),
            (b"\0\x06tsize\x000\0", (None, "not a request")),
            (b"\xff\xff", (None, "not a request")),
            (b"", (None, "not a request")),
        ] {
            assert_eq!(refused(message), expected, "{}", message.escape_ascii());
        }
        let giant = [b"\0\x01", "a".repeat(1500).as_bytes(), b"\0octet\0"].concat();
        assert_eq!(refused(&giant), (Some(2), "the file name is too long"));
    }

    #[test]
    fn modes_are_read_in_any_case() {
        let mut files = Files::default();
        files.insert("file", Bytes::from_static(b"a\nb"));
        for (mode, len) in [("octet", 3), ("OCTET", 3), ("NetASCII", 4)] {
            let message = format!("\0\x01file\0{mode}\0tsize\x000\0");
            let admitted = admit(message.as_bytes(), &files, &TftpLimits::default(), 1468).unwrap();
            let granted = &admitted.transfer.terms().granted;
            assert_eq!(granted, &[("tsize".to_owned(), len.to_string())], "{mode}");
        }
    }
}
