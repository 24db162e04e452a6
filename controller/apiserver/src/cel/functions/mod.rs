//! The functions: each file is a library. A call was type-checked before; what is left to decide here is which overload
//! the values at hand want, and what fails only for some values.

mod convert;
pub(super) mod lists;
mod named;
mod net;
mod operators;
pub(super) mod semver;
mod strings;
pub(super) mod times;
pub(super) mod urls;

use super::eval::{Found, failed, no_overload};
use super::quantity::Quantity;
use super::value::Value;

type Args<'a, 'v> = &'a [Value<'v>];

/// Calls a function or an operator.
pub(super) fn function<'v>(name: &str, args: Args<'_, 'v>) -> Found<'v> {
    if name.starts_with(['_', '-', '!', '@']) {
        return operators::call(name, args);
    }
    match (name, args) {
        ("size", [of]) => size(of),
        ("matches", [Value::Text(text), Value::Text(pattern)]) => strings::matches(text, pattern),
        ("strings.quote", [Value::Text(text)]) => Ok(Value::text(strings::quote(text))),
        ("lists.range" | "sets.contains" | "sets.equivalent" | "sets.intersects", args) => lists::function(name, args),
        ("optional.of", [value]) => Ok(Value::some(value.clone())),
        ("optional.none", []) => Ok(Value::Optional(None)),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(if is_zero(value) { Value::Optional(None) } else { Value::some(value.clone()) })
        }
        ("url", [Value::Text(text)]) => match urls::Url::parse(text) {
            Some(url) => Ok(Value::Url(url.into())),
            None => failed(format!(
                "URL parse error during conversion from string: parse \"{text}\": invalid URI for request"
            )),
        },
        ("isURL", [Value::Text(text)]) => Ok(Value::Bool(urls::Url::parse(text).is_some())),
        ("ip" | "isIP" | "ip.isCanonical" | "cidr" | "isCIDR", [Value::Text(text)]) => net::function(name, text),
        ("quantity", [Value::Text(text)]) => match Quantity::parse(text) {
            Some(quantity) => Ok(Value::Quantity(quantity)),
            None => {
                failed("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
            }
        },
        ("isQuantity", [Value::Text(text)]) => Ok(Value::Bool(Quantity::parse(text).is_some())),
        ("semver" | "isSemver", [Value::Text(text), rest @ ..]) => {
            let loose = matches!(rest, [Value::Bool(true)]);
            match (semver::Version::parse(text, loose), name) {
                (found, "isSemver") => Ok(Value::Bool(found.is_some())),
                (Some(version), _) => Ok(Value::Semver(version.into())),
                (None, _) => failed(format!("invalid semantic version: {text}")),
            }
        }
        (name, args) if name.starts_with("format.") => named::function(name, args),
        _ => convert::function(name, args),
    }
}

/// Calls a method; the first of `args` is what it is called on.
pub(super) fn method<'v>(name: &str, args: Args<'_, 'v>) -> Found<'v> {
    let Some((target, rest)) = args.split_first() else { return no_overload() };
    match (target, name) {
        (_, "size") if rest.is_empty() => size(target),
        (Value::Text(text), _) => strings::method(name, text, rest),
        (Value::List(_) | Value::JsonList(..), "join") => strings::join(target, rest),
        (Value::List(_) | Value::JsonList(..), _) => lists::method(name, target, rest),
        (Value::Time(_) | Value::Span(_), _) => times::method(name, target, rest),
        (Value::Optional(found), _) => optional(name, found.as_deref(), rest),
        (Value::Url(url), _) => url.method(name),
        (Value::Ip(_) | Value::Cidr(..), _) => net::method(name, target, rest),
        (Value::Quantity(quantity), _) => quantity.method(name, rest),
        (Value::Semver(version), _) => version.method(name, rest),
        (Value::Format(format), "validate") => named::validate(format, rest),
        _ => no_overload(),
    }
}

fn size<'v>(of: &Value<'v>) -> Found<'v> {
    of.len().map_or_else(no_overload, |len| Ok(int(len)))
}

fn optional<'v>(name: &str, found: Option<&Value<'v>>, rest: Args<'_, 'v>) -> Found<'v> {
    match (name, found, rest) {
        ("hasValue", found, []) => Ok(Value::Bool(found.is_some())),
        ("value", Some(value), []) | ("orValue", Some(value), [_]) => Ok(value.clone()),
        ("value", None, []) => failed("optional.none() dereference"),
        ("orValue", None, [other]) | ("or", None, [other]) => Ok(other.clone()),
        ("or", Some(value), [_]) => Ok(Value::some(value.clone())),
        _ => no_overload(),
    }
}

fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null | Value::Bool(false) | Value::Int(0) | Value::UInt(0) => true,
        Value::Double(number) => *number == 0.0,
        other => other.len() == Some(0),
    }
}

/// A count as CEL has it.
fn int<'v>(count: usize) -> Value<'v> {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}
