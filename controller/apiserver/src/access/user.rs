//! Users: a name and groups. Everyone who proved something is in `system:authenticated`.

use std::sync::Arc;

use serde_json::{Value, json};

/// The group that may do everything, whatever roles say.
const MASTERS: &str = "system:masters";
/// The name of whoever did not say who they are.
pub(super) const ANONYMOUS: &str = "system:anonymous";
pub(super) const AUTHENTICATED: &str = "system:authenticated";
pub(super) const UNAUTHENTICATED: &str = "system:unauthenticated";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: Arc<str>,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    /// More about the user, as reviews show it.
    pub(crate) extra: Vec<(String, Vec<String>)>,
}

impl User {
    /// Someone who proved who they are.
    pub(crate) fn named(name: &str, groups: &[&str]) -> Self {
        let mut groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Self { name: name.into(), uid: String::new(), groups, extra: Vec::new() }
    }

    /// Someone of whom nothing is known.
    pub(crate) fn anonymous() -> Self {
        let groups = vec![UNAUTHENTICATED.to_owned()];
        Self { name: ANONYMOUS.into(), uid: String::new(), groups, extra: Vec::new() }
    }

    pub(crate) fn is_anonymous(&self) -> bool {
        &*self.name == ANONYMOUS
    }

    /// Whoever holds the server in its own process, or the administrator's token.
    pub(crate) fn administrator() -> Self {
        Self::named("bessemer-admin", &[MASTERS])
    }

    pub(crate) fn is_master(&self) -> bool {
        self.is_in(MASTERS)
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|found| found == group)
    }

    /// As reviews show it.
    pub(crate) fn to_value(&self) -> Value {
        let mut info = json!({"username": &*self.name, "groups": self.groups});
        if !self.uid.is_empty() {
            crate::object::set_field(&mut info, "uid", self.uid.as_str().into());
        }
        if !self.extra.is_empty() {
            let extra = self.extra.iter().map(|(key, values)| (key.clone(), Value::from(values.clone())));
            crate::object::set_field(&mut info, "extra", extra.collect());
        }
        info
    }
}
