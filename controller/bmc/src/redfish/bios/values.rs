//! Values of settings between JSON and ours.

use serde_json::Value;

use crate::BiosValue;

/// A value as a BMC gives it; none for null and for what no setting can be.
pub(super) fn read(value: &Value) -> Option<BiosValue> {
    match value {
        Value::Bool(value) => Some(BiosValue::Boolean(*value)),
        Value::String(text) => Some(BiosValue::Text(text.clone())),
        Value::Number(number) => Some(match (number.as_i64(), number.as_f64()) {
            (Some(value), _) => BiosValue::Integer(value),
            // Whole numbers that a BMC writes with a fraction.
            (None, Some(value)) if value.fract() == 0.0 && value.abs() < 9e15 =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "whole, and within 53 bits")]
                BiosValue::Integer(value as i64)
            }
            _ => BiosValue::Text(number.to_string()),
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A value as it is written.
pub(super) fn write(value: &BiosValue) -> Value {
    match value {
        BiosValue::Boolean(value) => (*value).into(),
        BiosValue::Integer(value) => (*value).into(),
        BiosValue::Text(value) => value.as_str().into(),
    }
}

/// What a value is, for people.
pub(super) fn kind(value: &BiosValue) -> &'static str {
    match value {
        BiosValue::Boolean(_) => "true or false",
        BiosValue::Integer(_) => "a number",
        BiosValue::Text(_) => "a text",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_all_kinds() {
        let cases = [
            (json!(true), Some(BiosValue::Boolean(true))),
            (json!(-3), Some(BiosValue::Integer(-3))),
            (json!(5_000_000_000_i64), Some(BiosValue::Integer(5_000_000_000))),
            (json!(2.0), Some(BiosValue::Integer(2))),
            (json!(2.5), Some(BiosValue::Text("2.5".to_owned()))),
            (json!(u64::MAX), Some(BiosValue::Text(u64::MAX.to_string()))),
            (json!(""), Some(BiosValue::Text(String::new()))),
            (json!(null), None),
            (json!([1]), None),
        ];
        for (json, wanted) in cases {
            assert_eq!(read(&json), wanted, "{json}");
        }
        assert_eq!(write(&BiosValue::Integer(7)), json!(7));
    }
}
