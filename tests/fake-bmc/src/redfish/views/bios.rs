//! Firmware attributes: those in force, and those of the next start.

use serde_json::Value;

use super::super::json::merge;
use super::super::service::Service;

impl Service {
    pub(super) fn show_bios(&self, path: &str, body: &mut Value) {
        let owner = self.tree.facts.settings.get(path);
        if owner.is_none() && !self.behaviour().bios_shows_pending {
            return;
        }
        if let Some(pending) = self.stage().pending(owner.map_or(path, String::as_str)) {
            merge(body, pending);
        }
    }

    /// Makes true what a start has made true since it was written.
    pub(super) fn settle(&self, path: &str) {
        let Some(host) = self.host_of(path) else { return };
        let boots = host.boots();
        let owner = self.tree.facts.settings.get(path).map_or(path, String::as_str);
        let due: Option<Value> = self.stage().settle(owner, boots);
        if let Some(patch) = due {
            self.overlay().patch(owner, &patch);
        }
    }
}
