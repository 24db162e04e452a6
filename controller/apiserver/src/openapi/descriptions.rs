//! What the fields of the built-in kinds are for, from `descriptions.txt`. Knows nothing of schemas.

use std::collections::BTreeMap;
use std::sync::LazyLock;

const TEXT: &str = include_str!("descriptions.txt");

/// By message and field; a message itself has no field.
static DESCRIPTIONS: LazyLock<BTreeMap<(&str, &str), &str>> = LazyLock::new(|| {
    let (mut found, mut message) = (BTreeMap::new(), "");
    for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
        let (name, text) = line.trim_start().split_once(' ').unwrap_or((line, ""));
        if line.starts_with(' ') {
            found.insert((message, name), text);
        } else {
            message = name;
            found.insert((message, ""), text);
        }
    }
    found
});

/// What a message is for.
pub(super) fn of_message(message: &str) -> Option<&'static str> {
    DESCRIPTIONS.get(&(message, "")).copied()
}

/// What a field of a message is for.
pub(super) fn of_field(message: &str, field: &str) -> Option<&'static str> {
    let own = DESCRIPTIONS.get(&(message, field)).copied();
    own.or_else(|| (field == "metadata").then_some("Standard metadata."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::Message;

    #[test]
    fn each_is_of_a_field_that_there_is() {
        for (name, field) in DESCRIPTIONS.keys() {
            let message = Message::named(name).unwrap_or_else(|| panic!("there is no message {name}"));
            let known = field.is_empty() || message.fields.iter().any(|known| known.name == *field);
            assert!(known || *field == "metadata", "there is no {field} in {name}");
        }
    }
}
