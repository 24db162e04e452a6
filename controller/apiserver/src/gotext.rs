//! Values in the words of the stock API server, which is written in Go: quoted strings, numbers and JSON as its
//! formatting prints them. Clients and tests compare these texts. It knows nothing of what the values mean.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// A string in double quotes (`%q`).
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(2));
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                // Writing to a string cannot fail.
                let _ = match code {
                    ..0x80 => write!(out, "\\x{code:02x}"),
                    0x80..0x1_0000 => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
    out
}

fn is_printable(c: char) -> bool {
    // Only the first character of a string is escaped for being a combining mark, which Go prints.
    matches!(c, '\'') || !format!("a{c}").escape_debug().any(|shown| shown == '\\')
}

/// A number as `%v` prints it.
pub(crate) fn number(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(float)) => self::float(float),
        (None, None) => number.to_string(),
    }
}

/// A float as `%v` prints it: shortest form, with an exponent from 1e21 on and below 1e-4.
pub(crate) fn float(value: f64) -> String {
    exponent_form(value, 1e-4, 2)
}

fn exponent_form(value: f64, smallest: f64, exponent_digits: usize) -> String {
    let size = value.abs();
    if size != 0.0 && !(smallest..1e21).contains(&size) && value.is_finite() {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
        return format!("{mantissa}e{sign}{digits:0>exponent_digits$}");
    }
    value.to_string()
}

/// A value as an error shows it: strings quoted, numbers and booleans plain, the rest as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) => self::number(number),
        other => json(other),
    }
}

/// JSON as Go marshals it, where `<`, `>` and `&` are escaped.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(value, &mut out);
    out
}

fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (None, Some(float)) => out.push_str(&exponent_form(float, 1e-6, 1)),
            _ => out.push_str(&self::number(number)),
        },
        Value::String(text) => write_json_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            out.push('{');
            for (at, name) in names.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_json_string(name, out);
                out.push(':');
                write_json(fields.get(name).unwrap_or(&Value::Null), out);
            }
            out.push('}');
        }
    }
}

fn write_json_string(text: &str, out: &mut String) {
    let plain = Value::from(text).to_string();
    for c in plain.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

/// The name of a value's type in Go (`%T`).
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as `%v` prints it.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}:{}", plain(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        other => other.to_string(),
    }
}

/// A value as `%#v` prints it.
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let mut text = String::new();
            for (name, value) in fields {
                let comma = if text.is_empty() { "" } else { ", " };
                // Writing to a text cannot fail.
                let _ = write!(text, "{comma}{name:?}:{}", syntax(value));
            }
            format!("map[string]interface {{}}{{{text}}}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_read_as_go_prints_them() {
        let cases = [
            (json!("a\"b\\c\n\u{1}é\u{301}\u{200b}"), "\"a\\\"b\\\\c\\n\\x01é\u{301}\\u200b\""),
            (json!("it's"), "\"it's\""),
            (json!(1), "1"),
            (json!(1.0), "1"),
            (json!(1.5), "1.5"),
            (json!(1e21), "1e+21"),
            (json!(1e20), "100000000000000000000"),
            (json!(0.00001), "1e-05"),
            (json!(true), "true"),
            (json!(null), "null"),
            (json!({"b": "<&>", "a": [1, 1.5, 1e-7]}), "{\"a\":[1,1.5,1e-7],\"b\":\"\\u003c\\u0026\\u003e\"}"),
        ];
        for (value, wanted) in cases {
            assert_eq!(shown(&value), wanted);
        }
    }
}
