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

impl Outcome {
    /// The body when it is JSON.
    #[must_use]
    pub fn json(&self) -> Option<&Value> {
        match &self.body {
            Body::Json(value) => Some(value),
            _ => None,
        }
    }
}
