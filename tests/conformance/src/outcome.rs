//! What a server answered to one request of the corpus.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An answer, later a normalised one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// `case/step` and, where a step spreads, `.n`.
    pub id: String,
    /// Method and target, as written in the corpus.
    pub request: String,
    /// The status code; zero when there was no answer.
    pub status: u16,
    /// The headers that matter.
    pub headers: BTreeMap<String, Vec<String>>,
    /// The body.
    pub body: Body,
}

/// A body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// Nothing.
    Empty,
    /// One JSON value.
    Json(Value),
    /// The events of a watch.
    Events(Vec<Value>),
    /// Anything else.
    Text(String),
    /// Why there is none.
    Failed(String),
}

/// The type of an event that a reader of watches makes up to say what went wrong.
pub(crate) const HARNESS_EVENT: &str = "HARNESS";

impl Outcome {
    /// Why this is no answer to compare: none came, or not all of it.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        match &self.body {
            Body::Failed(why) => Some(why.clone()),
            Body::Events(events) => {
                let is_failure = |event: &&Value| event.get("type").and_then(Value::as_str) == Some(HARNESS_EVENT);
                events.iter().find(is_failure).map(Value::to_string)
            }
            _ if self.status == 0 => Some("no answer".to_owned()),
            _ => None,
        }
    }

    /// The body when it is JSON.
    #[must_use]
    pub fn json(&self) -> Option<&Value> {
        match &self.body {
            Body::Json(value) => Some(value),
            _ => None,
        }
    }
}
