//! Messages within messages: each as a bullet, those of several lines indented below it.

/// What stands behind the colon of a bullet: `message` itself, or its lines, indented and each with a bullet.
pub(super) fn behind_colon(message: &str) -> String {
    if !message.contains('\n') && !has_bullet(message) {
        return format!(" {message}");
    }
    let all = message.lines().all(has_bullet);
    let prefix = |line: &str| match (all, has_bullet(line)) {
        (true, _) => "  ",
        (false, true) => "    ",
        (false, false) => "  * ",
    };
    message.split('\n').map(|line| format!("\n{}{line}", prefix(line))).collect()
}

/// A star with white space behind it, anywhere.
fn has_bullet(line: &str) -> bool {
    let mut rest = line;
    while let Some((_, after)) = rest.split_once('*') {
        if after.starts_with(char::is_whitespace) {
            return true;
        }
        rest = after;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_below() {
        for (message, behind) in [
            ("waits", " waits"),
            ("a * b", "\n  a * b"),
            ("* A: waits", "\n  * A: waits"),
            ("* A: a\n* B: b", "\n  * A: a\n  * B: b"),
            ("first\nsecond", "\n  * first\n  * second"),
            ("first\n* A: a", "\n  * first\n    * A: a"),
            ("* A:\n  * B: b", "\n  * A:\n    * B: b"),
        ] {
            assert_eq!(behind_colon(message), behind, "{message:?}");
        }
    }
}
