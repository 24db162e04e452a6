//! How well something is, in the three words that all BMCs share.

use std::fmt;

use serde::Serialize;

/// How well a part, a reading or an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Nothing the matter.
    Ok,
    /// It needs attention.
    Warning,
    /// It needs attention at once.
    Critical,
}

impl Health {
    /// A severity from any spelling of the three words that BMCs use.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "ok" | "informational" | "info" | "normal" => Some(Self::Ok),
            "warning" | "caution" => Some(Self::Warning),
            "critical" | "error" | "fatal" => Some(Self::Critical),
            _ => None,
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Critical => "critical",
        })
    }
}
