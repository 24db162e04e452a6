//! The answers of one model, read once and shared by all hosts of it. Never changed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::facts::Facts;

/// The bodies by path, and where the parts are that a controller acts on.
#[derive(Debug)]
pub struct Tree {
    bodies: BTreeMap<String, Value>,
    pub(super) facts: Facts,
}

impl Tree {
    /// Of bodies by path, without trailing slashes. The service root must be among them.
    #[must_use]
    pub fn new(bodies: BTreeMap<String, Value>) -> Self {
        let facts = Facts::find(&bodies);
        Self { bodies, facts }
    }

    /// A body.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Value> {
        self.bodies.get(path)
    }

    /// All paths, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.bodies.keys().map(String::as_str)
    }

    pub(super) fn bodies(&self) -> &BTreeMap<String, Value> {
        &self.bodies
    }

    /// The path of the system whose power the host is: the first that can be reset.
    #[must_use]
    pub fn system(&self) -> Option<&str> {
        self.facts.systems.first().map(String::as_str)
    }

    /// The paths of all systems that can be reset.
    #[must_use]
    pub fn systems(&self) -> &[String] {
        &self.facts.systems
    }
}
