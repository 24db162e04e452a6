//! Descriptions are in our own words: none says what one of upstream's says.

use std::collections::BTreeSet;

use serde_json::Value;

/// Words that there is one way to say, such as `Kind.`, may be the same.
const SHORT: usize = 25;

/// Every description of `crd`, of all its versions, without regard to case and white space.
pub(crate) fn all(crd: &Value) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    each(crd, &mut |_, text| _ = texts.insert(plain(text)));
    texts
}

/// Paths in `ours` whose description is in `theirs`, and how many were looked at.
pub(crate) fn borrowed(ours: &Value, theirs: &BTreeSet<String>) -> (Vec<String>, usize) {
    let kind = ours["spec"]["names"]["kind"].as_str().unwrap();
    let (mut found, mut seen) = (Vec::new(), 0);
    each(ours, &mut |path, text| {
        seen += 1;
        if text.chars().count() > SHORT && theirs.contains(&plain(text)) {
            found.push(format!("{kind}.{path}: description is upstream's: {text}"));
        }
    });
    (found, seen)
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn each(crd: &Value, visit: &mut impl FnMut(&str, &str)) {
    for version in crd["spec"]["versions"].as_array().unwrap() {
        let name = version["name"].as_str().unwrap();
        within(&version["schema"]["openAPIV3Schema"], name, visit);
    }
}

fn within(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &str)) {
    if let Some(text) = schema["description"].as_str() {
        visit(path, text);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        within(property, &format!("{path}.{name}"), visit);
    }
    for (inner, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = schema.get(inner) {
            within(inner, &format!("{path}{mark}"), visit);
        }
    }
}
