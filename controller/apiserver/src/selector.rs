//! Label and field selectors: parsing, refusing what a resource does not support, and matching objects.

use serde_json::Value;

use crate::registry::Resource;
use crate::status::ApiError;

/// Both selectors of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: Vec<LabelRule>,
    fields: Vec<FieldRule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum LabelRule {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Missing(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldRule {
    path: Vec<String>,
    value: String,
    equal: bool,
}

impl Selector {
    pub(crate) fn parse(resource: &Resource, labels: &str, fields: &str) -> Result<Self, ApiError> {
        let labels = split_rules(labels).map(parse_label_rule).collect::<Result<_, _>>()?;
        let fields = fields.split(',').filter(|rule| !rule.trim().is_empty());
        let fields = fields.map(|rule| parse_field_rule(resource, rule)).collect::<Result<_, _>>()?;
        Ok(Self { labels, fields })
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        let label_holds = |rule: &LabelRule| match rule {
            LabelRule::In(key, values) => label(key).is_some_and(|found| values.iter().any(|v| v == found)),
            LabelRule::NotIn(key, values) => !label(key).is_some_and(|found| values.iter().any(|v| v == found)),
            LabelRule::Exists(key) => label(key).is_some(),
            LabelRule::Missing(key) => label(key).is_none(),
        };
        let field_holds = |rule: &FieldRule| {
            let found = rule.path.iter().try_fold(object, |value, part| value.get(part));
            (found.and_then(Value::as_str).unwrap_or_default() == rule.value) == rule.equal
        };
        self.labels.iter().all(label_holds) && self.fields.iter().all(field_holds)
    }
}

/// Splits at commas outside parentheses.
fn split_rules(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let split = text.split(move |c| {
        match c {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth <= 0
    });
    split.map(str::trim).filter(|rule| !rule.is_empty())
}

fn parse_label_rule(rule: &str) -> Result<LabelRule, ApiError> {
    let bad = || ApiError::bad_request(format!("unable to parse requirement: {rule:?}"));
    let key = |text: &str| {
        let key = text.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
        if key.is_empty() || !key.chars().all(fits) { Err(bad()) } else { Ok(key.to_owned()) }
    };
    if let Some((left, right)) = rule.split_once("!=") {
        return Ok(LabelRule::NotIn(key(left)?, vec![right.trim().to_owned()]));
    }
    if let Some((left, right)) = rule.split_once('=') {
        let right = right.strip_prefix('=').unwrap_or(right);
        return Ok(LabelRule::In(key(left)?, vec![right.trim().to_owned()]));
    }
    if let Some(missing) = rule.strip_prefix('!') {
        return Ok(LabelRule::Missing(key(missing)?));
    }
    if let Some((left, list)) = rule.split_once('(') {
        let list = list.strip_suffix(')').ok_or_else(bad)?;
        let values = list.split(',').map(|value| value.trim().to_owned()).collect();
        let (name, operator) = left.trim().rsplit_once(char::is_whitespace).ok_or_else(bad)?;
        return match operator {
            "in" => Ok(LabelRule::In(key(name)?, values)),
            "notin" => Ok(LabelRule::NotIn(key(name)?, values)),
            _ => Err(bad()),
        };
    }
    Ok(LabelRule::Exists(key(rule)?))
}

fn parse_field_rule(resource: &Resource, rule: &str) -> Result<FieldRule, ApiError> {
    let (left, right, equal) = match (rule.split_once("!="), rule.split_once('=')) {
        (Some((left, right)), _) => (left, right, false),
        (None, Some((left, right))) => (left, right.strip_prefix('=').unwrap_or(right), true),
        (None, None) => return Err(ApiError::bad_request(format!("invalid selector: {rule:?}; can't understand it"))),
    };
    let field = left.trim();
    if !matches!(field, "metadata.name" | "metadata.namespace")
        && !resource.selectable.iter().any(|known| known == field)
    {
        return Err(ApiError::bad_request(format!("field label not supported: {field}")));
    }
    Ok(FieldRule { path: field.split('.').map(str::to_owned).collect(), value: right.trim().to_owned(), equal })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::registry::Flavour;

    fn events() -> Resource {
        crate::builtin::resources().into_iter().find(|r| r.flavour == Flavour::CoreEvent).unwrap()
    }

    #[test]
    fn matches_as_kubectl_expects() {
        let object = json!({"metadata": {"name": "n", "labels": {"a": "1", "b": ""}}, "involvedObject": {"name": "h"}});
        let cases = [
            ("", "", true),
            ("a=1", "", true),
            ("a==1,b=", "", true),
            ("a!=1", "", false),
            ("c!=1", "", true),
            ("a in (1, 2),b", "", true),
            ("a notin (1,2)", "", false),
            ("!a", "", false),
            ("!c", "", true),
            ("", "metadata.name=n", true),
            ("", "metadata.name!=n", false),
            ("", "involvedObject.name=h,metadata.name=n", true),
            ("", "involvedObject.uid=", true),
        ];
        for (labels, fields, wanted) in cases {
            let selector = Selector::parse(&events(), labels, fields).unwrap();
            assert_eq!(selector.matches(&object), wanted, "{labels} {fields}");
        }
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for (labels, fields) in
            [("a in 1", ""), ("a near (1)", ""), ("=x", ""), ("", "spec.x=1"), ("", "metadata.name")]
        {
            assert!(Selector::parse(&events(), labels, fields).is_err(), "{labels} {fields}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(labels in "[a()=!, in\u{e9}]{0,20}", fields in "[a.=!,\u{e9}]{0,20}") {
            let _ = Selector::parse(&events(), &labels, &fields);
        }
    }
}
