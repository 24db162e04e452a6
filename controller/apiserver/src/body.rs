//! Reading the body of a write: JSON or YAML into one value, with the keys that it has twice. Knows nothing of kinds.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// A body, and what a strict reader would refuse in it: keys that are there more than once. The last one counts.
pub(crate) type Body = (Value, Vec<String>);

/// Reads JSON. The problem is told in the words of upstream's reader.
pub(crate) fn json(bytes: &[u8]) -> Result<Body, String> {
    let problems = RefCell::new(Problems::default());
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let seed = Node { place: Place::Top, problems: &problems };
    let value = seed.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    let value = value.map_err(|error| explain(bytes, &error))?;
    Ok((value, problems.into_inner().texts))
}

/// Reads YAML, of which JSON is a part: JSON readers are fast, so they are asked first.
pub(crate) fn yaml(bytes: &[u8]) -> Result<Body, String> {
    if bytes.first() == Some(&b'{')
        && let Ok(read) = json(bytes)
    {
        return Ok(read);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "yaml: invalid leading UTF-8 octet".to_owned())?;
    let problems = RefCell::new(Problems::default());
    let seed = Node { place: Place::Top, problems: &problems };
    // `yes` and `n` are booleans, as in upstream's reader.
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::PassThrough,
        strict_booleans: false,
    };
    let value = serde_saphyr::with_deserializer_from_str_with_options(text, options, |reader| seed.deserialize(reader));
    let value = value.map_err(|error| {
        let text = error.to_string();
        format!("error converting YAML to JSON: yaml: {}", text.lines().next().unwrap_or_default())
    })?;
    Ok((value, problems.into_inner().texts))
}

/// As [`yaml`], for a body that must be one object.
pub(crate) fn yaml_object(bytes: &[u8]) -> Result<Body, String> {
    let (value, problems) = yaml(bytes)?;
    let found = match &value {
        Value::Object(_) | Value::Null => return Ok((value, problems)),
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    };
    let why = format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
    Err(format!("error unmarshaling JSON: while decoding JSON: {why}"))
}

/// What is wrong with a body, as Go's reader says it.
fn explain(bytes: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    if !error.is_syntax() {
        return error.to_string();
    }
    let line = bytes.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let found = line.get(error.column().saturating_sub(1)).copied().map(char::from).unwrap_or(' ');
    let text = error.to_string();
    if text.starts_with("expected ident")
        && let Some(place) = in_literal(line.get(..error.column().saturating_sub(1)).unwrap_or_default())
    {
        return format!("invalid character {found:?} {place}");
    }
    let place = if text.starts_with("key must be a string") {
        "looking for beginning of object key string"
    } else if text.starts_with("expected `:`") {
        "after object key"
    } else if text.starts_with("expected `,` or `}`") {
        "after object key:value pair"
    } else if text.starts_with("expected `,` or `]`") {
        "after array element"
    } else if text.starts_with("trailing characters") {
        "after top-level value"
    } else {
        "looking for beginning of value"
    };
    format!("invalid character {found:?} {place}")
}

/// Which word a reader was in the middle of.
fn in_literal(before: &[u8]) -> Option<String> {
    ["null", "true", "false"].iter().find_map(|word| {
        let read =
            (1..word.len()).rev().find(|read| before.ends_with(word.as_bytes().get(..*read).unwrap_or_default()))?;
        let expected = char::from(*word.as_bytes().get(read)?);
        Some(format!("in literal {word} (expecting {expected:?})"))
    })
}

/// Most repeated keys told; upstream's number.
const MOST_PROBLEMS: usize = 100;
/// Bytes that they take, with which the first is told in any case: a path may be as long as the body.
const LONGEST_PROBLEMS: usize = 64 * 1024;

/// The repeated keys found so far, each told once.
#[derive(Default)]
struct Problems {
    texts: Vec<String>,
    bytes: usize,
}

impl Problems {
    fn repeated(&mut self, place: &Place<'_>) {
        if self.texts.len() >= MOST_PROBLEMS || self.bytes >= LONGEST_PROBLEMS {
            return;
        }
        let text = format!("duplicate field \"{place}\"");
        if !self.texts.contains(&text) {
            self.bytes += text.len();
            self.texts.push(text);
        }
    }
}

