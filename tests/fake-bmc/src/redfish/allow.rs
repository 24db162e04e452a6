//! Which methods a resource takes.

use serde_json::Value;

use super::json::kind;
use super::service::Service;

/// Kinds that nobody may change.
const FIXED: [&str; 15] = [
    "ServiceRoot",
    "Processor",
    "Memory",
    "Role",
    "SoftwareInventory",
    "MessageRegistryFile",
    "MessageRegistry",
    "AttributeRegistry",
    "ActionInfo",
    "Session",
    "Task",
    "TaskService",
    "LogEntry",
    "Sensor",
    "ThermalMetrics",
];

impl Service {
    /// As `Allow` lists them.
    pub(super) fn allow(&self, path: &str, body: &Value) -> &'static str {
        let facts = &self.tree.facts;
        let grows = [Some(&facts.sessions), facts.accounts.as_ref(), facts.subscriptions.as_ref()];
        let is_one = |at: &str| grows.iter().flatten().any(|path| path.as_str() == at);
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let made = is_one(parent) || (parent == facts.tasks && self.tree.get(path).is_none());
        let fixed = FIXED.contains(&kind(body));
        if is_one(path) {
            "GET, HEAD, POST"
        } else if body.get("Members").is_some() {
            "GET, HEAD"
        } else if made {
            if fixed { "GET, HEAD, DELETE" } else { "GET, HEAD, PATCH, DELETE" }
        } else if fixed {
            "GET, HEAD"
        } else {
            "GET, HEAD, PATCH"
        }
    }
}
