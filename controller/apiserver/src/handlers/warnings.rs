//! The warnings of an answer: headers, each told once, with upstream's bounds on how much they say. Knows nothing of what
//! they are about.

use std::collections::BTreeSet;

use axum::response::Response;
use http::HeaderValue;
use http::header::WARNING;

/// Characters of all warnings from which each is cut short.
const MOST_IN_ALL: usize = 4 * 1024;
/// Characters left of one that is cut short.
const MOST_OF_ONE: usize = 256;

/// What an answer warns of so far, as it was said.
#[derive(Debug, Clone)]
struct Said(Vec<String>);

/// Adds warnings to an answer.
pub(crate) fn warn(response: &mut Response, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let mut all = response.extensions_mut().remove::<Said>().map(|Said(texts)| texts).unwrap_or_default();
    all.extend_from_slice(warnings);
    let headers = response.headers_mut();
    headers.remove(WARNING);
    for header in bounded(&all) {
        headers.append(WARNING, header);
    }
    response.extensions_mut().insert(Said(all));
}

/// The headers for such warnings. As upstream, all is said as it is until that becomes too much; then everything is said
/// anew, cut short, and what is too much even so is left out.
fn bounded<'t>(texts: impl IntoIterator<Item = &'t String>) -> Vec<HeaderValue> {
    let mut told = BTreeSet::new();
    let mut once: Vec<&str> = Vec::new();
    let mut headers = Vec::new();
    let mut written = 0_usize;
    let mut short = false;
    for text in texts {
        if short && written >= MOST_IN_ALL {
            break;
        }
        if text.is_empty() || !told.insert(text.as_str()) {
            continue;
        }
        once.push(text);
        if !short && header(text).is_some() && written.saturating_add(text.chars().count()) > MOST_IN_ALL {
            short = true;
            headers = once.iter().filter_map(|text| header(cut(text))).collect();
            written =
                once.iter().filter(|text| header(cut(text)).is_some()).map(|text| cut(text).chars().count()).sum();
            continue;
        }
        let text = if short { cut(text) } else { text };
        if let Some(header) = header(text) {
            headers.push(header);
            written = written.saturating_add(text.chars().count());
        }
    }
    headers
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(MOST_OF_ONE).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}

/// One warning as a header; none if it has characters that no header may have.
fn header(text: &str) -> Option<HeaderValue> {
    if text.contains(char::is_control) {
        return None;
    }
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    HeaderValue::from_bytes(format!("299 - \"{text}\"").as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(texts: &[String]) -> Vec<String> {
        bounded(texts).iter().map(|header| String::from_utf8_lossy(header.as_bytes()).into_owned()).collect()
    }

    #[test]
    fn each_is_told_once_and_as_it_is() {
        let texts =
            ["a \"b\" \\".to_owned(), "a \"b\" \\".to_owned(), String::new(), "x\ny".to_owned(), "ñ".to_owned()];
        assert_eq!(shown(&texts), ["299 - \"a \\\"b\\\" \\\\\"", "299 - \"ñ\""]);
        let long = ["x".repeat(4096)];
        assert_eq!(shown(&long), [format!("299 - \"{}\"", "x".repeat(4096))]);
    }

    #[test]
    fn too_many_are_cut_short_and_then_left_out() {
        let long = |letter: &str| letter.repeat(3000);
        let texts = [long("a"), "b".to_owned(), long("ñ"), long("d")];
        let wanted = ["a".repeat(256), "b".to_owned(), "ñ".repeat(256), "d".repeat(256)];
        assert_eq!(shown(&texts), wanted.map(|text| format!("299 - \"{text}\"")));
        let many: Vec<String> = (0..100_000).map(|at| format!("unknown field \"spec.field{at}\"")).collect();
        let found = shown(&many);
        let said: usize = found.iter().map(|header| header.len()).sum();
        assert!((4096..8192).contains(&said), "{} headers of {said} bytes", found.len());
    }

    #[test]
    fn what_is_added_later_counts_with_what_was_said() {
        let mut response = Response::new(axum::body::Body::empty());
        warn(&mut response, &["a".repeat(4000)]);
        warn(&mut response, &["b".repeat(4000), "a".repeat(4000)]);
        let lengths: Vec<usize> = response.headers().get_all(WARNING).iter().map(HeaderValue::len).collect();
        assert_eq!(lengths, [256 + 8, 256 + 8]);
    }
}
