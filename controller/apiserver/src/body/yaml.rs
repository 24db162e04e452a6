//! YAML as upstream reads it: what words, numbers and booleans mean (YAML 1.1), where a key is repeated, and what is said
//! of a text that is none.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use granit_parser::{Event, Parser, ScanError};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Most repeated keys told; upstream's number for JSON.
const MOST_PROBLEMS: usize = 100;
/// Deepest nesting that is looked at for them.
const DEEPEST: usize = 128;
/// Most values read: more than a body can have, the smallest being a letter and a comma.
const MOST_NODES: usize = 2 * 1024 * 1024;
/// Deepest nesting read: half that of JSON, since this reader needs far more stack for a level.
const DEEPEST_READ: usize = 64;

/// Reads a text; of several keys the last one counts. Answers the repeated ones, too.
pub(super) fn read(bytes: &[u8]) -> Result<(Value, Vec<String>), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "yaml: invalid leading UTF-8 octet".to_owned())?;
    // `yes` and `n` are booleans, and 0644 is octal, as in upstream's reader.
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::PassThrough,
        strict_booleans: false,
        legacy_octal_numbers: true,
        budget: serde_saphyr::budget! {
            max_depth: DEEPEST_READ,
            max_nodes: MOST_NODES,
            max_events: 2 * MOST_NODES,
        },
    };
    let any_repeated = std::cell::Cell::new(false);
    let seed = Node { any_repeated: &any_repeated };
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |reader| seed.deserialize(reader));
    match read {
        Ok(value) => Ok((value, if any_repeated.get() { repeated(text) } else { Vec::new() })),
        Err(error) => Err(format!("yaml: {}", explained(text).unwrap_or_else(|| first_line(&error.to_string())))),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Each key that a mapping has already, with the line of its value.
pub(super) fn repeated(text: &str) -> Vec<String> {
    /// A collection that is being read.
    enum Open {
        List,
        /// The keys so far, and the one whose value is next.
        Mapping(HashSet<String>, Option<String>),
    }
    let mut found = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    for next in Parser::new_from_str(text) {
        let Ok((event, span)) = next else { break };
        if found.len() >= MOST_PROBLEMS || open.len() > DEEPEST {
            break;
        }
        let line = span.start.line();
        let scalar = match &event {
            Event::Scalar(value, ..) => Some(value.clone()),
            Event::Alias(..) | Event::SequenceStart(..) | Event::MappingStart(..) => None,
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
                continue;
            }
            _ => continue,
        };
        if let Some(Open::Mapping(keys, key)) = open.last_mut() {
            match (key.take(), scalar) {
                (Some(known), _) if !keys.insert(known.clone()) => {
                    found.push(format!("line {line}: key {} already set in map", shown(&known)));
                }
                (Some(_), _) => {}
                (None, scalar) => *key = Some(scalar.map(Cow::into_owned).unwrap_or_default()),
            }
        }
        match event {
            Event::SequenceStart(..) => open.push(Open::List),
            Event::MappingStart(..) => open.push(Open::Mapping(HashSet::new(), None)),
            _ => {}
        }
    }
    found
}

/// A key as upstream shows it: a number plain, anything else in quotes.
fn shown(key: &str) -> String {
    if key.parse::<i64>().is_ok() { key.to_owned() } else { crate::gotext::quoted(key) }
}

/// What is wrong with a text, as upstream's reader says it: the line is left out where it is the first.
fn explained(text: &str) -> Option<String> {
    let mut inside = Vec::new();
    for next in Parser::new_from_str(text) {
        match next {
            Ok((Event::SequenceStart(..), _)) => inside.push(']'),
            Ok((Event::MappingStart(..), _)) => inside.push('}'),
            Ok((Event::SequenceEnd | Event::MappingEnd, _)) => {
                inside.pop();
            }
            Ok(_) => {}
            Err(error) => return Some(told(text, &error, inside.last().copied())),
        }
    }
    None
}

