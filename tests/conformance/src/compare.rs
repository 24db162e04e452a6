//! What differs between two runs of the corpus, place by place.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::accepted::Judgement;
use crate::outcome::{Body, Outcome};

/// Longest text shown of a value.
const SHOWN: usize = 600;

/// One place in one answer that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The request's id.
    pub id: String,
    /// `status`, `header NAME` or `body/POINTER`.
    pub at: String,
    /// What the first server said; empty when it said nothing.
    pub wanted: String,
    /// What the second one said.
    pub found: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.at)?;
        writeln!(f, "    - {}", shown(&self.wanted))?;
        write!(f, "    + {}", shown(&self.found))
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}… ({} bytes)", text.get(..cut).unwrap_or_default(), text.len()),
        None => text.to_owned(),
    }
}

/// The unlisted differences grouped by request, the entries that vanished, and the sums.
#[must_use]
pub fn report(wanted: &[Outcome], judgement: &Judgement<'_>) -> String {
    let mut text = String::new();
    let mut last = "";
    for difference in &judgement.unlisted {
        if difference.id != last {
            last = &difference.id;
            let request =
                wanted.iter().find(|outcome| outcome.id == last).map_or("", |outcome| outcome.request.as_str());
            text += &format!("{last}: {request}\n");
        }
        text += &format!("{difference}\n");
    }
    for entry in &judgement.vanished {
        text += &format!("accepted but no longer there: {} {} ({})\n", entry.id, entry.at, entry.reason);
    }
    let unlisted: BTreeSet<&str> = judgement.unlisted.iter().map(|difference| difference.id.as_str()).collect();
    let listed = judgement.listed.iter().map(|(difference, _)| difference.id.as_str());
    let listed: BTreeSet<&str> = listed.filter(|id| !unlisted.contains(id)).collect();
    let equal = wanted.len().saturating_sub(unlisted.len() + listed.len());
    text + &format!(
        "{} requests: {equal} equal, {} with listed differences, {} with unlisted ones; {} entries vanished\n",
        wanted.len(),
        listed.len(),
        unlisted.len(),
        judgement.vanished.len(),
    )
}

/// Everything that differs, in the order of the first run.
#[must_use]
pub fn compare(wanted: &[Outcome], found: &[Outcome]) -> Vec<Difference> {
    let by_id: BTreeMap<&str, &Outcome> = found.iter().map(|outcome| (outcome.id.as_str(), outcome)).collect();
    let known: BTreeSet<&str> = wanted.iter().map(|outcome| outcome.id.as_str()).collect();
    let mut differences = Vec::new();
    for one in wanted {
        match by_id.get(one.id.as_str()) {
            Some(other) => outcome(one, other, &mut differences),
            None => differences.push(difference(&one.id, "request", "was made", "")),
        }
    }
    let extra = found.iter().filter(|outcome| !known.contains(outcome.id.as_str()));
    differences.extend(extra.map(|outcome| difference(&outcome.id, "request", "", "was made")));
    differences
}

fn difference(id: &str, at: &str, wanted: impl Into<String>, found: impl Into<String>) -> Difference {
    Difference { id: id.to_owned(), at: at.to_owned(), wanted: wanted.into(), found: found.into() }
}

fn outcome(wanted: &Outcome, found: &Outcome, differences: &mut Vec<Difference>) {
    let id = &wanted.id;
    // Two answers that did not come are not equal.
    if let (Some(one), Some(other)) = (wanted.failure(), found.failure()) {
        differences.push(difference(id, "failure", one, other));
        return;
    }
    if wanted.status != found.status {
        differences.push(difference(id, "status", wanted.status.to_string(), found.status.to_string()));
    }
    let names: BTreeSet<&String> = wanted.headers.keys().chain(found.headers.keys()).collect();
    for name in names {
        let of = |outcome: &Outcome| outcome.headers.get(name).map(|values| values.join(" | ")).unwrap_or_default();
        if of(wanted) != of(found) {
            differences.push(difference(id, &format!("header {name}"), of(wanted), of(found)));
        }
    }
    match (&wanted.body, &found.body) {
        (Body::Json(wanted), Body::Json(found)) => values(id, "body", wanted, found, differences),
        (Body::Events(wanted), Body::Events(found)) => lists(id, "body", wanted, found, differences),
        (wanted, found) if wanted != found => differences.push(difference(id, "body", text(wanted), text(found))),
        _ => {}
    }
}

