//! As much of MIME (RFC 2045, 2046) as tools that make user data write: headers, `multipart/*` of any depth, base64 and quoted-printable.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Most parts of a message.
const MOST_PARTS: usize = 256;
/// Deepest nesting of messages.
const DEEPEST: usize = 8;

/// A part that holds no others.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Its content type in small letters, without parameters.
    pub(super) kind: String,
    /// The name of its file, without what is no part of a name.
    pub(super) file: Option<String>,
    /// Decoded.
    pub(super) content: Vec<u8>,
}

/// Whether `text` starts like a message of several parts.
pub(super) fn is_message(text: &str) -> bool {
    let (headers, _) = split(text);
    headers.iter().any(|(name, value)| name == "content-type" && value.to_ascii_lowercase().starts_with("multipart/"))
}

/// All parts in order. The error is a sentence.
pub(super) fn parts(text: &str) -> Result<Vec<Part>, String> {
    let mut found = Vec::new();
    collect(text, 0, &mut found)?;
    Ok(found)
}

fn collect(text: &str, depth: usize, found: &mut Vec<Part>) -> Result<(), String> {
    if depth > DEEPEST || found.len() >= MOST_PARTS {
        return Err(format!("more than {MOST_PARTS} parts, or messages nested deeper than {DEEPEST}"));
    }
    let (headers, body) = split(text);
    let header = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let content_type = header("content-type").unwrap_or("text/plain");
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind.starts_with("multipart/") {
        let boundary = parameter(content_type, "boundary").ok_or("a message of several parts names no boundary")?;
        return bodies(body, &boundary).into_iter().try_for_each(|part| collect(part, depth + 1, found));
    }
    let encoding = header("content-transfer-encoding").unwrap_or("7bit").trim().to_ascii_lowercase();
    let content = match encoding.as_str() {
        "7bit" | "8bit" | "binary" | "" => body.as_bytes().to_vec(),
        "base64" => {
            let digits: Vec<u8> = body.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            STANDARD.decode(digits).map_err(|_| format!("part {} is no base64", found.len() + 1))?
        }
        "quoted-printable" => quoted_printable(body),
        _ => return Err(format!("part {} has an encoding that is not known", found.len() + 1)),
    };
    let file = header("content-disposition").and_then(|value| parameter(value, "filename"));
    let file = file.map(|name| {
        let fine = |c: char| if c == '/' { '_' } else { c };
        name.chars().map(fine).filter(|c| c.is_ascii_alphanumeric() || "_-.()".contains(*c)).collect()
    });
    found.push(Part { kind, file, content });
    Ok(())
}

/// Headers with names in small letters and folded lines joined, and what follows the empty line.
fn split(text: &str) -> (Vec<(String, String)>, &str) {
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            return (headers, after);
        }
        if line.starts_with([' ', '\t']) {
            match headers.last_mut() {
                Some((_, value)) => value.push_str(line),
                None => return (headers, rest),
            }
        } else if let Some((name, value)) = line.split_once(':').filter(|(name, _)| !name.contains([' ', '#'])) {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        } else if !(headers.is_empty() && line.starts_with("From ")) {
            // no headers after all, as in a part that is only its content
            return (headers, rest);
        }
        rest = after;
    }
    (headers, rest)
}

fn parameter(header: &str, name: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|parameter| {
        let (known, value) = parameter.split_once('=')?;
        (known.trim().eq_ignore_ascii_case(name)).then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// What lies between the lines of the boundary. The line break before a boundary belongs to the boundary.
fn bodies<'a>(body: &'a str, boundary: &str) -> Vec<&'a str> {
    let mark = format!("--{boundary}");
    let mut found = Vec::new();
    let mut start = None;
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let end_of_before = at;
        at += line.len();
        let Some(rest) = line.trim_end().strip_prefix(&mark) else { continue };
        if !rest.is_empty() && rest != "--" {
            continue;
        }
        if let Some(part) = start.and_then(|start| body.get(start..end_of_before)) {
            found.push(part.strip_suffix('\n').map_or(part, |part| part.strip_suffix('\r').unwrap_or(part)));
        }
        start = Some(at);
        if rest == "--" {
            return found;
        }
    }
    // a message that was cut off still has its last part
    found.extend(start.and_then(|start| body.get(start..)));
    found
}

fn quoted_printable(body: &str) -> Vec<u8> {
    let mut content = Vec::with_capacity(body.len());
    let mut bytes = body.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'=' {
            content.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'\n') | None => {}
            Some(b'\r') => {
                bytes.next_if_eq(&b'\n');
            }
            Some(high) => {
                let low = bytes.next().unwrap_or(b' ');
                let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                match digit(high).zip(digit(low)) {
                    Some((high, low)) => content.push(high << 4 | low),
                    None => content.extend([b'=', high, low]),
                }
            }
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_messages_and_encodings_are_read() {
        let text = "From nobody Mon\nMIME-Version: 1.0\nContent-Type: multipart/mixed;\n boundary=A\n\n--A\r\nContent-Type: multipart/alternative; boundary=B\r\n\r\n--B\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\na=3Db=\r\nc\r\n--B--\r\n--A\n\nno headers\n--A--\nepilogue";
        let parts = parts(text).unwrap();
        assert_eq!(parts[0], Part { kind: "text/plain".into(), file: None, content: b"a=bc".to_vec() });
        assert_eq!(parts[1], Part { kind: "text/plain".into(), file: None, content: b"no headers".to_vec() });
        assert_eq!(parts.len(), 2);
    }

    #[test]
    fn what_is_no_message_is_none() {
        assert!(!is_message("#cloud-config\nContent-Type: multipart/mixed\n"));
        assert!(!is_message(""));
        assert!(parts("Content-Type: multipart/mixed\n\nx").unwrap_err().contains("boundary"));
        let deep: String =
            (0..20).map(|level| format!("Content-Type: multipart/mixed; boundary=A{level}\n\n--A{level}\n")).collect();
        assert!(parts(&deep).is_err());
    }
}
