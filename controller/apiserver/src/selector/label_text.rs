//! What a label's key and value may look like, in upstream's words.

use std::sync::LazyLock;

use regex::Regex;

const NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LONGEST_NAME: usize = 63;
const LONGEST_PREFIX: usize = 253;

static NAME_SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("^{NAME}$")).ok());
static SUBDOMAIN_SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("^{SUBDOMAIN}$")).ok());

fn fits(shape: &Option<Regex>, text: &str) -> bool {
    shape.as_ref().is_none_or(|shape| shape.is_match(text))
}

/// The error of a key that cannot be one.
pub(super) fn check_key(key: &str) -> Result<(), String> {
    let shape = format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{NAME}')"
    );
    let parts: Vec<&str> = key.split('/').collect();
    let (prefix, name) = match parts.as_slice() {
        [name] => (None, *name),
        [prefix, name] => (Some(*prefix), *name),
        _ => {
            return Err(invalid(
                key,
                &format!(
                    "a valid label key {shape} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
                ),
            ));
        }
    };
    let mut wrong = Vec::new();
    if let Some(prefix) = prefix {
        if prefix.is_empty() {
            wrong.push("prefix part must be non-empty".to_owned());
        } else {
            if prefix.len() > LONGEST_PREFIX {
                wrong.push(format!("prefix part must be no more than {LONGEST_PREFIX} bytes"));
            }
            if !fits(&SUBDOMAIN_SHAPE, prefix) {
                wrong.push(format!(
                    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
                     '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used \
                     for validation is '{SUBDOMAIN}')"
                ));
            }
        }
    }
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > LONGEST_NAME {
        wrong.push(format!("name part must be no more than {LONGEST_NAME} bytes"));
    }
    if !fits(&NAME_SHAPE, name) {
        wrong.push(format!("name part {shape}"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(invalid(key, &wrong.join("; "))) }
}

fn invalid(key: &str, why: &str) -> String {
    format!("<nil>: Invalid value: {key:?}: {why}")
}

/// What is wrong with a value, if anything.
pub(super) fn value_problem(value: &str) -> Option<String> {
    let mut wrong = Vec::new();
    if value.len() > LONGEST_NAME {
        wrong.push(format!("must be no more than {LONGEST_NAME} bytes"));
    }
    if !value.is_empty() && !fits(&NAME_SHAPE, value) {
        wrong.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '({NAME})?')"
        ));
    }
    (!wrong.is_empty()).then(|| wrong.join("; "))
}
