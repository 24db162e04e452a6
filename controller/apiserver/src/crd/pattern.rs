//! Why a regular expression is none, in the words of Go's `regexp` where the fault is a common one.

/// The explanation for `pattern`.
pub(super) fn explained(pattern: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let known = [
        ("unclosed group", "missing closing )", pattern),
        ("unopened group", "unexpected )", pattern),
        ("unclosed character class", "missing closing ]", pattern),
        ("repetition operator missing expression", "missing argument to repetition operator", "*"),
        ("look-around", "invalid or unsupported Perl syntax", "(?="),
    ];
    match known.iter().find(|(ours, ..)| text.contains(ours)) {
        Some((_, words, shown)) => format!("error parsing regexp: {words}: `{shown}`"),
        None => format!("error parsing regexp: {}", text.lines().last().unwrap_or_default()),
    }
}
