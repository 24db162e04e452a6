//! Settings that read as wished right after they were written although they hold only after a reset: some services show
//! a wish as if it held. What was written is remembered until a reset of the server is seen. In memory only: whoever
//! starts anew believes what it reads.

use std::collections::BTreeSet;

use redfish_client::Resource;

use crate::PowerState;
use crate::redfish::power::power_of;

/// What is remembered of one server.
#[derive(Debug, Default)]
pub(in crate::redfish) struct Unproven {
    names: BTreeSet<String>,
    /// `LastResetTime` when they were written.
    last_reset: Option<String>,
    /// Off was seen since: on, after it, is a start.
    was_off: bool,
}

impl Unproven {
    /// `names` were written and read as wished at once, while the server is as `system` says.
    pub(super) fn note(&mut self, names: &[String], system: &Resource) {
        self.names.extend(names.iter().cloned());
        self.last_reset = last_reset(system);
        self.was_off = power_of(system) == Some(PowerState::Off);
    }

    /// Those of `names` of which no reset has been seen since.
    pub(super) fn among<'a>(&self, names: &'a [String]) -> Vec<&'a str> {
        names.iter().filter(|name| self.names.contains(*name)).map(String::as_str).collect()
    }

    /// The server is as `system` says: whether that shows a reset.
    pub(in crate::redfish) fn look(&mut self, system: &Resource) {
        if self.names.is_empty() {
            return;
        }
        let is_another = last_reset(system).is_some_and(|read| self.last_reset.as_ref() != Some(&read));
        match power_of(system) {
            _ if is_another => self.reset(),
            Some(PowerState::On) if self.was_off => self.reset(),
            Some(PowerState::Off) => self.was_off = true,
            _ => {}
        }
    }

    /// The server was reset.
    pub(in crate::redfish) fn reset(&mut self) {
        *self = Self::default();
    }
}

fn last_reset(system: &Resource) -> Option<String> {
    system.text("LastResetTime").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use redfish_client::Reference;
    use serde_json::{Value, json};

    use super::*;

    fn system(power: &str, last_reset: Value) -> Resource {
        Resource::new(Reference::root(), None, json!({"PowerState": power, "LastResetTime": last_reset}))
    }

    #[test]
    fn only_a_reset_proves_a_setting() {
        let names = ["Boost".to_owned(), "Other".to_owned()];
        let seen = |first: Resource, later: &[Resource]| {
            let mut unproven = Unproven::default();
            unproven.note(&names[..1], &first);
            assert_eq!(unproven.among(&names), ["Boost"]);
            later.iter().for_each(|system| unproven.look(system));
            unproven.among(&names).is_empty()
        };
        let at = |time: &str| json!(format!("2026-01-01T{time}Z"));
        let on = || system("On", Value::Null);
        let off = || system("Off", Value::Null);
        assert!(!seen(on(), &[on(), system("PoweringOn", Value::Null), off()]));
        assert!(seen(on(), &[off(), on()]));
        // Written while it was off: the next start applies it.
        assert!(!seen(off(), &[off()]));
        assert!(seen(off(), &[on()]));
        assert!(!seen(system("On", at("00:00:00")), &[system("On", at("00:00:00")), on()]));
        assert!(seen(system("On", at("00:00:00")), &[system("On", at("00:05:00"))]));
    }
}