/// Where a value is. Made into a text only for a repeated key: nearly no body has one.
#[derive(Clone, Copy)]
enum Place<'p> {
    Top,
    Field(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => Ok(()),
            Self::Field(Self::Top, name) => f.write_str(name),
            Self::Field(above, name) => write!(f, "{above}.{name}"),
            Self::Item(above, at) => write!(f, "{above}[{at}]"),
        }
    }
}

/// One value at its place, for the names of repeated keys.
struct Node<'p> {
    place: Place<'p>,
    problems: &'p RefCell<Problems>,
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
        Ok(value.into())
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
        loop {
            let place = Place::Item(&self.place, list.len());
            let Some(item) = items.next_element_seed(Node { place, problems: self.problems })? else { break };
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = entries.next_key_seed(Node { place: Place::Top, problems: self.problems })? {
            let key = match key {
                Value::String(key) => key,
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                _ => return Err(A::Error::custom("unsupported map key")),
            };
            let place = Place::Field(&self.place, &key);
            let value = entries.next_value_seed(Node { place, problems: self.problems })?;
            match fields.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(mut entry) => {
                    let place = Place::Field(&self.place, entry.key());
                    self.problems.borrow_mut().repeated(&place);
                    entry.insert(value);
                }
            }
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn repeated_keys_are_named_and_the_last_one_counts() {
        let (value, problems) = json(br#"{"a": 1, "b": [{"x": 1, "x": 2}], "a": {"y": 1, "y": 1}}"#).unwrap();
        assert_eq!(value, json!({"a": {"y": 1}, "b": [{"x": 2}]}));
        assert_eq!(problems, ["duplicate field \"b[0].x\"", "duplicate field \"a.y\"", "duplicate field \"a\""]);
    }

    /// Each would take minutes, or more memory than there is, if every element's path were written.
    #[test]
    fn long_paths_cost_nothing_until_they_are_told() {
        let key = "k".repeat(1_000_000);
        let begun = std::time::Instant::now();
        let (value, problems) = json(format!("{{\"{key}\": [{}0]}}", "0,".repeat(900_000)).as_bytes()).unwrap();
        assert_eq!((value[&key].as_array().unwrap().len(), problems.len()), (900_001, 0));
        let (_, problems) =
            json(format!("{{\"{key}\": {{{}\"a\": 1}}}}", "\"a\": 1,".repeat(200_000)).as_bytes()).unwrap();
        assert_eq!(problems, [format!("duplicate field \"{key}.a\"")]);
        let (_, problems) = json(format!("[{}0]", "{\"a\": 1, \"a\": 1},".repeat(100_000)).as_bytes()).unwrap();
        assert_eq!((problems.len(), problems[99].as_str()), (MOST_PROBLEMS, "duplicate field \"[99].a\""));
        assert!(begun.elapsed() < std::time::Duration::from_secs(30));
    }

    #[test]
    fn broken_bodies_are_told_as_upstream_tells_them() {
        let cases = [
            ("", "unexpected end of JSON input"),
            ("{\"a\":", "unexpected end of JSON input"),
            ("{a: 1}", "invalid character 'a' looking for beginning of object key string"),
            ("nonsense", "invalid character 'o' in literal null (expecting 'u')"),
            ("truE", "invalid character 'E' in literal true (expecting 'e')"),
            ("xyz", "invalid character 'x' looking for beginning of value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\": 1 2}", "invalid character '2' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{} x", "invalid character 'x' after top-level value"),
        ];
        for (body, wanted) in cases {
            assert_eq!(json(body.as_bytes()).unwrap_err(), wanted, "{body}");
        }
    }

    #[test]
    fn yaml_is_read_like_json() {
        let text = "apiVersion: v1\nkind: ConfigMap\ndata: {a: \"1\", i: 1, f: 1.5, t: true, z: null}\nl:\n- x\n- 2\n";
        let (value, problems) = yaml(text.as_bytes()).unwrap();
        assert!(problems.is_empty());
        assert_eq!(
            value,
            json!({"apiVersion": "v1", "kind": "ConfigMap",
                   "data": {"a": "1", "i": 1, "f": 1.5, "t": true, "z": null}, "l": ["x", 2]})
        );
        let (value, problems) = yaml(b"a: 1\na: 2\n").unwrap();
        assert_eq!((value, problems.len()), (json!({"a": 2}), 1));
        assert!(yaml(b"a: [").is_err());
        assert!(yaml(b"\xff").is_err());
    }
}
