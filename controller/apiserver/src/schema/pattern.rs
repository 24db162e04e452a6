//! Regular expressions as the stock API server understands them. Its classes `\d`, `\w`, `\s` and its word boundary are
//! ASCII only, and a bracket inside a class is a plain character; the `regex` crate sees both differently, so a
//! pattern is rewritten before it is compiled.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::Regex;

/// Patterns kept compiled. Definitions share most of theirs, and each is read more than once.
const KEPT: usize = 256;
static COMPILED: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Mutex::default);

/// Compiles a pattern written for Go's `regexp`.
pub(crate) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    let lock = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = lock().get(pattern) {
        return Ok(regex.clone());
    }
    let regex = Regex::new(&rewritten(pattern))?;
    let mut compiled = lock();
    if compiled.len() >= KEPT {
        compiled.clear();
    }
    compiled.insert(pattern.to_owned(), regex.clone());
    Ok(regex)
}

fn rewritten(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len().saturating_add(16));
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        let mut taken = c.len_utf8();
        match c {
            '\\' => {
                let escaped = after.chars().next();
                taken = taken.saturating_add(escaped.map_or(0, char::len_utf8));
                out.push_str(&escape(escaped, in_class, rest.get(..taken).unwrap_or_default()));
            }
            '[' if in_class => match after.strip_prefix(':').and_then(|named| named.find(":]")) {
                Some(end) => {
                    taken = end.saturating_add(4);
                    out.push_str(rest.get(..taken).unwrap_or_default());
                }
                None => out.push_str("\\["),
            },
            '[' => {
                in_class = true;
                let opening = ["[^]", "[]", "[^"].into_iter().find(|opening| rest.starts_with(opening));
                let opening = opening.unwrap_or("[");
                taken = opening.len();
                // A closing bracket right at the start is a member.
                out.push_str(&opening.replace(']', "\\]"));
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '{' if !in_class && !is_repetition(after) => out.push_str("\\{"),
            c => out.push(c),
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

fn escape(escaped: Option<char>, in_class: bool, whole: &str) -> String {
    let text = match (escaped, in_class) {
        (Some('d'), true) => "0-9",
        (Some('w'), true) => "0-9A-Za-z_",
        (Some('s'), true) => "\\t\\n\\f\\r ",
        (Some('d'), false) => "[0-9]",
        (Some('w'), false) => "[0-9A-Za-z_]",
        (Some('s'), false) => "[\\t\\n\\f\\r ]",
        (Some('D'), _) => "[^0-9]",
        (Some('W'), _) => "[^0-9A-Za-z_]",
        (Some('S'), _) => "[^\\t\\n\\f\\r ]",
        (Some('b'), false) => "(?-u:\\b)",
        (Some('B'), false) => "(?-u:\\B)",
        _ => whole,
    };
    text.to_owned()
}

/// Whether what follows an opening brace makes it a count.
fn is_repetition(after: &str) -> bool {
    let Some((inside, _)) = after.split_once('}') else { return false };
    let (low, high) = inside.split_once(',').unwrap_or((inside, ""));
    !low.is_empty() && [low, high].iter().all(|digits| digits.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        let cases = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "١", false),
            (r"^[\w.]+$", "a_.", true),
            (r"^[\w]+$", "é", false),
            (r"^[[]$", "[", true),
            (r"^[]a]$", "]", true),
            (r"^[^]a]$", "b", true),
            (r"^[[:alpha:]&&]+$", "a&", true),
            (r"^\D[\D]$", "ab", true),
            (r"^a{2}{x}$", "aa{x}", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"\bfoo\b", "a foo.", true),
            (r"^\pN$", "½", true),
            (r"^\[\]$", "[]", true),
            (r"^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}$", "0123abcd-0000-1111-2222", true),
        ];
        for (pattern, text, wanted) in cases {
            assert_eq!(compile(pattern).unwrap().is_match(text), wanted, "{pattern} on {text}");
        }
        assert!(compile("(").is_err());
    }
}
