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
mod tests;