/// A fault, in a collection that is closed by `close`.
fn told(text: &str, error: &ScanError, close: Option<char>) -> String {
    let info = error.info();
    let what = info.rsplit_once(", ").filter(|(context, _)| context.starts_with("while")).map_or(&*info, |(_, w)| w);
    let unclosed = info.strip_prefix("unclosed bracket '").and_then(|rest| rest.chars().next());
    let close = match unclosed {
        Some('[') => Some(']'),
        Some('{') => Some('}'),
        _ => close.filter(|_| error.marker().index() >= text.chars().count()),
    };
    if let Some(close) = close {
        // The end is where a line more would begin.
        let (lines, visible) = (text.lines().count(), text.trim_end());
        return if visible.ends_with(['{', '[', ',', ':']) {
            format!("line {lines}: did not find expected node content")
        } else {
            format!("line {lines}: did not find expected ',' or '{close}'")
        };
    }
    let what = match what {
        "expected ',' or ']'" => "did not find expected ',' or ']'",
        "simple key expected ':'" => "could not find expected ':'",
        "found a tab" => "found character that cannot start any token",
        other => other,
    };
    // Upstream's parser counts lines from zero, and its scanner from one, but for the first.
    let line = error.marker().line().saturating_sub(1);
    let in_parser = what.starts_with("did not find expected") && !info.contains("scanning");
    match (line, in_parser) {
        (0, _) => what.to_owned(),
        (line, true) => format!("line {line}: {what}"),
        (line, false) => format!("line {}: {what}", line + 1),
    }
}

/// One value.
#[derive(Clone, Copy)]
struct Node<'p> {
    any_repeated: &'p std::cell::Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        // As the reader of JSON, through which upstream sends it.
        #[expect(clippy::cast_precision_loss, reason = "a whole number too large for its type becomes a float there")]
        let float = value as f64;
        Ok(i64::try_from(value).map_or_else(|_| float.into(), Value::from))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = entries.next_key_seed(self)? {
            let key = match key {
                Value::String(key) => key,
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                _ => return Err(A::Error::custom("unsupported map key")),
            };
            let value = entries.next_value_seed(self)?;
            if fields.insert(key, value).is_some() {
                self.any_repeated.set(true);
            }
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_is_read_like_json() {
        let text =
            "apiVersion: v1\nkind: ConfigMap\ndata: {a: \"1\", i: 1, f: 1.5, t: true, z: null, w: yes, o: 0644}\n";
        let (value, problems) = read(format!("{text}l:\n- x\n- 2\n").as_bytes()).unwrap();
        assert!(problems.is_empty());
        assert_eq!(
            value,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "l": ["x", 2],
                   "data": {"a": "1", "i": 1, "f": 1.5, "t": true, "z": null, "w": true, "o": 420}})
        );
        assert!(read(b"\xff").is_err());
    }

    /// As many values as fit into a body, and only as deep as there is stack for.
    #[test]
    fn a_whole_body_of_yaml_is_read() {
        let deep = format!("a: {}1{}", "[".repeat(60), "]".repeat(60));
        assert_eq!(read(deep.as_bytes()).unwrap().0.to_string().matches('[').count(), 60);
        let many = format!("a: [{}1]", "1,".repeat(300_000));
        assert_eq!(read(many.as_bytes()).unwrap().0["a"].as_array().unwrap().len(), 300_001);
        assert!(read(format!("a: {}", "[".repeat(10_000)).as_bytes()).is_err());
        let large = read(b"[9223372036854775807, 9223372036854775808]").unwrap().0;
        assert_eq!(large, json!([i64::MAX, 9_223_372_036_854_775_808.0]));
    }

    #[test]
    fn repeated_keys_are_told_with_the_line_of_their_value() {
        let text = "a:\n  b: 1\n  b: 2\nc: [{d: 1, d: 2}]\na:\n  5: 1\n  5: 2\n";
        let (value, problems) = read(text.as_bytes()).unwrap();
        assert_eq!(value, json!({"a": {"5": 2}, "c": [{"d": 2}]}));
        let wanted = [("3", "\"b\""), ("4", "\"d\""), ("6", "\"a\""), ("7", "5")];
        let wanted = wanted.map(|(line, key)| format!("line {line}: key {key} already set in map"));
        let mut problems = problems;
        problems.sort();
        assert_eq!(problems, wanted);
    }

    /// The answers of a real server.
    #[test]
    fn broken_texts_are_told_as_upstream_tells_them() {
        let cases = [
            ("{", "yaml: line 1: did not find expected node content"),
            ("a: [", "yaml: line 1: did not find expected node content"),
            ("a: {b: 1", "yaml: line 1: did not find expected ',' or '}'"),
            ("a: [b", "yaml: line 1: did not find expected ',' or ']'"),
            ("a: b: c", "yaml: mapping values are not allowed in this context"),
            ("a: 1\nb: c: d\n", "yaml: line 2: mapping values are not allowed in this context"),
        ];
        for (text, wanted) in cases {
            assert_eq!(read(text.as_bytes()).unwrap_err(), wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "[\\[\\]{}:,\"'a1&*!|>#%@\\n -]{0,24}") {
            let _ = read(text.as_bytes());
            let _ = repeated(&text);
        }
    }
}
