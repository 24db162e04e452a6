//! A collector of differences, one line each.

use serde_json::Value;

use crate::upstream;

/// The differences of one CRD.
pub(crate) struct Differences {
    /// `Kind.version`.
    pub(crate) subject: String,
    /// `Kind.version path: what`.
    pub(crate) lines: Vec<String>,
    /// Properties looked at.
    pub(crate) properties: usize,
}

impl Differences {
    pub(crate) fn new(theirs: &Value) -> Self {
        let kind = theirs["spec"]["names"]["kind"].as_str().unwrap();
        let version = upstream::version(theirs)["name"].as_str().unwrap();
        Self { subject: format!("{kind}.{version}"), lines: Vec::new(), properties: 0 }
    }

    pub(crate) fn add(&mut self, path: &str, what: impl AsRef<str>) {
        let path = if path.is_empty() { "." } else { path };
        self.lines.push(format!("{} {path}: {}", self.subject, what.as_ref()));
    }

    /// One value against another; absent, null and empty are the same.
    pub(crate) fn value(&mut self, path: &str, name: &str, ours: &Value, theirs: &Value) {
        let (ours, theirs) = (present(ours), present(theirs));
        let number = |value: Option<&Value>| value.and_then(Value::as_f64);
        if ours != theirs && (number(ours).is_none() || number(ours) != number(theirs)) {
            let text = |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
            self.add(path, format!("{name} is {}, upstream {}", text(ours), text(theirs)));
        }
    }
}

fn present(value: &Value) -> Option<&Value> {
    let empty = match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    (!empty).then_some(value)
}
