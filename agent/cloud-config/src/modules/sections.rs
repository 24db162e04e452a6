//! Reading the parts of a cloud-config that every module has: words, flags and lists at a named place.

use super::ConfigError;
use crate::yaml::Node;

/// Longest key that is shown in a warning, in characters.
const SHOWN: usize = 60;

/// A key for people: keys are no secrets, but they may be long.
pub(super) fn shown(key: &str) -> String {
    let short: String = key.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    format!("{short:?}")
}

/// A word or number as text.
pub(super) fn text(node: &Node, place: &str, key: &str) -> Result<Option<String>, ConfigError> {
    match node.get(key) {
        None => Ok(None),
        Some(value) => match value.text() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(ConfigError::new(format!("{place}.{key}"), "is no word")),
        },
    }
}

/// A flag, or `default` when it is not given.
pub(super) fn flag(node: &Node, place: &str, key: &str, default: bool) -> Result<bool, ConfigError> {
    match node.get(key) {
        None => Ok(default),
        Some(value) => {
            value.flag().ok_or_else(|| ConfigError::new(format!("{place}.{key}"), "is neither true nor false"))
        }
    }
}

/// A list of words, or one word as a list.
pub(super) fn words(node: &Node, place: &str, key: &str) -> Result<Vec<String>, ConfigError> {
    let wrong = || ConfigError::new(format!("{place}.{key}"), "holds something that is no word");
    let items = node.get(key).map(Node::items).unwrap_or_default().iter().filter(|item| !item.is_null());
    items.map(|item| item.text().map(str::to_owned).ok_or_else(wrong)).collect()
}

/// Words that stand in a list, or in one text with commas between.
pub(super) fn comma_words(node: &Node, place: &str, key: &str) -> Result<Vec<String>, ConfigError> {
    let parts = words(node, place, key)?;
    let split = parts.iter().flat_map(|part| part.split(',')).map(|word| word.trim().to_owned());
    Ok(split.filter(|word| !word.is_empty()).collect())
}

/// Fails when `value` cannot be one field of a line.
pub(super) fn one_line(value: &str, key: impl Into<String>) -> Result<(), ConfigError> {
    if value.contains(['\n', '\r', '\0']) { Err(ConfigError::new(key, "has a line break")) } else { Ok(()) }
}
