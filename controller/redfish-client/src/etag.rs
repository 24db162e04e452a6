//! Which `If-Match` to send, and what to try next when the service does not know its own ETag again.

/// How a header's ETag and a body's `@odata.etag` may be spelt so that the service knows them again, best first; none
/// stands for a request without `If-Match`.
///
/// Services have been seen to accept only the strong form of the weak ETag they gave (Gigabyte), to add `-gzip` for a
/// compressed answer and refuse it afterwards (Dell), to quote twice, and to insist on some `If-Match` where they gave
/// no ETag (AMI).
pub(crate) fn ladder(header: Option<&str>, body: Option<&str>) -> Vec<Option<String>> {
    let mut rungs: Vec<Option<String>> = Vec::new();
    let mut offer = |rung: Option<String>| {
        if !rungs.contains(&rung) {
            rungs.push(rung);
        }
    };
    let given: Vec<String> = [header, body].into_iter().flatten().filter_map(quoted).collect();
    for etag in &given {
        offer(Some(etag.clone()));
    }
    for etag in &given {
        let strong = etag.strip_prefix("W/").unwrap_or(etag);
        offer(Some(strong.to_owned()));
        if let Some(plain) = strong.strip_suffix("-gzip\"") {
            offer(Some(format!("{plain}\"")));
        }
    }
    offer(None);
    if given.is_empty() {
        offer(Some("*".to_owned()));
    }
    rungs
}

/// An ETag with exactly one pair of quotes (RFC 9110, 8.8.3), its weakness kept.
fn quoted(etag: &str) -> Option<String> {
    let etag = etag.trim();
    let (weak, opaque) = match etag.strip_prefix("W/") {
        Some(rest) => ("W/", rest),
        None => ("", etag),
    };
    let opaque = opaque.trim_matches('"');
    // What cannot stand in a header was not an ETag.
    let fits = !opaque.is_empty() && opaque.bytes().all(|b| matches!(b, 0x21 | 0x23..=0x7e));
    fits.then(|| format!("{weak}\"{opaque}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rungs(header: Option<&str>, body: Option<&str>) -> Vec<String> {
        ladder(header, body).into_iter().map(|rung| rung.unwrap_or_else(|| "-".to_owned())).collect()
    }

    #[test]
    fn ladders() {
        let cases: [(Option<&str>, Option<&str>, &[&str]); 7] = [
            (None, None, &["-", "*"]),
            (Some("\"a\""), None, &["\"a\"", "-"]),
            (Some("W/\"a\""), Some("W/\"a\""), &["W/\"a\"", "\"a\"", "-"]),
            (Some("\"\"a\"\""), None, &["\"a\"", "-"]),
            (Some("\"a-gzip\""), Some("\"a\""), &["\"a-gzip\"", "\"a\"", "-"]),
            (Some("a-gzip"), None, &["\"a-gzip\"", "\"a\"", "-"]),
            (Some("\"\""), Some("bad\r\nheader"), &["-", "*"]),
        ];
        for (header, body, wanted) in cases {
            assert_eq!(rungs(header, body), wanted, "{header:?} {body:?}");
        }
    }
}
