//! Why a regular expression is none, in the words of Go's `regexp` where the fault is a common one.

/// The explanation for `pattern`.
pub(super) fn explained(pattern: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let open = unclosed_class(pattern);
    let known = [
        ("unclosed group", "missing closing )", pattern),
        ("unopened group", "unexpected )", pattern),
        ("unclosed character class", "missing closing ]", open),
        ("repetition operator missing expression", "missing argument to repetition operator", "*"),
        ("look-around", "invalid or unsupported Perl syntax", "(?="),
    ];
    match known.iter().find(|(ours, ..)| text.contains(ours)) {
        Some((_, words, shown)) => format!("error parsing regexp: {words}: `{shown}`"),
        None => format!("error parsing regexp: {}", text.lines().last().unwrap_or_default()),
    }
}

/// The pattern from the bracket on that is never closed.
fn unclosed_class(pattern: &str) -> &str {
    let (mut open, mut escaped) = (None, false);
    for (at, c) in pattern.char_indices() {
        match (c, open) {
            _ if escaped => escaped = false,
            ('\\', _) => escaped = true,
            ('[', None) => open = Some(at),
            // One right behind the opening bracket is a member.
            (']', Some(start)) if !matches!(pattern.get(start..at), Some("[" | "[^")) => open = None,
            _ => {}
        }
    }
    open.and_then(|at| pattern.get(at..)).unwrap_or(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_read_as_go_tells_them() {
        let cases = [
            ("([", "error parsing regexp: missing closing ]: `[`"),
            ("a[]b", "error parsing regexp: missing closing ]: `[]b`"),
            ("\\[[x", "error parsing regexp: missing closing ]: `[x`"),
            ("(a", "error parsing regexp: missing closing ): `(a`"),
            ("*", "error parsing regexp: missing argument to repetition operator: `*`"),
        ];
        for (pattern, wanted) in cases {
            let error = crate::schema::go_pattern(pattern).unwrap_err();
            assert_eq!(explained(pattern, &error), wanted, "{pattern}");
        }
    }
}
