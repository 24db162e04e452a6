//! Regular expressions as the stock API server understands them. Its classes `\d`, `\w`, `\s` and its word boundary are
//! ASCII only, and a bracket inside a class is a plain character; the `regex` crate sees both differently, so a
//! pattern is rewritten before it is compiled.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use regex::{Regex, RegexBuilder};

/// Bytes that compiled patterns may take which are kept. Definitions share most of theirs, and each is read more than once.
const KEPT: usize = 16 << 20;
/// Bytes that a compiled pattern may take and be kept: nearly all take less than the first. What takes more is compiled each
/// time, up to what the `regex` crate allows.
const SIZES: [usize; 2] = [64 << 10, 1 << 20];
static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);

/// Patterns that are kept, and the bytes they may take together.
#[derive(Default)]
struct Compiled {
    patterns: HashMap<String, Regex>,
    size: usize,
}

impl Compiled {
    fn keep(&mut self, pattern: &str, regex: &Regex, size: usize) {
        let size = size.saturating_add(pattern.len());
        if self.size.saturating_add(size) > KEPT {
            *self = Self::default();
        }
        if self.patterns.insert(pattern.to_owned(), regex.clone()).is_none() {
            self.size = self.size.saturating_add(size);
        }
    }
}

fn compiled() -> MutexGuard<'static, Compiled> {
    COMPILED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compiles a pattern of a definition, written for Go's `regexp`, and keeps it for the next who asks.
pub(crate) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    if let Some(regex) = compiled().patterns.get(pattern) {
        return Ok(regex.clone());
    }
    let (regex, size) = compile_anew(pattern)?;
    if let Some(size) = size {
        compiled().keep(pattern, &regex, size);
    }
    Ok(regex)
}

/// As [`compile`], for a pattern that may come from an object: whoever writes objects does not fill what is kept.
pub(crate) fn compile_once(pattern: &str) -> Result<Regex, regex::Error> {
    if let Some(regex) = compiled().patterns.get(pattern) {
        return Ok(regex.clone());
    }
    Ok(compile_anew(pattern)?.0)
}

/// A pattern, and which of [`SIZES`] it fits in.
fn compile_anew(pattern: &str) -> Result<(Regex, Option<usize>), regex::Error> {
    let pattern = rewritten(pattern);
    for size in SIZES {
        match RegexBuilder::new(&pattern).size_limit(size).build() {
            Err(regex::Error::CompiledTooBig(_)) => {}
            other => return Ok((other?, Some(size))),
        }
    }
    Ok((Regex::new(&pattern)?, None))
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

    #[test]
    fn only_small_patterns_of_definitions_are_kept() {
        let kept = |pattern: &str| compiled().patterns.contains_key(pattern);
        let (small, big, from_object) = ("^kept[a-z]+$", r"^\pL{100}$", "^not-kept[a-z]+$");
        for pattern in [small, big] {
            compile(pattern).unwrap();
        }
        compile_once(from_object).unwrap();
        assert_eq!(compile_anew(small).unwrap().1, Some(SIZES[0]));
        assert_eq!(compile_anew(big).unwrap().1, None);
        assert!(!kept(big), "a pattern of several MiB is kept");
        assert!(!kept(from_object), "a pattern of an object is kept");
        assert!(compile(r"^(?:\pL{1000}){1000}$").is_err());

        let (mut compiled, regex) = (Compiled::default(), Regex::new("a").unwrap());
        for number in 0..1000 {
            compiled.keep(&number.to_string(), &regex, SIZES[1]);
            assert!(compiled.size <= KEPT && compiled.patterns.len() <= KEPT / SIZES[1]);
        }
    }
}
