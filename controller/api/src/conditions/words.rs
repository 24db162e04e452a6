//! One condition to be, and the words that conditions are made of.

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Reason: an expected condition is not there.
pub const NOT_YET_REPORTED: &str = "NotYetReported";
/// Reason: a condition of a foreign object has a status that none can have.
pub const INVALID_CONDITION_REPORTED: &str = "InvalidConditionReported";
/// Reason: a condition of a foreign object has none.
pub const NO_REASON_REPORTED: &str = "NoReasonReported";

/// The wanted content of one condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// `Ready`, …
    pub type_: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: Status,
    /// CamelCase, for programs.
    pub reason: String,
    /// For people; may be empty.
    pub message: String,
    /// Since when, if that is known better than by looking now.
    pub since: Option<Time>,
}

/// The three statuses.
#[api]
pub enum Status {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody can tell.
    Unknown,
}

impl Status {
    /// Reads the API's word; anything unheard-of is `Unknown`.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self::from_word(text).unwrap_or(Self::Unknown)
    }
}

impl From<bool> for Status {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// Shorthand for a [`Wanted`].
pub fn wanted(
    type_: &'static str,
    status: impl Into<Status>,
    reason: impl Into<String>,
    message: impl Into<String>,
) -> Wanted {
    Wanted { type_, status: status.into(), reason: reason.into(), message: message.into(), since: None }
}
