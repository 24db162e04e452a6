//! Strings, by character rather than byte.

use super::super::eval::{Found, failed, no_overload};
use super::super::value::Value;
use super::{Args, convert, int};
use crate::gotext;
use crate::schema::go_pattern_once;

pub(super) fn matches<'v>(text: &str, pattern: &str) -> Found<'v> {
    match go_pattern_once(pattern) {
        Ok(regex) => Ok(Value::Bool(regex.is_match(text))),
        Err(_) => failed(format!("error parsing regexp: `{pattern}`")),
    }
}

pub(super) fn method<'v>(name: &str, text: &str, rest: Args<'_, 'v>) -> Found<'v> {
    match (name, rest) {
        ("contains", [Value::Text(part)]) => Ok(Value::Bool(text.contains(part.as_ref()))),
        ("startsWith", [Value::Text(part)]) => Ok(Value::Bool(text.starts_with(part.as_ref()))),
        ("endsWith", [Value::Text(part)]) => Ok(Value::Bool(text.ends_with(part.as_ref()))),
        ("matches", [Value::Text(pattern)]) => matches(text, pattern),
        ("lowerAscii", []) => Ok(Value::text(text.to_ascii_lowercase())),
        ("upperAscii", []) => Ok(Value::text(text.to_ascii_uppercase())),
        ("trim", []) => Ok(Value::text(text.trim())),
        ("charAt", [Value::Int(at)]) => {
            let count = text.chars().count();
            match usize::try_from(*at) {
                Ok(at) if at <= count => Ok(Value::text(text.chars().nth(at).map(String::from).unwrap_or_default())),
                _ => failed(format!("index out of range: {at}")),
            }
        }
        ("indexOf", [Value::Text(part), from @ ..]) => index_of(text, part, from),
        ("lastIndexOf", [Value::Text(part), from @ ..]) => last_index_of(text, part, from),
        ("replace", [Value::Text(from), Value::Text(to)]) => Ok(Value::text(text.replace(from.as_ref(), to))),
        ("replace", [Value::Text(from), Value::Text(to), Value::Int(most)]) => match usize::try_from(*most) {
            Ok(most) => Ok(Value::text(text.replacen(from.as_ref(), to, most))),
            Err(_) => Ok(Value::text(text.replace(from.as_ref(), to))),
        },
        ("split", [Value::Text(at)]) => Ok(split(text, at, -1)),
        ("split", [Value::Text(at), Value::Int(most)]) => Ok(split(text, at, *most)),
        ("substring", [Value::Int(from)]) => substring(text, *from, None),
        ("substring", [Value::Int(from), Value::Int(to)]) => substring(text, *from, Some(*to)),
        ("find", [Value::Text(pattern)]) => match go_pattern_once(pattern) {
            Ok(regex) => Ok(Value::text(regex.find(text).map(|found| found.as_str()).unwrap_or_default())),
            Err(error) => failed(format!("Illegal regex: {error}")),
        },
        ("findAll", [Value::Text(pattern), most @ ..]) => {
            let most = match most {
                [Value::Int(most)] => usize::try_from(*most).unwrap_or(usize::MAX),
                _ => usize::MAX,
            };
            match go_pattern_once(pattern) {
                Ok(regex) => {
                    let found = regex.find_iter(text).take(most);
                    Ok(Value::list(found.map(|found| Value::text(found.as_str())).collect()))
                }
                Err(error) => failed(format!("Illegal regex: {error}")),
            }
        }
        ("format", [list]) => format(text, list),
        _ => no_overload(),
    }
}

fn index_of<'v>(text: &str, part: &str, from: Args<'_, 'v>) -> Found<'v> {
    let text: Vec<char> = text.chars().collect();
    let part: Vec<char> = part.chars().collect();
    let from = match from {
        [Value::Int(from)] => *from,
        _ => 0,
    };
    let Some(start) = usize::try_from(from).ok().filter(|from| *from <= text.len()) else {
        return failed(format!("index out of range: {from}"));
    };
    let mut places = start..=text.len();
    let found = places.find(|at| text.get(*at..).is_some_and(|left| left.starts_with(&part)));
    Ok(found.map_or(Value::Int(-1), int))
}

fn last_index_of<'v>(text: &str, part: &str, from: Args<'_, 'v>) -> Found<'v> {
    let text: Vec<char> = text.chars().collect();
    let part: Vec<char> = part.chars().collect();
    let from = match from {
        [Value::Int(from)] => match usize::try_from(*from).ok().filter(|from| *from <= text.len()) {
            Some(from) => from,
            None => return failed(format!("index out of range: {from}")),
        },
        _ => text.len(),
    };
    let found = (0..=from).rev().find(|at| text.get(*at..).is_some_and(|left| left.starts_with(&part)));
    Ok(found.map_or(Value::Int(-1), int))
}

