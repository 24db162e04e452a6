//! Conversions between types, and the types themselves.

use jiff::Timestamp;

use super::super::eval::{Found, failed, no_overload};
use super::super::value::Value;
use super::{Args, times};
use crate::gotext;

pub(super) fn function<'v>(name: &str, args: Args<'_, 'v>) -> Found<'v> {
    let [value] = args else { return no_overload() };
    match (name, value) {
        ("dyn", value) => Ok(value.clone()),
        ("type", value) => Ok(Value::Type(value.type_name())),
        ("bool", Value::Bool(_))
        | ("int", Value::Int(_))
        | ("uint", Value::UInt(_))
        | ("double", Value::Double(_))
        | ("string", Value::Text(_))
        | ("bytes", Value::Bytes(_))
        | ("timestamp", Value::Time(_))
        | ("duration", Value::Span(_)) => Ok(value.clone()),
        ("bool", Value::Text(text)) => match text.as_ref() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => failed("type conversion error from 'string' to 'bool'"),
        },
        ("int", value) => int(value),
        ("uint", value) => uint(value),
        ("double", value) => double(value),
        ("string", value) => string(value),
        ("bytes", Value::Text(text)) => Ok(Value::Bytes(text.as_bytes().into())),
        ("timestamp", Value::Text(text)) => match text.parse::<Timestamp>() {
            Ok(time) => Ok(Value::Time(time)),
            Err(_) => {
                failed(format!("parsing time {} as \"2006-01-02T15:04:05Z07:00\": cannot parse", gotext::quoted(text)))
            }
        },
        ("timestamp", Value::Int(seconds)) => {
            Timestamp::from_second(*seconds).map_or_else(|_| failed("timestamp overflow"), |time| Ok(Value::Time(time)))
        }
        ("duration", Value::Text(text)) => match times::parse_duration(text) {
            Some(span) => Ok(Value::Span(span)),
            None => failed(format!("time: invalid duration {}", gotext::quoted(text))),
        },
        ("duration", Value::Int(nanoseconds)) => Ok(Value::Span(jiff::SignedDuration::from_nanos(*nanoseconds))),
        _ => no_overload(),
    }
}

fn int<'v>(value: &Value<'v>) -> Found<'v> {
    let found = match value {
        Value::UInt(number) => i64::try_from(*number).ok(),
        Value::Double(number) => whole(*number),
        Value::Time(time) => Some(time.as_second()),
        Value::Span(span) => i64::try_from(span.as_nanos()).ok(),
        Value::Text(text) => match text.parse() {
            Ok(number) => Some(number),
            Err(_) => return failed("type conversion error from 'string' to 'int'"),
        },
        _ => return no_overload(),
    };
    found.map_or_else(|| failed("integer overflow"), |number| Ok(Value::Int(number)))
}

#[expect(clippy::cast_possible_truncation, reason = "the range was checked; the fraction is cut, as CEL wants")]
fn whole(number: f64) -> Option<i64> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    (number > -BEYOND && number < BEYOND).then_some(number as i64)
}

fn uint<'v>(value: &Value<'v>) -> Found<'v> {
    let found = match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::Double(number) => whole(*number).and_then(|number| u64::try_from(number).ok()),
        Value::Text(text) => match text.parse() {
            Ok(number) => Some(number),
            Err(_) => return failed("type conversion error from 'string' to 'uint'"),
        },
        _ => return no_overload(),
    };
    found.map_or_else(|| failed("unsigned integer overflow"), |number| Ok(Value::UInt(number)))
}

#[expect(clippy::cast_precision_loss, reason = "what converting to a float means")]
fn double<'v>(value: &Value<'v>) -> Found<'v> {
    match value {
        Value::Int(number) => Ok(Value::Double(*number as f64)),
        Value::UInt(number) => Ok(Value::Double(*number as f64)),
        Value::Text(text) => match text.parse() {
            Ok(number) => Ok(Value::Double(number)),
            Err(_) => failed("type conversion error from 'string' to 'double'"),
        },
        _ => no_overload(),
    }
}

fn string<'v>(value: &Value<'v>) -> Found<'v> {
    match shown(value) {
        Some(text) => Ok(Value::text(text)),
        None => match value {
            Value::Bytes(_) => failed("invalid UTF-8 in bytes, cannot convert to string"),
            _ => no_overload(),
        },
    }
}

/// A scalar as `string()` gives it.
pub(super) fn shown(value: &Value<'_>) -> Option<String> {
    Some(match value {
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(number) => gotext::float(*number),
        Value::Text(text) => text.clone().into_owned(),
        Value::Bytes(bytes) => String::from_utf8(bytes.to_vec()).ok()?,
        Value::Time(time) => time.to_string(),
        Value::Span(span) => times::shown(*span),
        Value::Url(url) => url.text().to_owned(),
        Value::Ip(ip) => ip.to_string(),
        Value::Cidr(ip, bits) => format!("{ip}/{bits}"),
        _ => return None,
    })
}
