//! Single byte ranges (RFC 9110, section 14). Firmware and image readers ask for no others.

use std::ops::Range;

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

/// Reads a Range header, for a representation of `len` octets. What is not one valid byte range is ignored, as the RFC
/// allows; so is a range of another representation than ours, which If-Range tells by its entity tag.
pub(super) fn wanted(range: Option<&str>, if_range: Option<&str>, etag: Option<&str>, len: u64) -> Wanted {
    // Weak tags never match here, and neither do dates: we give none.
    if if_range.is_some_and(|theirs| etag.is_none_or(|ours| ours != theirs.trim())) {
        return Wanted::All;
    }
    range.and_then(|value| parse(value, len)).unwrap_or(Wanted::All)
}

/// Whether the first octet is wanted.
pub(super) fn begins(range: Option<&str>) -> bool {
    let first = range.and_then(|value| value.trim().split_once('=')?.1.split_once('-')).map(|(first, _)| first.trim());
    first.is_none_or(|first| !first.is_empty() && first.bytes().all(|digit| digit == b'0'))
}

fn parse(value: &str, len: u64) -> Option<Wanted> {
    let (unit, range) = value.trim().split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = range.trim().split_once('-')?;
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

/// A number too large to count with is one beyond every end.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_rest_of_a_file_is_no_beginning() {
        for (value, is) in
            [("bytes=0-", true), ("bytes=0-9", true), ("bytes = 00-1", true), ("bytes=10-", false), ("bytes=-5", false)]
        {
            assert_eq!(begins(Some(value)), is, "{value}");
        }
        assert!(begins(None) && begins(Some("lines")));
    }

    #[test]
    fn ranges() {
        for (value, expected) in [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=2-", Wanted::Part(2..10)),
            ("Bytes = 2-", Wanted::All),
            ("BYTES=2-", Wanted::Part(2..10)),
            ("bytes=2-99", Wanted::Part(2..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-99", Wanted::Part(0..10)),
            ("bytes=10-", Wanted::Unsatisfiable),
            ("bytes=10-12", Wanted::Unsatisfiable),
            ("bytes=-0", Wanted::Unsatisfiable),
            ("bytes=99999999999999999999999-", Wanted::Unsatisfiable),
            ("bytes=5-2", Wanted::All),
            ("bytes=-", Wanted::All),
            ("bytes=0-1,3-4", Wanted::All),
            ("bytes=+1-2", Wanted::All),
            ("bytes=1 -2", Wanted::All),
            ("lines=0-1", Wanted::All),
            ("bytes=0-99999999999999999999999", Wanted::Part(0..10)),
            ("bytes=0-18446744073709551615", Wanted::Part(0..10)),
        ] {
            assert_eq!(wanted(Some(value), None, None, 10), expected, "{value}");
        }
        assert_eq!(wanted(Some("bytes=0-"), None, None, 0), Wanted::Unsatisfiable);
        assert_eq!(wanted(None, None, None, 10), Wanted::All);
    }

    #[test]
    fn a_range_of_another_representation_is_no_range() {
        for (if_range, etag, expected) in [
            (Some("\"a\""), Some("\"a\""), Wanted::Part(1..2)),
            (Some("\"b\""), Some("\"a\""), Wanted::All),
            (Some("W/\"a\""), Some("\"a\""), Wanted::All),
            (Some("Mon, 30 Nov 2026 20:00:00 GMT"), Some("\"a\""), Wanted::All),
            (Some("\"a\""), None, Wanted::All),
            (None, Some("\"a\""), Wanted::Part(1..2)),
        ] {
            assert_eq!(wanted(Some("bytes=1-1"), if_range, etag, 10), expected, "{if_range:?} {etag:?}");
        }
    }

    proptest! {
        #[test]
        fn a_part_lies_within(value in "bytes=[0-9]{0,21}-[0-9]{0,21}", len in any::<u64>()) {
            if let Wanted::Part(part) = wanted(Some(&value), None, None, len) {
                prop_assert!(part.start < part.end && part.end <= len);
            }
        }

        #[test]
        fn any_text_is_taken(value in ".{0,40}") {
            wanted(Some(&value), Some(&value), None, 10);
        }
    }
}
