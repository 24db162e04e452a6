//! The part of kubectl's JSONPath that print columns use: fields (with `\.` escapes), indexes, `[*]`, and filters such
//! as `[?(@.type=="Ready")]`.

use serde_json::Value;
use thiserror::Error;

/// A path that this room cannot follow.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cannot read JSONPath {path:?} at byte {at}")]
pub(crate) struct BadPath {
    path: String,
    at: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    All,
    /// Elements whose field at the path equals (or differs from) the literal.
    Where {
        path: Vec<Step>,
        equal: bool,
        literal: Value,
    },
}

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

impl JsonPath {
    pub(crate) fn parse(text: &str) -> Result<Self, BadPath> {
        let inner = text.trim();
        let inner = inner.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(inner);
        let inner = inner.strip_prefix('$').unwrap_or(inner);
        match parse_steps(inner) {
            Ok(steps) if !steps.is_empty() => Ok(Self(steps)),
            Ok(_) => Err(BadPath { path: text.to_owned(), at: 0 }),
            Err(rest) => Err(BadPath { path: text.to_owned(), at: inner.len().saturating_sub(rest) }),
        }
    }

    /// All values the path leads to.
    pub(crate) fn find<'a>(&self, root: &'a Value) -> Vec<&'a Value> {
        follow(&self.0, root)
    }
}

fn follow<'a>(steps: &[Step], root: &'a Value) -> Vec<&'a Value> {
    steps.iter().fold(vec![root], |found, step| found.into_iter().flat_map(|value| one_step(step, value)).collect())
}

fn one_step<'a>(step: &Step, value: &'a Value) -> Vec<&'a Value> {
    match (step, value) {
        (Step::Field(name), Value::Object(fields)) => fields.get(name).into_iter().collect(),
        (Step::Index(at), Value::Array(items)) => {
            let at = if *at < 0 { i64::try_from(items.len()).unwrap_or(i64::MAX).saturating_add(*at) } else { *at };
            usize::try_from(at).ok().and_then(|at| items.get(at)).into_iter().collect()
        }
        (Step::All, Value::Array(items)) => items.iter().collect(),
        (Step::All, Value::Object(fields)) => fields.values().collect(),
        (Step::Where { path, equal, literal }, Value::Array(items)) => {
            let holds = |item: &&Value| follow(path, item).contains(&literal) == *equal;
            items.iter().filter(holds).collect()
        }
        _ => Vec::new(),
    }
}

/// On failure answers how many bytes were left.
fn parse_steps(mut rest: &str) -> Result<Vec<Step>, usize> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let failed = rest.len();
        if let Some(after) = rest.strip_prefix('.') {
            if after.is_empty() && steps.is_empty() {
                return Err(failed);
            }
            let (name, after) = parse_field(after);
            if name.is_empty() && !after.starts_with('[') {
                return Err(failed);
            }
            match name.as_str() {
                "" => {}
                "*" => steps.push(Step::All),
                _ => steps.push(Step::Field(name)),
            }
            rest = after;
        } else if let Some(after) = rest.strip_prefix('[') {
            let close = closing(after).ok_or(failed)?;
            let (inner, after) = after.split_at(close);
            steps.push(parse_bracket(inner.trim()).ok_or(failed)?);
            rest = after.strip_prefix(']').ok_or(failed)?;
        } else {
            return Err(failed);
        }
    }
    Ok(steps)
}

fn parse_field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.extend(chars.next().map(|(_, escaped)| escaped)),
            '.' | '[' => return (name, text.get(at..).unwrap_or_default()),
            _ => name.push(c),
        }
    }
    (name, "")
}

/// Where the bracket that was opened before `text` closes; brackets inside quotes do not count.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[') => depth = depth.saturating_add(1),
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn parse_bracket(inner: &str) -> Option<Step> {
    if inner == "*" {
        return Some(Step::All);
    }
    if let Some(filter) = inner.strip_prefix("?(").and_then(|f| f.strip_suffix(')')) {
        let (left, equal, right) = match (filter.split_once("=="), filter.split_once("!=")) {
            (Some((left, right)), _) => (left, true, right),
            (None, Some((left, right))) => (left, false, right),
            (None, None) => return None,
        };
        let path = parse_steps(left.trim().strip_prefix('@')?).ok()?;
        return Some(Step::Where { path, equal, literal: parse_literal(right.trim())? });
    }
    if let Some(name) = unquote(inner) {
        return Some(Step::Field(name.to_owned()));
    }
    inner.parse().ok().map(Step::Index)
}

fn unquote(text: &str) -> Option<&str> {
    let quoted = |q: char| text.strip_prefix(q).and_then(|t| t.strip_suffix(q));
    quoted('"').or_else(|| quoted('\''))
}

fn parse_literal(text: &str) -> Option<Value> {
    unquote(text).map(Value::from).or_else(|| serde_json::from_str(text).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn follows_the_paths_that_columns_use() {
        let object = json!({
            "metadata": {"labels": {"cluster.x-k8s.io/name": "c"}},
            "spec": {"online": true, "list": [{"n": 1}, {"n": 2}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
        });
        let cases = [
            (".spec.online", vec![json!(true)]),
            ("{.spec.online}", vec![json!(true)]),
            (".metadata.labels.cluster\\.x-k8s\\.io/name", vec![json!("c")]),
            (".metadata.labels['cluster.x-k8s.io/name']", vec![json!("c")]),
            (".status.conditions[?(@.type==\"Ready\")].status", vec![json!("True")]),
            (".status.conditions[?(@.type=='Nope')].status", vec![]),
            (".status.conditions[?(@.type!='Ready')].status", vec![json!("False")]),
            (".spec.list[*].n", vec![json!(1), json!(2)]),
            (".spec.list[-1].n", vec![json!(2)]),
            (".spec.list[9].n", vec![]),
            (".missing.x", vec![]),
        ];
        for (path, wanted) in cases {
            let found: Vec<Value> = JsonPath::parse(path).unwrap().find(&object).into_iter().cloned().collect();
            assert_eq!(found, wanted, "{path}");
        }
    }

    #[test]
    fn refuses_what_it_cannot_follow() {
        for path in ["", ".", "spec", ".a[", ".a[?(x)]", ".a..b"] {
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(path in "[.\\[\\]*?@='\"a1\\\\(){}$é-]{0,30}") {
            if let Ok(path) = JsonPath::parse(&path) {
                path.find(&json!({"a": [{"a": 1}]}));
            }
        }
    }
}
