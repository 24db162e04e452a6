//! JSON as Go reads it: its words for what is broken, its leniency with halves of characters, and the keys that an object
//! has more than once.

use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::Body;
use super::place::Place;
use super::target::Target;
use crate::gotext;

/// Deepest nesting read. Go reads deeper, and nothing of that could be stored.
const DEEPEST: usize = 128;
/// Most repeated keys told; upstream's number.
const MOST_PROBLEMS: usize = 100;
/// Bytes that they take, with which the first is told in any case: a path may be as long as the body.
const LONGEST_PROBLEMS: usize = 64 * 1024;
/// Bytes of paths written to see whether they have been told, after which no more are looked at.
const MOST_WRITTEN: usize = 1024 * 1024;

/// Reads a whole text, which becomes `target`.
pub(super) fn read(bytes: &[u8], target: Target) -> Result<Body, String> {
    let mut reader = Reader { bytes, at: 0, problems: Problems::default(), watch: &|_, _, _| {} };
    let value = reader.text(target)?;
    Ok((value, reader.problems.texts))
}

/// Tells of every key of a text that can be read: where it is, the place of its object, and whether the object had it
/// already.
pub(super) fn keys(bytes: &[u8], watch: &dyn Fn(&Place<'_>, &str, bool)) {
    let problems = Problems { full: true, ..Problems::default() };
    let mut reader = Reader { bytes, at: 0, problems, watch };
    // What cannot be read has been told of by then.
    let _ = reader.text(Target::Whole);
}

/// The repeated keys found so far, each told once.
#[derive(Default)]
struct Problems {
    texts: Vec<String>,
    bytes: usize,
    /// Bytes of texts made, told or not.
    written: usize,
    full: bool,
}

impl Problems {
    fn repeated(&mut self, place: &Place<'_>) {
        if self.full
            || self.texts.len() >= MOST_PROBLEMS
            || self.bytes >= LONGEST_PROBLEMS
            || self.written >= MOST_WRITTEN
        {
            return;
        }
        let text = format!("duplicate field \"{place}\"");
        self.written += text.len();
        if !self.texts.contains(&text) {
            self.bytes += text.len();
            self.texts.push(text);
        }
    }
}

/// How a text can be broken.
enum Broken {
    /// It ends in the middle.
    End,
    /// This byte does not belong where it is.
    Byte(u8, String),
    Other(String),
}

impl From<Broken> for String {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::End => "unexpected end of JSON input".to_owned(),
            Broken::Byte(byte, place) => format!("invalid character {} {place}", shown(byte)),
            Broken::Other(why) => why,
        }
    }
}

/// A byte as Go's reader shows it.
fn shown(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        other => {
            let quoted = gotext::quoted(char::from(other).encode_utf8(&mut [0; 4]));
            format!("'{}'", quoted.trim_matches('"'))
        }
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    problems: Problems,
    watch: &'b dyn Fn(&Place<'_>, &str, bool),
}

