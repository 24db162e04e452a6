//! Live views: what a body shows beyond seed and overlay, from the state that all protocols share.

mod bios;
mod identity;
pub(super) mod logs;
mod media;
mod system;

use serde_json::Value;

use super::json::{kind, objects, reference, set, set_members};
use super::service::Service;

/// The types of bodies that are made here and need not be in the seed.
pub(super) const MADE_TYPES: [&str; 8] = [
    "#Session.v1_7_2.Session",
    "#ManagerAccount.v1_12_1.ManagerAccount",
    "#Task.v1_7_3.Task",
    "#EventDestination.v1_15_0.EventDestination",
    "#LogEntry.v1_18_0.LogEntry",
    "#Event.v1_9_0.Event",
    "#Message.v1_2_1.Message",
    "#Settings.v1_3_5.Settings",
];

impl Service {
    /// A resource as it stands now; no ETag yet.
    pub(super) fn read(&self, path: &str) -> Option<Value> {
        let facts = &self.tree.facts;
        let mut body = self.made(path).or_else(|| self.seeded(path))?;
        if path == facts.sessions {
            set_members(&mut body, &self.session_paths());
        } else if facts.accounts.as_deref() == Some(path) {
            set_members(&mut body, &self.account_paths());
        } else if path == facts.tasks {
            self.append_members(&mut body, references(self.task_paths()));
        } else if facts.subscriptions.as_deref() == Some(path) {
            self.append_members(&mut body, references(self.subscription_paths()));
        } else if facts.log_entries.as_deref() == Some(path) {
            // entries stand in their collection whole
            let entries = self.log_paths(path).iter().filter_map(|path| self.log_entry(path)).collect();
            self.append_members(&mut body, entries);
        }
        self.rewrite_identity(&mut body);
        if self.behaviour().trailing_slashes {
            add_slashes(&mut body);
        }
        Some(body)
    }

    /// What exists only here.
    fn made(&self, path: &str) -> Option<Value> {
        let facts = &self.tree.facts;
        let below = |collection: &str| path.strip_prefix(collection).is_some_and(|rest| rest.starts_with('/'));
        if below(&facts.sessions) {
            return self.session(path);
        }
        if facts.accounts.as_deref().is_some_and(below)
            && let Some(account) = self.account(path)
        {
            return Some(account);
        }
        if path == facts.sessions && self.tree.get(path).is_none() {
            return Some(serde_json::json!({
                "@odata.id": path,
                "@odata.type": "#SessionCollection.SessionCollection",
                "Name": "Sessions",
            }));
        }
        self.task(path).or_else(|| self.subscription(path)).or_else(|| self.log_entry(path))
    }

    fn seeded(&self, path: &str) -> Option<Value> {
        self.settle(path);
        let mut body = self.overlay().read(&self.tree, path)?;
        let owner = self.tree.facts.settings.get(path);
        let of = match owner.and_then(|owner| self.tree.get(owner)) {
            Some(owner) => kind(owner),
            None => kind(&body),
        }
        .to_owned();
        match of.as_str() {
            "ComputerSystem" => self.show_system(path, &mut body),
            "Chassis" => self.show_chassis(&mut body),
            "VirtualMedia" => self.show_media(path, &mut body),
            "Bios" => self.show_bios(path, &mut body),
            _ => {}
        }
        Some(body)
    }

    /// Adds members to those that the seed lists, which may be whole bodies.
    fn append_members(&self, body: &mut Value, more: Vec<Value>) {
        let listed = body.get_mut("Members").and_then(Value::as_array_mut).map(std::mem::take);
        let mut members = listed.unwrap_or_default();
        members.extend(more);
        set(body, "Members@odata.count", members.len());
        set(body, "Members", members);
    }
}

fn references(paths: Vec<String>) -> Vec<Value> {
    paths.iter().map(|path| reference(path)).collect()
}

fn add_slashes(body: &mut Value) {
    objects(body, &mut |object| {
        if let Some(Value::String(path)) = object.get_mut("@odata.id")
            && !path.ends_with('/')
            && !path.contains('#')
        {
            path.push('/');
        }
    });
}
