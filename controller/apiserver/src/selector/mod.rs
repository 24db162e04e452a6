//! Label and field selectors: parsing, refusing what a resource does not support, and matching objects.

mod fields;
mod label_text;
mod labels;

pub(crate) use fields::one_name;
use serde_json::Value;

use crate::registry::Resource;
use crate::status::ApiError;

/// Both selectors of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: Vec<labels::Rule>,
    fields: Vec<fields::Rule>,
}

impl Selector {
    pub(crate) fn parse(resource: &Resource, labels: &str, fields: &str) -> Result<Self, ApiError> {
        let labels = labels::parse(labels).map_err(ApiError::bad_request)?;
        let fields = fields::parse(resource, fields).map_err(ApiError::bad_request)?;
        Ok(Self { labels, fields })
    }

    /// Whether every object matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        let number = |key: &str| label(key).and_then(|text| text.parse::<i64>().ok());
        let label_holds = |rule: &labels::Rule| match rule {
            labels::Rule::In(key, values) => label(key).is_some_and(|found| values.contains(found)),
            labels::Rule::NotIn(key, values) => !label(key).is_some_and(|found| values.contains(found)),
            labels::Rule::Exists(key) => label(key).is_some(),
            labels::Rule::Missing(key) => label(key).is_none(),
            labels::Rule::Above(key, bound) => number(key).is_some_and(|found| found > *bound),
            labels::Rule::Below(key, bound) => number(key).is_some_and(|found| found < *bound),
        };
        let field_holds = |rule: &fields::Rule| {
            let found = rule.path.iter().try_fold(object, |value, part| value.get(part));
            let equal = match found {
                Some(Value::String(text)) => *text == rule.value,
                None | Some(Value::Null) => rule.value.is_empty(),
                Some(other) => serde_json::to_string(other).is_ok_and(|text| text == rule.value),
            };
            equal == rule.equal
        };
        self.labels.iter().all(label_holds) && self.fields.iter().all(field_holds)
    }
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
            ("a>0,a<2", "", true),
            ("a>1", "", false),
            ("b>0", "", false),
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