impl Reader<'_> {
    fn text(&mut self, target: Target) -> Result<Value, String> {
        let value = self.value(&Place::Top, target, 0)?;
        match self.next_visible() {
            None => Ok(value),
            Some(byte) => Err(Broken::Byte(byte, "after top-level value".to_owned()).into()),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next byte that is no white space.
    fn next_visible(&mut self) -> Option<u8> {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.peek()
    }

    /// The refusal of what is next.
    fn misplaced<T>(&self, place: impl Into<String>) -> Result<T, Broken> {
        Err(self.peek().map_or(Broken::End, |byte| Broken::Byte(byte, place.into())))
    }

    fn value(&mut self, place: &Place<'_>, target: Target, depth: usize) -> Result<Value, Broken> {
        if depth > DEEPEST {
            return Err(Broken::Other("exceeded max depth".to_owned()));
        }
        match self.next_visible() {
            Some(b'{') => self.object(place, target, depth),
            Some(b'[') => self.array(place, target, depth),
            Some(b'"') => self.string().map(Value::from),
            Some(b'-' | b'0'..=b'9') => self.number(target),
            Some(b't') => self.literal("true", true.into()),
            Some(b'f') => self.literal("false", false.into()),
            Some(b'n') => self.literal("null", Value::Null),
            _ => self.misplaced("looking for beginning of value"),
        }
    }

    fn literal(&mut self, word: &'static str, value: Value) -> Result<Value, Broken> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return self.misplaced(format!("in literal {word} (expecting {})", shown(expected)));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn array(&mut self, place: &Place<'_>, target: Target, depth: usize) -> Result<Value, Broken> {
        self.at += 1;
        let mut items = Vec::new();
        if self.next_visible() == Some(b']') {
            self.at += 1;
            return Ok(items.into());
        }
        loop {
            items.push(self.value(&Place::Item(place, items.len()), target.item(), depth + 1)?);
            match self.next_visible() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(items.into());
                }
                _ => return self.misplaced("after array element"),
            }
        }
    }

    fn object(&mut self, place: &Place<'_>, target: Target, depth: usize) -> Result<Value, Broken> {
        self.at += 1;
        let mut fields = Map::new();
        if self.next_visible() == Some(b'}') {
            self.at += 1;
            return Ok(fields.into());
        }
        loop {
            if self.next_visible() != Some(b'"') {
                return self.misplaced("looking for beginning of object key string");
            }
            let key = self.string()?;
            if self.next_visible() != Some(b':') {
                return self.misplaced("after object key");
            }
            self.at += 1;
            let inside = Place::Field(place, &key);
            let known = fields.contains_key(&key);
            if known {
                self.problems.repeated(&inside);
            }
            (self.watch)(&inside, &key, known);
            let inner = target.field(&key);
            let value = self.value(&inside, inner, depth + 1)?;
            match fields.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(mut entry) => target.again(inner).put_again(entry.get_mut(), value),
            }
            match self.next_visible() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(fields.into());
                }
                _ => return self.misplaced("after object key:value pair"),
            }
        }
    }

    fn number(&mut self, target: Target) -> Result<Value, Broken> {
        let start = self.at;
        let mut whole = true;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.misplaced("in numeric literal"),
        }
        if self.peek() == Some(b'.') {
            whole = false;
            self.at += 1;
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.misplaced("after decimal point in numeric literal");
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.misplaced("in exponent of numeric literal");
            }
            self.digits();
        }
        let text = self.bytes.get(start..self.at).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        if let Some(number) = text.parse::<i64>().ok().filter(|_| whole) {
            return Ok(number.into());
        }
        // As Go's reader: a whole number that does not fit becomes a float, or is refused as it is written.
        if let (Target::Integer, Some(number)) = (target, text.parse::<u64>().ok().filter(|_| whole)) {
            return Ok(number.into());
        }
        let float = text.parse::<f64>().ok().and_then(Number::from_f64);
        float
            .map(Value::Number)
            .ok_or_else(|| Broken::Other(format!("json: cannot unmarshal number {text} into Go value of type float64")))
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<String, Broken> {
        self.at += 1;
        let mut text: Vec<u8> = Vec::new();
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..0x20)).unwrap_or(rest.len());
            text.extend_from_slice(rest.get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    // What is no character becomes the sign for that.
                    return Ok(String::from_utf8(text)
                        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()));
                }
                Some(b'\\') => {
                    self.at += 1;
                    let found = self.escaped()?;
                    text.extend_from_slice(found.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => return self.misplaced("in string literal"),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, Broken> {
        let found = match self.peek() {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return self.misplaced("in string escape code"),
        };
        self.at += 1;
        Ok(found)
    }

    /// One character of four digits, or of twice four; a half of one is the sign for no character.
    fn unicode(&mut self) -> Result<char, Broken> {
        let first = self.hexadecimal()?;
        if let Some(found) = char::from_u32(first) {
            return Ok(found);
        }
        let before = self.at;
        let is_low = |half: u32| (0xdc00..0xe000).contains(&half);
        if !is_low(first) && self.bytes.get(before..).is_some_and(|rest| rest.starts_with(b"\\u")) {
            self.at += 2;
            let second = self.hexadecimal()?;
            if is_low(second) {
                let whole = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(whole).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hexadecimal(&mut self) -> Result<u32, Broken> {
        let mut found = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.misplaced("in \\u hexadecimal character escape");
            };
            found = found * 16 + digit;
            self.at += 1;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn last(bytes: &[u8]) -> Result<Body, String> {
        read(bytes, Target::Whole)
    }

    #[test]
    fn repeated_keys_are_named_and_the_last_one_counts() {
        let body = br#"{"a": 1, "b": [{"x": 1, "x": 2}], "a": {"y": 1, "y": 1}}"#;
        let (value, problems) = last(body).unwrap();
        assert_eq!(value, json!({"a": {"y": 1}, "b": [{"x": 2}]}));
        assert_eq!(problems, ["duplicate field \"b[0].x\"", "duplicate field \"a\"", "duplicate field \"a.y\""]);
    }

    /// Each would take minutes, or more memory than there is, if every element's path were written.
    #[test]
    fn long_paths_cost_nothing_until_they_are_told() {
        let key = "k".repeat(1_000_000);
        let begun = std::time::Instant::now();
        let (value, problems) = last(format!("{{\"{key}\": [{}0]}}", "0,".repeat(900_000)).as_bytes()).unwrap();
        assert_eq!((value[&key].as_array().unwrap().len(), problems.len()), (900_001, 0));
        let (_, problems) =
            last(format!("{{\"{key}\": {{{}\"a\": 1}}}}", "\"a\": 1,".repeat(200_000)).as_bytes()).unwrap();
        assert_eq!(problems, [format!("duplicate field \"{key}.a\"")]);
        let (_, problems) = last(format!("[{}0]", "{\"a\": 1, \"a\": 1},".repeat(100_000)).as_bytes()).unwrap();
        assert_eq!((problems.len(), problems[99].as_str()), (MOST_PROBLEMS, "duplicate field \"[99].a\""));
        assert!(begun.elapsed() < std::time::Duration::from_secs(30));
    }

    /// The fields of a struct are laid over one another; an entry of a map, and a value without a type, begins anew.
    #[test]
    fn repeated_keys_are_laid_over_as_the_type_says() {
        let cases = [
            (
                "core.v1.ConfigMap",
                r#"{"metadata": {"name": "a", "labels": {"x": "1", "y": "1"}, "finalizers": ["f"]}, "data": {"k": "1"},
                    "metadata": {"labels": {"y": "2"}, "finalizers": ["g"]}, "data": {"l": "2"}}"#,
                json!({"metadata": {"name": "a", "labels": {"x": "1", "y": "2"}, "finalizers": ["g"]},
                    "data": {"k": "1", "l": "2"}}),
            ),
            (
                "apiextensions.v1.JSONSchemaProps",
                r#"{"properties": {"a": {"type": "string", "title": "A"}, "a": {"type": "object"}}}"#,
                json!({"properties": {"a": {"type": "object"}}}),
            ),
            (
                "apiextensions.v1.JSONSchemaProps",
                r#"{"properties": {"a": {"title": "A"}, "b": {}}, "properties": {"a": {"type": "object"}}}"#,
                json!({"properties": {"a": {"type": "object"}, "b": {}}}),
            ),
            (
                "apiextensions.v1.JSONSchemaProps",
                r#"{"default": {"a": 1}, "not": {"title": "N"}, "items": {"title": "I"},
                    "default": {"b": 1}, "not": {"type": "object"}, "items": {"type": "object"}}"#,
                json!({"default": {"b": 1}, "not": {"title": "N", "type": "object"}, "items": {"type": "object"}}),
            ),
            (
                "meta.v1.ObjectMeta",
                r#"{"generation": 18446744073709551615, "none": 18446744073709551615}"#,
                json!({"generation": u64::MAX, "none": 18_446_744_073_709_551_615.0}),
            ),
            (
                "meta.v1.ManagedFieldsEntry",
                r#"{"fieldsV1": {"f:a": {}}, "fieldsV1": {"f:b": {}}}"#,
                json!({"fieldsV1": {"f:b": {}}}),
            ),
        ];
        for (message, body, wanted) in cases {
            let message = crate::builtin::Message::named(message).unwrap_or_else(|| panic!("{message}"));
            assert_eq!(read(body.as_bytes(), Target::of(Some(message))).unwrap().0, wanted, "{body}");
        }
    }

    /// Below the limit on what is told, so that each repeat would be written to see whether it is known.
    #[test]
    fn repeats_under_a_long_key_are_not_all_written() {
        let key = "k".repeat(60_000);
        let begun = std::time::Instant::now();
        let (_, problems) =
            last(format!("{{\"{key}\": {{{}\"a\": 1}}}}", "\"a\":1,".repeat(400_000)).as_bytes()).unwrap();
        assert_eq!(problems, [format!("duplicate field \"{key}.a\"")]);
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn broken_bodies_are_told_as_upstream_tells_them() {
        let cases = [
            ("", "unexpected end of JSON input"),
            ("{\"a\":", "unexpected end of JSON input"),
            ("\"a", "unexpected end of JSON input"),
            ("{a: 1}", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("nonsense", "invalid character 'o' in literal null (expecting 'u')"),
            ("truE", "invalid character 'E' in literal true (expecting 'e')"),
            ("xyz", "invalid character 'x' looking for beginning of value"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("\0", "invalid character '\\x00' looking for beginning of value"),
            ("'", "invalid character '\\'' looking for beginning of value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\" \"", "invalid character '\"' after object key"),
            ("{\"a\": 1 2}", "invalid character '2' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[01]", "invalid character '1' after array element"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1e+x", "invalid character 'x' in exponent of numeric literal"),
            ("1e999", "json: cannot unmarshal number 1e999 into Go value of type float64"),
        ];
        for (body, wanted) in cases {
            assert_eq!(last(body.as_bytes()).unwrap_err(), wanted, "{body}");
        }
        assert_eq!(last(b"\xff").unwrap_err(), "invalid character 'ÿ' looking for beginning of value");
        assert_eq!(last("[".repeat(200).as_bytes()).unwrap_err(), "exceeded max depth");
    }

    #[test]
    fn halves_of_characters_are_forgiven() {
        let cases = [
            (r#""\ud800""#, "\u{fffd}"),
            (r#""\udc00x""#, "\u{fffd}x"),
            (r#""\ud83d\ude00""#, "\u{1f600}"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
        ];
        for (body, wanted) in cases {
            assert_eq!(last(body.as_bytes()).unwrap().0, json!(wanted), "{body}");
        }
        assert_eq!(last(b"\"a\xffb\"").unwrap().0, json!("a\u{fffd}b"));
        assert_eq!(last(b"[-0, 18446744073709551615]").unwrap().0, json!([0, 18_446_744_073_709_551_615.0]));
    }

    #[test]
    fn keys_are_told_with_their_place() {
        let told = Cell::new(0);
        keys(br#"{"x": {"y": 1, "y": 2}}"#, &|place, key, known| {
            told.set(told.get() + usize::from(known && place.is("x.y") && key == "y"));
        });
        assert_eq!(told.get(), 1);
    }

    proptest! {
        #[test]
        fn reads_what_another_reader_reads(text in "[\\[\\]{}:,\"\\\\a1.e+ -]{0,24}") {
            // Go's reader takes the same texts, but for numbers too large and halves of characters.
            if let Ok(wanted) = serde_json::from_str::<Value>(&text) {
                prop_assert_eq!(last(text.as_bytes()).unwrap().0.to_string(), wanted.to_string().replace("-0.0", "0"));
            }
        }

        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = last(&bytes);
        }
    }
}
