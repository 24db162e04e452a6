//! One step of a field's path: a field's name, a list element by its keys or its value, or an index. Knows how steps are
//! ordered, written in `managedFields` and shown in conflicts; nothing of sets or schemas.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Value};
use thiserror::Error;

/// A step of a path. Sorted as upstream sorts: names, keys, values, indexes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathElement {
    /// A field of an object.
    Field(String),
    /// The element of a list map with these key fields, sorted by name.
    Key(Vec<(String, Scalar)>),
    /// The element of a set.
    Value(Scalar),
    /// An element of an atomic list, by place.
    Index(i64),
}

/// A path element that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum PathError {
    /// The type of a step is of a later version: the step is left out.
    #[error("unknown path element type")]
    Unknown,
    /// The step is broken.
    #[error("{0}")]
    Bad(String),
}

/// A JSON value with a total order: numbers, texts, booleans, lists, maps, null. Numbers compare by value.
#[derive(Debug, Clone)]
pub(crate) struct Scalar(pub(crate) Value);

impl PathElement {
    pub(crate) fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// Reads the form used as a key in FieldsV1.
    pub(crate) fn parse(text: &str) -> Result<Self, PathError> {
        let Some((kind, rest)) = text.split_once(':').filter(|(kind, _)| kind.len() == 1) else {
            return Err(PathError::Bad(format!("missing colon: {text}")));
        };
        let json = || serde_json::from_str::<Value>(rest).map_err(|error| PathError::Bad(error.to_string()));
        match kind {
            "f" => Ok(Self::field(rest)),
            "v" => Ok(Self::Value(Scalar(json()?))),
            "k" => match json()? {
                Value::Object(keys) => Ok(Self::key(keys)),
                _ => Err(PathError::Bad(format!("not an object: {rest}"))),
            },
            "i" => rest.parse().map(Self::Index).map_err(|_| PathError::Bad(format!("not an index: {rest}"))),
            _ => Err(PathError::Unknown),
        }
    }

    pub(crate) fn key(keys: Map<String, Value>) -> Self {
        let mut keys: Vec<_> = keys.into_iter().map(|(name, value)| (name, Scalar(value))).collect();
        keys.sort();
        Self::Key(keys)
    }

    /// The form used as a key in FieldsV1.
    pub(crate) fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => {
                let keys: Map<String, Value> =
                    keys.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect();
                format!("k:{}", Value::Object(keys))
            }
            Self::Value(value) => format!("v:{}", value.0),
            Self::Index(at) => format!("i:{at}"),
        }
    }
}

/// The form shown in conflicts.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                let keys: Vec<String> = keys.iter().map(|(name, value)| format!("{name}={}", value.0)).collect();
                write!(f, "[{}]", keys.join(","))
            }
            Self::Value(value) => write!(f, "[={}]", value.0),
            Self::Index(at) => write!(f, "[{at}]"),
        }
    }
}

/// A whole path as conflicts show it.
pub(crate) fn shown(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scalar {}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

/// Whether two values are the same to a merge: `1` and `1.0` are.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    compare(left, right) == Ordering::Equal
}

fn compare(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => left.as_f64().unwrap_or(f64::MAX).total_cmp(&right.as_f64().unwrap_or(f64::MAX)),
        },
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let pairs = left.iter().zip(right).map(|(left, right)| compare(left, right));
            pairs.fold(Ordering::Equal, Ordering::then).then(left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => {
            let pairs = left.iter().zip(right).map(|((left_name, left), (right_name, right))| {
                left_name.cmp(right_name).then_with(|| compare(left, right))
            });
            pairs.fold(Ordering::Equal, Ordering::then).then(left.len().cmp(&right.len()))
        }
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_and_writes_each_kind() {
        let cases = [
            ("f:spec", ".spec"),
            ("f:a.b/c", ".a.b/c"),
            ("f:", "."),
            ("k:{\"a\":1,\"b\":\"x\"}", "[a=1,b=\"x\"]"),
            ("v:\"x\"", "[=\"x\"]"),
            ("v:1.5", "[=1.5]"),
            ("i:3", "[3]"),
        ];
        for (encoded, wanted) in cases {
            let element = PathElement::parse(encoded).unwrap();
            assert_eq!(element.encode(), encoded);
            assert_eq!(element.to_string(), wanted);
        }
        assert_eq!(PathElement::parse("z:x"), Err(PathError::Unknown));
        for bad in ["", "f", "spec", "k:[]", "v:{", "i:x", "ff:x"] {
            assert!(matches!(PathElement::parse(bad), Err(PathError::Bad(_))), "{bad}");
        }
    }

    #[test]
    fn numbers_are_the_same_by_value_and_kinds_have_an_order() {
        assert!(same(&json!({"a": [1]}), &json!({"a": [1.0]})));
        assert!(!same(&json!(null), &json!({})));
        let sorted = [json!(1), json!(1.5), json!("a"), json!(true), json!([1]), json!([1, 2]), json!({}), json!(null)];
        for pair in sorted.windows(2) {
            assert_eq!(compare(&pair[0], &pair[1]), Ordering::Less, "{pair:?}");
        }
    }
}
