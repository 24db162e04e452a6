//! What a BMC has written down.

use serde::Serialize;

use crate::Health;

/// One entry of a BMC's logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// The log it stands in, as `SEL`, `Lclog`, `IML`.
    pub log: String,
    /// What the BMC calls it within the log.
    pub id: String,
    /// When, as the BMC writes it: its clock may be wrong, and what it writes need not be a date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// How bad it is; none when the BMC does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Health>,
    /// What happened.
    pub message: String,
    /// The registry's name of the message, as `PSU0001`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
}
