//! The host's log as log entries, after those of the seed.

use std::time::SystemTime;

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::super::service::Service;

/// Ids of the host's entries begin so, since the seed's are numbers too.
const PREFIX: &str = "E";

impl Service {
    /// The paths of the host's entries.
    pub(super) fn log_paths(&self, collection: &str) -> Vec<String> {
        self.host.log().entries().map(|entry| format!("{collection}/{PREFIX}{}", entry.id)).collect()
    }

    /// One of the host's entries by its path.
    pub(super) fn log_entry(&self, path: &str) -> Option<Value> {
        let collection = self.tree.facts.log_entries.as_deref()?;
        let id: u32 = path.strip_prefix(collection)?.strip_prefix('/')?.strip_prefix(PREFIX)?.parse().ok()?;
        let entry = self.host.log().entries().find(|entry| entry.id == id)?.clone();
        Some(json!({
            "@odata.id": path,
            "@odata.type": "#LogEntry.v1_18_0.LogEntry",
            "Id": format!("{PREFIX}{id}"),
            "Name": format!("Entry {id}"),
            "EntryType": "Event",
            "Severity": entry.severity,
            "Created": timestamp(entry.at),
            "Message": entry.message,
            "MessageId": "Bessemer.1.0.LogEntry",
        }))
    }
}

/// As Redfish writes times, in UTC and whole seconds.
pub(in crate::redfish) fn timestamp(at: SystemTime) -> String {
    let at = OffsetDateTime::from(at);
    at.replace_nanosecond(0).unwrap_or(at).format(&Rfc3339).unwrap_or_default()
}