fn text(body: &Body) -> String {
    match body {
        Body::Empty => String::new(),
        Body::Json(value) => value.to_string(),
        Body::Events(events) => format!("{} events: {}", events.len(), Value::from(events.clone())),
        Body::Text(text) => text.clone(),
        Body::Failed(why) => format!("failed: {why}"),
    }
}

fn values(id: &str, at: &str, wanted: &Value, found: &Value, differences: &mut Vec<Difference>) {
    match (wanted, found) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                match (one.get(key), other.get(key)) {
                    (Some(one), Some(other)) => values(id, &at, one, other, differences),
                    (one, other) => {
                        let text = |value: Option<&Value>| value.map(Value::to_string).unwrap_or_default();
                        differences.push(difference(id, &at, text(one), text(other)));
                    }
                }
            }
        }
        (Value::Array(one), Value::Array(other)) => lists(id, at, one, other, differences),
        (one, other) if one != other => differences.push(difference(id, at, one.to_string(), other.to_string())),
        _ => {}
    }
}

fn lists(id: &str, at: &str, wanted: &[Value], found: &[Value], differences: &mut Vec<Difference>) {
    for (index, (one, other)) in wanted.iter().zip(found).enumerate() {
        values(id, &format!("{at}/{index}"), one, other, differences);
    }
    let common = wanted.len().min(found.len());
    let rest = |items: &[Value]| items.iter().skip(common).map(Value::to_string).collect::<Vec<_>>().join(", ");
    if wanted.len() != found.len() {
        differences.push(difference(id, &format!("{at}/{common}.."), rest(wanted), rest(found)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, body: Value) -> Vec<Outcome> {
        let headers = BTreeMap::from([("warning".to_owned(), vec![format!("299 - {status}")])]);
        vec![Outcome { id: "c/1".into(), request: "GET /".into(), status, headers, body: Body::Json(body) }]
    }

    #[test]
    fn each_place_is_named() {
        let one = answer(200, json!({"a": {"b/c": 1}, "l": [1, 2, 3], "same": true}));
        let other = answer(201, json!({"a": {"b/c": 2}, "l": [1, 5], "same": true, "more": null}));
        assert!(compare(&one, &one).is_empty());
        let at: Vec<_> = compare(&one, &other).into_iter().map(|difference| difference.at).collect();
        assert_eq!(at, ["status", "header warning", "body/a/b~1c", "body/l/1", "body/l/2..", "body/more"]);
    }

    #[test]
    fn what_failed_alike_is_not_equal() {
        let failed = |body: Body, status| Outcome { body, status, ..answer(200, json!({})).remove(0) };
        let broken = failed(Body::Failed("connection reset".into()), 0);
        let cut = failed(Body::Events(vec![json!({"type": "HARNESS", "object": "the stream ended"})]), 200);
        for outcome in [broken, cut, failed(Body::Empty, 0)] {
            let both = std::slice::from_ref(&outcome);
            let at: Vec<_> = compare(both, both).into_iter().map(|found| found.at).collect();
            assert_eq!(at, ["failure"]);
        }
        assert!(compare(&answer(204, json!({})), &answer(204, json!({}))).is_empty());
    }

    #[test]
    fn a_request_that_only_one_run_made_differs() {
        let one = answer(200, json!({}));
        assert_eq!(compare(&one, &[]).len(), 1);
        assert_eq!(compare(&[], &one).len(), 1);
    }
}
