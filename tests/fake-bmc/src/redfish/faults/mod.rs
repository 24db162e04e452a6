//! Faults and lies, switched on for requests that match, at any time, for any number of times. This room decides which
//! apply; `dispatch` and `server` carry them out.

mod parse;

use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

use super::json::objects;
use crate::host::locked;

/// What goes wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// The answer comes so much later.
    Delay(Duration),
    /// Nothing is done, and that status comes back, with that `Retry-After`.
    Status(u16, Option<Duration>),
    /// Nothing is done, and that status sends the client to that location.
    Redirect(u16, String),
    /// Nothing is done, and an HTML page comes back with that status.
    Html(u16),
    /// Nothing is done, and nothing comes back as long as the client waits.
    Hang,
    /// Nothing is done, and the connection ends.
    Disconnect,
    /// Nothing is there: 404.
    NotFound,
    /// All sessions end before the request is looked at.
    DropSessions,
    /// It is done, and the connection ends without an answer.
    LoseAnswer,
    /// It is done, and bytes come back that are no JSON, as JSON.
    Garbage,
    /// It is done, and the body ends in the middle with the connection.
    Truncate,
    /// It is done, and the body has so many bytes more.
    Huge(u64),
    /// It is done, and the body is empty.
    EmptyBody,
    /// It is done, and comes back as that content type.
    ContentType(String),
    /// It is done, and `Location` is left out.
    NoLocation,
    /// It is done, and no ETag comes back, in the header or the body.
    NoEtag,
    /// A write is answered as done, and is not.
    Ignore,
    /// A write leaves out the properties of these names.
    Partial(Vec<String>),
    /// A write is done so much later than it is answered.
    Late(Duration),
    /// A write is done, but the property of that name, wherever in the body, takes that value.
    Flip(String, Value),
}

/// A fault, and when it happens.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Only for this method.
    pub method: Option<String>,
    /// Only for paths that contain this; ends with it, if it ends in `$`.
    pub path: String,
    /// Spares so many matching requests first.
    pub skip: u32,
    /// Then happens so often; always if none.
    pub times: Option<u32>,
    /// What.
    pub fault: Fault,
}

impl Rule {
    /// On every request.
    #[must_use]
    pub fn always(fault: Fault) -> Self {
        Self { method: None, path: String::new(), skip: 0, times: None, fault }
    }

    /// On every request of that method whose path contains `path`; see [`Rule::path`].
    #[must_use]
    pub fn on(method: &str, path: &str, fault: Fault) -> Self {
        Self { method: Some(method.to_owned()), path: path.to_owned(), ..Self::always(fault) }
    }

    /// Only so often.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times: Some(times), ..self }
    }

    /// Only after so many.
    #[must_use]
    pub fn after(self, skip: u32) -> Self {
        Self { skip, ..self }
    }

    fn matches(&self, method: &str, path: &str) -> bool {
        let of_path = match self.path.strip_suffix('$') {
            Some(end) => path.trim_end_matches('/').ends_with(end),
            None => path.contains(&self.path),
        };
        of_path && self.method.as_ref().is_none_or(|wanted| wanted == method)
    }
}

/// The rules of one host.
#[derive(Debug, Default)]
pub struct Faults {
    rules: Mutex<Vec<Rule>>,
}

impl Faults {
    /// Adds a rule.
    pub fn add(&self, rule: Rule) {
        locked(&self.rules).push(rule);
    }

    /// Takes all rules away.
    pub fn clear(&self) {
        locked(&self.rules).clear();
    }

    /// The rules that are left.
    #[must_use]
    pub fn rules(&self) -> Vec<Rule> {
        locked(&self.rules).clone()
    }

    /// What happens to this request, in the order the rules were added.
    pub(super) fn take(&self, method: &str, path: &str) -> Vec<Fault> {
        let mut rules = locked(&self.rules);
        let mut taken = Vec::new();
        for rule in rules.iter_mut().filter(|rule| rule.matches(method, path)) {
            if rule.skip > 0 {
                rule.skip -= 1;
                continue;
            }
            if let Some(left) = &mut rule.times {
                if *left == 0 {
                    continue;
                }
                *left -= 1;
            }
            taken.push(rule.fault.clone());
        }
        rules.retain(|rule| rule.times != Some(0));
        taken
    }
}

/// How a write is bent.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Twist {
    pub(super) ignore: bool,
    pub(super) late: Option<Duration>,
    drop: Vec<String>,
    flip: Vec<(String, Value)>,
}

impl Twist {
    pub(super) fn of(faults: &[Fault]) -> Self {
        let mut twist = Self::default();
        for fault in faults {
            match fault {
                Fault::Ignore => twist.ignore = true,
                Fault::Late(delay) => twist.late = Some(*delay),
                Fault::Partial(names) => twist.drop.extend(names.iter().cloned()),
                Fault::Flip(name, value) => twist.flip.push((name.clone(), value.clone())),
                _ => {}
            }
        }
        twist
    }

    /// Changes what is written. A property that is flipped but not in the body is added beside the override's others, if
    /// it is one of them.
    pub(super) fn bend(&self, body: &mut Value) {
        objects(body, &mut |object| {
            object.retain(|name, _| !self.drop.contains(name));
            let of_override = object.keys().any(|name| name.starts_with("BootSourceOverride"));
            for (name, value) in &self.flip {
                if object.contains_key(name) || (of_override && name.starts_with("BootSourceOverride")) {
                    object.insert(name.clone(), value.clone());
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rules_choose_by_method_path_and_count() {
        let faults = Faults::default();
        faults.add(Rule::on("GET", "/Systems$", Fault::Hang).after(1).times(2));
        let take = |method: &str, path: &str| faults.take(method, path).len();
        assert_eq!(take("PATCH", "/redfish/v1/Systems"), 0);
        assert_eq!(take("GET", "/redfish/v1/Systems/1"), 0);
        let taken: Vec<usize> = (0..4).map(|_| take("GET", "/redfish/v1/Systems/")).collect();
        assert_eq!(taken, [0, 1, 1, 0]);
        assert!(faults.rules().is_empty(), "used up");
    }

    #[test]
    fn twists_change_what_is_written() {
        let flip = Fault::Flip("BootSourceOverrideMode".to_owned(), json!("Legacy"));
        let twist = Twist::of(&[flip, Fault::Partial(vec!["AssetTag".to_owned()])]);
        let mut body = json!({ "AssetTag": "x", "Boot": { "BootSourceOverrideTarget": "Pxe" } });
        twist.bend(&mut body);
        assert_eq!(body, json!({ "Boot": { "BootSourceOverrideTarget": "Pxe", "BootSourceOverrideMode": "Legacy" } }));
    }
}