fn split<'v>(text: &str, at: &str, most: i64) -> Value<'v> {
    let pieces: Vec<String> = match (most, at.is_empty()) {
        (0, _) => Vec::new(),
        (most, true) => {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let mut chars = text.chars();
            let mut pieces: Vec<String> = chars.by_ref().take(most.saturating_sub(1)).map(String::from).collect();
            let rest = chars.as_str();
            if !rest.is_empty() {
                pieces.push(rest.to_owned());
            }
            pieces
        }
        (most, false) => match usize::try_from(most) {
            Ok(most) => text.splitn(most, at).map(str::to_owned).collect(),
            Err(_) => text.split(at).map(str::to_owned).collect(),
        },
    };
    Value::list(pieces.into_iter().map(Value::text).collect())
}

fn substring<'v>(text: &str, from: i64, to: Option<i64>) -> Found<'v> {
    let chars: Vec<char> = text.chars().collect();
    let end = to.unwrap_or(i64::try_from(chars.len()).unwrap_or(i64::MAX));
    let within = |at: i64| usize::try_from(at).ok().filter(|at| *at <= chars.len());
    match (within(from), within(end)) {
        (None, _) => failed(format!("index out of range: {from}")),
        (_, None) => failed(format!("index out of range: {end}")),
        (Some(a), Some(b)) if a > b => failed(format!("invalid substring range. start: {from}, end: {end}")),
        (Some(a), Some(b)) => Ok(Value::text(chars.get(a..b).unwrap_or_default().iter().collect::<String>())),
    }
}

pub(super) fn join<'v>(list: &Value<'v>, rest: Args<'_, 'v>) -> Found<'v> {
    let separator = match rest {
        [Value::Text(separator)] => separator.as_ref(),
        _ => "",
    };
    let mut pieces = Vec::new();
    for item in list.items().unwrap_or_default() {
        match item {
            Value::Text(text) => pieces.push(text.into_owned()),
            _ => return no_overload(),
        }
    }
    Ok(Value::text(pieces.join(separator)))
}

/// A string as `strings.quote` writes it: only what a line cannot hold is escaped.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `"%s is %d".format([…])`.
fn format<'v>(text: &str, list: &Value<'v>) -> Found<'v> {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    let mut next = 0_usize;
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            out.push('%');
            continue;
        }
        let mut precision = None;
        if chars.next_if_eq(&'.').is_some() {
            let mut digits = String::new();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            precision = digits.parse::<usize>().ok().filter(|precision| *precision <= 100);
        }
        let Some(verb) = chars.next() else { return failed("unexpected end of string") };
        let Some(argument) = list.item(next) else { return failed(format!("index {next} out of range")) };
        next = next.saturating_add(1);
        match clause(verb, precision, &argument) {
            Some(piece) => out.push_str(&piece),
            None => {
                return failed(format!("could not parse formatting clause: unrecognized formatting clause \"{verb}\""));
            }
        }
    }
    Ok(Value::text(out))
}

fn clause(verb: char, precision: Option<usize>, value: &Value<'_>) -> Option<String> {
    let float = |value: &Value<'_>| match value {
        Value::Double(number) => Some(*number),
        #[expect(clippy::cast_precision_loss, reason = "shown as a float")]
        Value::Int(number) => Some(*number as f64),
        _ => None,
    };
    Some(match (verb, value) {
        ('s', value) => listed(value)?,
        ('d', Value::Int(number)) => number.to_string(),
        ('d', Value::UInt(number)) => number.to_string(),
        ('d', Value::Double(number)) => gotext::float(*number),
        ('f', value) => format!("{:.*}", precision.unwrap_or(6), float(value)?),
        ('e', value) => {
            let text = format!("{:.*e}", precision.unwrap_or(6), float(value)?);
            let (mantissa, exponent) = text.split_once('e')?;
            let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        ('b', Value::Int(number)) => signed(*number, format!("{:b}", number.unsigned_abs())),
        ('b', Value::UInt(number)) => format!("{number:b}"),
        ('b', Value::Bool(flag)) => u8::from(*flag).to_string(),
        ('o', Value::Int(number)) => signed(*number, format!("{:o}", number.unsigned_abs())),
        ('o', Value::UInt(number)) => format!("{number:o}"),
        ('x' | 'X', value) => {
            let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            let text = match value {
                Value::Int(number) => signed(*number, format!("{:x}", number.unsigned_abs())),
                Value::UInt(number) => format!("{number:x}"),
                Value::Text(text) => hex(text.as_bytes()),
                Value::Bytes(bytes) => hex(bytes),
                _ => return None,
            };
            if verb == 'X' { text.to_uppercase() } else { text }
        }
        _ => return None,
    })
}

fn signed(number: i64, digits: String) -> String {
    if number < 0 { format!("-{digits}") } else { digits }
}

/// A value as `%s` shows it.
fn listed(value: &Value<'_>) -> Option<String> {
    if let Some(items) = value.items() {
        let items: Option<Vec<String>> = items.iter().map(listed).collect();
        return Some(format!("[{}]", items?.join(", ")));
    }
    if let Some(entries) = value.entries() {
        let pairs: Option<Vec<String>> =
            entries.iter().map(|(key, value)| Some(format!("{}: {}", key.shown(), listed(value)?))).collect();
        return Some(format!("{{{}}}", pairs?.join(", ")));
    }
    match value {
        Value::Null => Some("null".to_owned()),
        Value::Type(name) => Some((*name).to_owned()),
        other => convert::shown(other),
    }
}
