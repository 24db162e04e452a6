//! What names, label keys and label values may look like, and the words in which upstream says that they do not.

use std::sync::LazyLock;

use regex::Regex;

const LABEL_LENGTH: usize = 63;
const SUBDOMAIN_LENGTH: usize = 253;

const DNS_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const WORD: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

static DNS_LABEL_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| whole(DNS_LABEL));
static WORD_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| whole(WORD));
static SUBDOMAIN_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| whole(SUBDOMAIN));
static KEY_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| whole(KEY));
static VALUE_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| whole(VALUE));

fn whole(pattern: &str) -> Option<Regex> {
    Regex::new(&format!("^{pattern}$")).ok()
}

fn fits(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    // Go's `$` is the end of the text and not of a line.
    pattern.as_ref().is_none_or(|pattern| pattern.is_match(text) && !text.ends_with('\n'))
}

/// What a name may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameRule {
    Subdomain,
    Label,
    /// A label that begins with a letter.
    Word,
    /// Anything that can stand in a path.
    PathSegment,
}

impl NameRule {
    /// What is wrong with a name; nothing when it is good.
    pub(crate) fn problems(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => subdomain(name, "characters"),
            Self::Label => dns_label(name),
            Self::Word => word(name),
            Self::PathSegment => path_segment(name),
        }
    }

    /// As [`Self::problems`], for the start of a name that is still to be completed.
    pub(crate) fn prefix_problems(self, prefix: &str) -> Vec<String> {
        match (self, prefix.strip_suffix('-').filter(|rest| !rest.is_empty())) {
            (Self::PathSegment, _) => path_segment(prefix),
            (_, None) => self.problems(prefix),
            // The dash is no longer the end once the name is complete.
            (_, Some(rest)) => {
                let mut masked = rest.to_owned();
                masked.pop();
                masked.push('a');
                self.problems(&masked)
            }
        }
    }
}

/// What is wrong with a subdomain. Upstream counts the letters of a name in characters, and of others in bytes.
pub(crate) fn subdomain(name: &str, unit: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > SUBDOMAIN_LENGTH {
        problems.push(format!("must be no more than {SUBDOMAIN_LENGTH} {unit}"));
    }
    if !fits(&SUBDOMAIN_PATTERN, name) {
        problems.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
        ));
    }
    problems
}

fn dns_label(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > LABEL_LENGTH {
        problems.push(format!("must be no more than {LABEL_LENGTH} characters"));
    }
    if !fits(&DNS_LABEL_PATTERN, name) {
        problems.push(if fits(&SUBDOMAIN_PATTERN, name) {
            "must not contain dots".to_owned()
        } else {
            format!(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                 '{DNS_LABEL}')"
            )
        });
    }
    problems
}

fn word(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > LABEL_LENGTH {
        problems.push(format!("must be no more than {LABEL_LENGTH} bytes"));
    }
    if !fits(&WORD_PATTERN, name) {
        problems.push(format!(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation \
             is '{WORD}')"
        ));
    }
    problems
}

fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"].iter().filter(|bad| name.contains(**bad)).map(|bad| format!("may not contain '{bad}'")).collect()
}

/// What is wrong with a label key, an annotation key or a finalizer.
pub(crate) fn key_problems(key: &str) -> Vec<String> {
    let shape = format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{KEY}')"
    );
    let mut problems = Vec::new();
    let name = match key.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        ["", name] => {
            problems.push("prefix part must be non-empty".to_owned());
            *name
        }
        [prefix, name] => {
            problems.extend(subdomain(prefix, "bytes").iter().map(|problem| format!("prefix part {problem}")));
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {shape} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_LENGTH {
        problems.push(format!("name part must be no more than {LABEL_LENGTH} bytes"));
    }
    if !fits(&KEY_PATTERN, name) {
        problems.push(format!("name part {shape}"));
    }
    problems
}

/// What is wrong with a label's value.
pub(crate) fn value_problems(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > LABEL_LENGTH {
        problems.push(format!("must be no more than {LABEL_LENGTH} bytes"));
    }
    if !fits(&VALUE_PATTERN, value) {
        problems.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '{VALUE}')"
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rfc() {
        for good in ["a", "a-b.c", "1"] {
            assert!(NameRule::Subdomain.problems(good).is_empty(), "{good}");
        }
        for bad in ["A", "-a", "a.", "a/b", "ü", "", "a_b", "a\n"] {
            assert_eq!(NameRule::Subdomain.problems(bad).len(), 1, "{bad}");
        }
        assert_eq!(NameRule::Subdomain.problems(&"a".repeat(254)), ["must be no more than 253 characters"]);
        assert_eq!(NameRule::Label.problems("a.b"), ["must not contain dots"]);
        assert!(NameRule::PathSegment.problems("system:x").is_empty());
        assert_eq!(NameRule::PathSegment.problems("a/%"), ["may not contain '/'", "may not contain '%'"]);
        assert!(NameRule::Subdomain.prefix_problems("a-").is_empty());
        assert!(
            !NameRule::Subdomain.prefix_problems("A-").is_empty()
                || NameRule::Subdomain.prefix_problems("AB-").len() == 1
        );
    }

    #[test]
    fn keys_and_values() {
        for good in ["a", "A.b_c-d", "example.com/Name"] {
            assert!(key_problems(good).is_empty(), "{good}");
        }
        for (bad, count) in [("", 2), ("a b", 1), ("/a", 1), ("A.com/a", 1), ("a/b/c", 1), ("a/", 2)] {
            assert_eq!(key_problems(bad).len(), count, "{bad}");
        }
        assert!(value_problems("").is_empty());
        assert_eq!(value_problems(&"y".repeat(64)).len(), 1);
        assert_eq!(value_problems("-").len(), 1);
    }
}
