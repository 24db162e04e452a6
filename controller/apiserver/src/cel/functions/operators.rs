//! Operators. Whole numbers that overflow are an error, as in Go's CEL.

use std::cmp::Ordering;

use super::super::eval::{Found, failed, no_overload};
use super::super::value::Value;
use super::Args;

pub(super) fn call<'v>(name: &str, args: Args<'_, 'v>) -> Found<'v> {
    match (name, args) {
        ("_==_", [a, b]) => Ok(Value::Bool(a.equals(b))),
        ("_!=_", [a, b]) => Ok(Value::Bool(!a.equals(b))),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => compare(name, a, b),
        ("@in", [item, list]) => contains(item, list),
        ("!_", [Value::Bool(flag)]) => Ok(Value::Bool(!flag)),
        ("-_", [Value::Int(number)]) => whole(number.checked_neg()),
        ("-_", [Value::Double(number)]) => Ok(Value::Double(-number)),
        ("_+_", [a, b]) => add(a, b),
        ("_-_", [a, b]) => subtract(a, b),
        ("_*_" | "_/_" | "_%_", [a, b]) => multiply(name, a, b),
        _ => no_overload(),
    }
}

fn whole<'v>(number: Option<i64>) -> Found<'v> {
    number.map_or_else(|| failed("integer overflow"), |number| Ok(Value::Int(number)))
}

fn unsigned<'v>(number: Option<u64>) -> Found<'v> {
    number.map_or_else(|| failed("unsigned integer overflow"), |number| Ok(Value::UInt(number)))
}

fn compare<'v>(name: &str, a: &Value<'v>, b: &Value<'v>) -> Found<'v> {
    if matches!((a, b), (Value::Quantity(_) | Value::Semver(_), _)) {
        return no_overload();
    }
    let Some(order) = a.compare(b) else {
        // Not a number is neither below nor above.
        let numbers = [a, b].iter().all(|v| matches!(v, Value::Int(_) | Value::UInt(_) | Value::Double(_)));
        return if numbers { Ok(Value::Bool(false)) } else { no_overload() };
    };
    Ok(Value::Bool(match name {
        "_<_" => order == Ordering::Less,
        "_<=_" => order != Ordering::Greater,
        "_>_" => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }))
}

fn contains<'v>(item: &Value<'v>, of: &Value<'v>) -> Found<'v> {
    match of {
        Value::List(_) | Value::JsonList(..) => {
            let count = of.len().unwrap_or_default();
            Ok(Value::Bool((0..count).any(|at| of.item(at).is_some_and(|found| found.equals(item)))))
        }
        Value::Map(_) | Value::JsonMap(..) | Value::JsonObject(..) => {
            Ok(Value::Bool(item.key().is_some_and(|key| of.get(&key).is_some())))
        }
        _ => no_overload(),
    }
}

fn add<'v>(a: &Value<'v>, b: &Value<'v>) -> Found<'v> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => whole(a.checked_add(*b)),
        (Value::UInt(a), Value::UInt(b)) => unsigned(a.checked_add(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Value::Text(a), Value::Text(b)) => Ok(Value::text(format!("{a}{b}"))),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Value::Bytes([a.as_ref(), b.as_ref()].concat().into())),
        (Value::Time(time), Value::Span(span)) | (Value::Span(span), Value::Time(time)) => {
            time.checked_add(*span).map_or_else(|_| failed("timestamp overflow"), |time| Ok(Value::Time(time)))
        }
        (Value::Span(a), Value::Span(b)) => {
            a.checked_add(*b).map_or_else(|| failed("duration overflow"), |span| Ok(Value::Span(span)))
        }
        (a, b) => match (a.items(), b.items()) {
            (Some(mut a), Some(b)) => {
                a.extend(b);
                Ok(Value::list(a))
            }
            _ => no_overload(),
        },
    }
}

fn subtract<'v>(a: &Value<'v>, b: &Value<'v>) -> Found<'v> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => whole(a.checked_sub(*b)),
        (Value::UInt(a), Value::UInt(b)) => unsigned(a.checked_sub(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Time(a), Value::Time(b)) => Ok(Value::Span(a.duration_since(*b))),
        (Value::Time(time), Value::Span(span)) => {
            time.checked_sub(*span).map_or_else(|_| failed("timestamp overflow"), |time| Ok(Value::Time(time)))
        }
        (Value::Span(a), Value::Span(b)) => {
            a.checked_sub(*b).map_or_else(|| failed("duration overflow"), |span| Ok(Value::Span(span)))
        }
        _ => no_overload(),
    }
}

fn multiply<'v>(name: &str, a: &Value<'v>, b: &Value<'v>) -> Found<'v> {
    let by_zero = if name == "_/_" { "division by zero" } else { "modulus by zero" };
    match (name, a, b) {
        ("_*_", Value::Int(a), Value::Int(b)) => whole(a.checked_mul(*b)),
        ("_*_", Value::UInt(a), Value::UInt(b)) => unsigned(a.checked_mul(*b)),
        ("_*_", Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
        ("_/_", Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
        (_, Value::Int(_), Value::Int(0)) | (_, Value::UInt(_), Value::UInt(0)) => failed(by_zero),
        ("_/_", Value::Int(a), Value::Int(b)) => whole(a.checked_div(*b)),
        ("_/_", Value::UInt(a), Value::UInt(b)) => unsigned(a.checked_div(*b)),
        ("_%_", Value::Int(a), Value::Int(b)) => whole(a.checked_rem(*b)),
        ("_%_", Value::UInt(a), Value::UInt(b)) => unsigned(a.checked_rem(*b)),
        _ => no_overload(),
    }
}
