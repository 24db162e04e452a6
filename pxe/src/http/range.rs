//! Single byte ranges (RFC 9110, section 14). Firmware and image readers ask for no others.

use std::ops::Range;

use axum::http::{HeaderMap, header};

/// What part of a representation is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it, 200.
    All,
    /// Some octets, 206; never empty.
    Part(Range<u64>),
    /// Nothing that exists, 416.
    Unsatisfiable,
}

/// Reads the Range header. What is not one valid byte range is ignored, as the RFC allows; so is a range that depends
/// on a validator, since we give none.
pub(super) fn wanted(headers: &HeaderMap, len: u64) -> Wanted {
    if headers.contains_key(header::IF_RANGE) {
        return Wanted::All;
    }
    let Some(value) = headers.get(header::RANGE).and_then(|value| value.to_str().ok()) else { return Wanted::All };
    parse(value, len).unwrap_or(Wanted::All)
}

fn parse(value: &str, len: u64) -> Option<Wanted> {
    let (first, last) = value.strip_prefix("bytes=")?.trim().split_once('-')?;
    let range = match (first, last) {
        ("", suffix) => len.saturating_sub(number(suffix)?)..len,
        (first, "") => number(first)?..len,
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first..last.saturating_add(1).min(len)
        }
    };
    Some(if range.is_empty() { Wanted::Unsatisfiable } else { Wanted::Part(range) })
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for (value, expected) in [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=2-", Wanted::Part(2..10)),
            ("bytes=2-99", Wanted::Part(2..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-99", Wanted::Part(0..10)),
            ("bytes=10-", Wanted::Unsatisfiable),
            ("bytes=10-12", Wanted::Unsatisfiable),
            ("bytes=-0", Wanted::Unsatisfiable),
            ("bytes=5-2", Wanted::All),
            ("bytes=-", Wanted::All),
            ("bytes=0-1,3-4", Wanted::All),
            ("bytes=+1-2", Wanted::All),
            ("lines=0-1", Wanted::All),
            ("bytes=0-99999999999999999999999", Wanted::All),
            ("bytes=0-18446744073709551615", Wanted::Part(0..10)),
        ] {
            let headers = HeaderMap::from_iter([(header::RANGE, value.parse().unwrap())]);
            assert_eq!(wanted(&headers, 10), expected, "{value}");
        }
    }
}
