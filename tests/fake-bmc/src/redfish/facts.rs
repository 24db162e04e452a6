//! What a controller must know of its tree to act: found by following links and types, since every vendor has other
//! paths.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::ROOT;
use super::json::{clean, kind, link, members, text};
use crate::host::identity::Mac;

/// An action that a resource offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Action {
    /// The resource.
    pub(super) of: String,
    /// Without the `#`: `ComputerSystem.Reset`.
    pub(super) name: String,
}

/// A virtual media slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) path: String,
    pub(super) types: Vec<String>,
}

/// Which of a host's hardware addresses stands for one of the seed's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Address {
    Interface(usize),
    Controller,
    /// Made up from the host's number and this.
    Other(u16),
}

#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) sessions: String,
    pub(super) accounts: Option<String>,
    pub(super) tasks: String,
    pub(super) subscriptions: Option<String>,
    pub(super) firmware: Option<String>,
    /// Systems that can be reset, in the order of the collection.
    pub(super) systems: Vec<String>,
    /// By target.
    pub(super) actions: HashMap<String, Action>,
    /// Owner by settings resource.
    pub(super) settings: HashMap<String, String>,
    pub(super) slots: Vec<Slot>,
    /// Entries of the log in which the host's own events show.
    pub(super) log_entries: Option<String>,
    /// Of the systems, the first of [`Self::systems`] first.
    pub(super) uuids: Vec<String>,
    pub(super) controller_uuid: Option<String>,
    /// The same.
    pub(super) serials: Vec<String>,
    pub(super) addresses: HashMap<Mac, Address>,
}

impl Facts {
    pub(super) fn find(bodies: &BTreeMap<String, Value>) -> Self {
        let at = |path: &str| bodies.get(path).unwrap_or(&Value::Null);
        let root = at(ROOT);
        let service = |key: &str, usual: &str| link(root, key).unwrap_or_else(|| format!("{ROOT}/{usual}"));
        let below = |key: &str, inner: &str| {
            let service = service(key, key);
            bodies.contains_key(&service).then(|| link(at(&service), inner)).flatten()
        };
        let session_service = service("SessionService", "SessionService");
        let linked = root.get("Links").and_then(|links| link(links, "Sessions"));
        let tasks = service("Tasks", "TaskService");
        let can_reset = |path: &String| at(path).pointer("/Actions/#ComputerSystem.Reset/target").is_some();
        let systems: Vec<String> = members(at(&service("Systems", "Systems"))).into_iter().filter(can_reset).collect();
        let mut facts = Self {
            sessions: linked.unwrap_or_else(|| format!("{session_service}/Sessions")),
            accounts: below("AccountService", "Accounts"),
            tasks: link(at(&tasks), "Tasks").unwrap_or_else(|| format!("{tasks}/Tasks")),
            subscriptions: below("EventService", "Subscriptions"),
            firmware: below("UpdateService", "FirmwareInventory"),
            systems,
            ..Self::default()
        };
        for (path, body) in bodies {
            facts.note(path, body);
        }
        facts.log_entries = facts.find_log(bodies);
        facts.find_identity(bodies);
        facts
    }

    fn note(&mut self, path: &str, body: &Value) {
        if let Some(actions) = body.get("Actions").and_then(Value::as_object) {
            let oem = actions.get("Oem").and_then(Value::as_object).into_iter().flatten();
            for (name, action) in actions.iter().chain(oem) {
                if let Some(target) = text(action, "target") {
                    let name = name.trim_start_matches('#').to_owned();
                    self.actions.insert(clean(target), Action { of: path.to_owned(), name });
                }
            }
        }
        if let Some(settings) = body.get("@Redfish.Settings").and_then(|settings| link(settings, "SettingsObject")) {
            self.settings.insert(settings, path.to_owned());
        }
        if kind(body) == "VirtualMedia" {
            let types = body.get("MediaTypes").and_then(Value::as_array).into_iter().flatten();
            let types = types.filter_map(|of| of.as_str().map(str::to_owned)).collect();
            self.slots.push(Slot { path: path.to_owned(), types });
        }
    }

    /// The first log of the system, else the first of all.
    fn find_log(&self, bodies: &BTreeMap<String, Value>) -> Option<String> {
        let logs = || bodies.iter().filter(|(_, body)| kind(body) == "LogEntryCollection").map(|(path, _)| path);
        let system = self.systems.first();
        logs().find(|path| system.is_some_and(|system| path.starts_with(system))).or_else(|| logs().next()).cloned()
    }

    fn find_identity(&mut self, bodies: &BTreeMap<String, Value>) {
        let at = |path: &str| bodies.get(path).unwrap_or(&Value::Null);
        let system = self.systems.first().map_or(&Value::Null, |path| at(path));
        let owned = |body: &Value, key: &str| text(body, key).filter(|text| !text.is_empty()).map(str::to_owned);
        let others =
            bodies.iter().filter(|(path, body)| kind(body) == "ComputerSystem" && !self.systems.contains(path));
        let all = || self.systems.iter().map(|path| at(path)).chain(others.clone().map(|(_, body)| body));
        self.uuids = all().filter_map(|body| owned(body, "UUID")).collect();
        self.serials = all().filter_map(|body| owned(body, "SerialNumber")).collect();
        self.controller_uuid = owned(at(ROOT), "UUID").filter(|uuid| !self.uuids.contains(uuid));
        let interfaces = link(system, "EthernetInterfaces").map(|path| members(at(&path))).unwrap_or_default();
        let of_system = interfaces.iter().filter_map(|path| text(at(path), "MACAddress").and_then(Mac::parse));
        let mut number = 0;
        for mac in of_system {
            self.addresses.entry(mac).or_insert_with(|| {
                number += 1;
                Address::Interface(number - 1)
            });
        }
        let managers = link(at(ROOT), "Managers").unwrap_or_default();
        let controller = bodies.range(managers.clone()..).take_while(|(path, _)| path.starts_with(&managers));
        let mut own = controller.filter(|(_, body)| kind(body) == "EthernetInterface");
        let first = own.find_map(|(_, body)| text(body, "MACAddress").and_then(Mac::parse));
        if let Some(mac) = first {
            self.addresses.entry(mac).or_insert(Address::Controller);
        }
        let mut rest = 0;
        bodies.values().for_each(|body| self.note_addresses(body, &mut rest));
    }

    fn note_addresses(&mut self, value: &Value, rest: &mut u16) {
        match value {
            Value::String(text) if text.len() == 17 => {
                if let Some(mac) = Mac::parse(text).filter(|mac| *mac != Mac([0; 6])) {
                    self.addresses.entry(mac).or_insert_with(|| {
                        *rest = rest.wrapping_add(1);
                        Address::Other(*rest)
                    });
                }
            }
            Value::Array(array) => array.iter().for_each(|value| self.note_addresses(value, rest)),
            Value::Object(object) => object.values().for_each(|value| self.note_addresses(value, rest)),
            _ => {}
        }
    }
}
