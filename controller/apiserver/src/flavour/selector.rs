//! Label selectors inside objects (`matchLabels`, `matchExpressions`), as several kinds have them.

use serde_json::Value;

use crate::names::{key_problems, value_problems};
use crate::status::Cause;

/// Adds the faults of a selector.
pub(super) fn check(selector: &Value, path: &str, causes: &mut Vec<Cause>) {
    let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    for (key, value) in labels {
        let path = format!("{path}.matchLabels");
        causes.extend(key_problems(key).iter().map(|why| Cause::invalid(&path, &key.as_str().into(), why)));
        let problems = value_problems(value.as_str().unwrap_or_default());
        causes.extend(problems.iter().map(|why| Cause::invalid(&path, value, why)));
    }
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    for (at, expression) in expressions.enumerate() {
        check_expression(expression, &format!("{path}.matchExpressions[{at}]"), causes);
    }
}

fn check_expression(expression: &Value, path: &str, causes: &mut Vec<Cause>) {
    let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
    let values = expression.get("values").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let field = format!("{path}.values");
    match text("operator") {
        "In" | "NotIn" if values.is_empty() => {
            causes.push(Cause::required_as(&field, "must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            causes.push(Cause::forbidden(&field, detail));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let detail = "not a valid selector operator";
            causes.push(Cause::invalid(&format!("{path}.operator"), &other.into(), detail));
        }
    }
    let (key, place) = (text("key"), format!("{path}.key"));
    causes.extend(key_problems(key).iter().map(|why| Cause::invalid(&place, &key.into(), why)));
    for (at, value) in values.iter().enumerate() {
        let (problems, place) = (value_problems(value.as_str().unwrap_or_default()), format!("{field}[{at}]"));
        causes.extend(problems.iter().map(|why| Cause::invalid(&place, value, why)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The answers of a real server.
    #[test]
    fn operators_go_with_their_values() {
        let selector = json!({"matchLabels": {"a": "b"}, "matchExpressions": [
            {"key": "x", "operator": "In"}, {"key": "x", "operator": "Exists", "values": ["y"]},
            {"key": "x", "operator": "Odd"}, {"key": "x", "operator": "NotIn", "values": ["y"]},
        ]});
        let mut causes = Vec::new();
        check(&selector, "s", &mut causes);
        assert_eq!(
            causes.iter().map(Cause::line).collect::<Vec<_>>(),
            [
                "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
                "s.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                "s.matchExpressions[2].operator: Invalid value: \"Odd\": not a valid selector operator",
            ]
        );
    }
}
