//! `${name}` in the corpus.

use std::collections::BTreeMap;

use serde_json::Value;

/// What an earlier answer should have given and did not.
const MISSING: &str = "missing";
/// Variables may stand for text with variables, but not without end.
const DEPTH: usize = 4;

/// Values by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables(BTreeMap<String, String>);

impl Variables {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Replaces every `${name}`; an unknown one becomes a word that no server knows, so that the answer differs.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for _ in 0..DEPTH {
            if !filled.contains("${") {
                break;
            }
            filled = self.fill_once(&filled);
        }
        filled
    }

    fn fill_once(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            filled.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                filled.push_str("${");
                rest = after;
                continue;
            };
            filled.push_str(self.get(name).unwrap_or(MISSING));
            rest = after;
        }
        filled + rest
    }

    pub(crate) fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| (self.fill(key), self.fill_value(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_nest_and_the_unknown_shows() {
        let mut variables = Variables::default();
        variables.set("ns", "lab");
        variables.set("cm", "/namespaces/${ns}/configmaps");
        assert_eq!(variables.fill("${cm}/x?a=${none}$"), "/namespaces/lab/configmaps/x?a=missing$");
        assert_eq!(variables.fill_value(&serde_json::json!({"${ns}": ["${ns}"]})), serde_json::json!({"lab": ["lab"]}));
    }
}
