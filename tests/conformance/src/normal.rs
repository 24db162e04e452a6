//! Makes answers of two servers comparable: identifiers, times and versions become symbols that keep what matters
//! about them, which are equal and which came first.
//!
//! The versions of objects are numbered in their order over a whole case. The versions of lists and bookmarks are a
//! server's clock, which others move too; of those it is only checked that no object in the list is newer.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::{Captures, Regex};
use serde_json::{Map, Value};

use crate::outcome::{Body, Outcome};

#[expect(clippy::unwrap_used, reason = "the patterns are constants, compiled by the tests")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

static UUID: LazyLock<Regex> =
    LazyLock::new(|| pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static TIME: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"));
static AGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d+(ms|s)$"));
static SAID_VERSION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?i)((?:resource ?version|current)[^0-9,]{0,3}: ?[^0-9,]{0,3}|version in record \()\d+( \(\d+\))?"#)
});
static HASH: LazyLock<Regex> = LazyLock::new(|| pattern("((?:hash|X509SHA256)=)[0-9A-Fa-f]{32,}"));

static UNDECLARED: LazyLock<Regex> = LazyLock::new(|| pattern(r"\.\w+: field not declared in schema"));

/// Replaces in place what varies between two runs of one case. `hidden` are texts to be shown by name.
pub fn normalise(outcomes: &mut [Outcome], hidden: &[(String, String)], address: &str) {
    let mut versions = BTreeSet::new();
    for outcome in outcomes.iter() {
        each_value(&outcome.body, &mut |value| collect_versions(value, &mut versions));
    }
    let versions = versions.into_iter().enumerate().map(|(index, version)| (version.to_string(), index + 1)).collect();
    let mut normal = Normal { versions, uids: HashMap::new(), hidden, address, now: Timestamp::now() };
    for outcome in outcomes {
        match &mut outcome.body {
            Body::Json(value) => normal.value(value),
            Body::Events(events) => events.iter_mut().for_each(|event| normal.value(event)),
            Body::Text(text) | Body::Failed(text) => *text = normal.text(text),
            Body::Empty => {}
        }
        for value in outcome.headers.values_mut().flatten() {
            *value = normal.text(value);
        }
    }
}

/// Whether upstream finds the faults of an object in the order of a hash table: those of custom kinds and of definitions,
/// whose schemas' properties are such tables. Built-in kinds are checked field by field.
fn is_checked_by_schema(status: &Map<String, Value>) -> bool {
    let group = status.get("details").and_then(|details| details.get("group")).and_then(Value::as_str);
    group.is_some_and(|group| group == "apiextensions.k8s.io" || group.contains('.') && !group.ends_with(".k8s.io"))
}

/// Faults found in such an order are put in one, and the message that joins them too.
fn order_causes(map: &mut Map<String, Value>) {
    if !is_checked_by_schema(map) {
        return;
    }
    let Some(Value::Array(causes)) = map.get_mut("details").and_then(|details| details.get_mut("causes")) else {
        return;
    };
    let line = |cause: &Value| {
        let text = |key: &str| cause.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("field").is_empty() {
            text("message").to_owned()
        } else {
            format!("{}: {}", text("field"), text("message"))
        }
    };
    let joined = |causes: &[Value]| format!("[{}]", causes.iter().map(line).collect::<Vec<_>>().join(", "));
    let before = joined(causes);
    causes.sort_by_key(line);
    let after = joined(causes);
    if let Some(Value::String(message)) = map.get_mut("message") {
        *message = message.replace(&before, &after);
    }
}

/// Entries of one second are in the order of their names, and a second may end between two requests.
fn order_managers(map: &mut Map<String, Value>) {
    if let Some(Value::Array(entries)) = map.get_mut("managedFields") {
        let key = |entry: &Value| {
            ["operation", "subresource", "manager", "apiVersion"].map(|key| entry.get(key).map(Value::to_string))
        };
        entries.sort_by_key(key);
    }
}

/// The kinds of one group are listed in the order in which upstream came to know their definitions.
fn order_resources(map: &mut Map<String, Value>) {
    if let Some(Value::Array(resources)) = map.get_mut("resources") {
        resources.sort_by_key(|resource| ["name", "resource"].map(|key| resource.get(key).map(Value::to_string)));
    }
}

fn each_value(body: &Body, visit: &mut impl FnMut(&Value)) {
    match body {
        Body::Json(value) => visit(value),
        Body::Events(events) => events.iter().for_each(visit),
        _ => {}
    }
}

fn is_clock(object: &Map<String, Value>) -> bool {
    // Lists and bookmarks have no name; their version is the server's.
    object.get("metadata").and_then(Value::as_object).is_some_and(|metadata| {
        metadata.contains_key("resourceVersion") && !metadata.contains_key("name") && !metadata.contains_key("uid")
    })
}

fn collect_versions(value: &Value, versions: &mut BTreeSet<u64>) {
    match value {
        Value::Object(map) => {
            if !is_clock(map)
                && let Some(version) = map.get("metadata").and_then(|metadata| metadata.get("resourceVersion"))
                && let Some(version) = version.as_str().and_then(|version| version.parse().ok())
            {
                versions.insert(version);
            }
            map.values().for_each(|value| collect_versions(value, versions));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_versions(value, versions)),
        _ => {}
    }
}

struct Normal<'a> {
    versions: HashMap<String, usize>,
    uids: HashMap<String, usize>,
    hidden: &'a [(String, String)],
    address: &'a str,
    now: Timestamp,
}

impl Normal<'_> {
    fn value(&mut self, value: &mut Value) {
        match value {
            Value::Object(map) => self.object(map),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::String(text) => *text = self.text(text),
            _ => {}
        }
    }

    fn object(&mut self, map: &mut Map<String, Value>) {
        order_managers(map);
        order_causes(map);
        order_resources(map);
        if map.keys().any(|key| UUID.is_match(key)) {
            *map = std::mem::take(map).into_iter().map(|(key, value)| (self.text(&key), value)).collect();
        }
        if is_clock(map) {
            let mut inside = BTreeSet::new();
            map.values().for_each(|value| collect_versions(value, &mut inside));
            if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
                let clock =
                    metadata.get("resourceVersion").and_then(Value::as_str).and_then(|text| text.parse::<u64>().ok());
                let symbol = match clock {
                    None => "<no version>",
                    Some(0) => "0",
                    Some(clock) if inside.last().is_some_and(|newest| *newest > clock) => "<older than its items>",
                    Some(_) => "<version>",
                };
                metadata.insert("resourceVersion".to_owned(), symbol.into());
                if let Some(token) = metadata.get_mut("continue").filter(|token| token.as_str() != Some("")) {
                    *token = "<continue>".into();
                }
            }
        }
        for (key, value) in map.iter_mut() {
            match (key.as_str(), &mut *value) {
                ("resourceVersion", Value::String(text)) => {
                    if let Some(index) = self.versions.get(text.as_str()) {
                        *text = format!("rv{index}");
                    }
                }
                ("cells", Value::Array(cells)) => cells.iter_mut().for_each(|cell| match cell.as_str() {
                    Some(text) if AGE.is_match(text) => *cell = "<age>".into(),
                    _ => self.value(cell),
                }),
                _ => self.value(value),
            }
        }
    }

    /// A message may quote a whole object, in an order of keys of the server's own.
    fn quoted(&mut self, text: &str) -> Option<String> {
        let start = text.find("\"{\\\"")?;
        let (before, quoted) = text.split_at_checked(start)?;
        let mut strings = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
        let object = strings.next()?.ok()?;
        let after = quoted.get(strings.byte_offset()..)?;
        let mut object: Value = serde_json::from_str(&object).ok()?;
        self.value(&mut object);
        Some(format!("{before}{}{after}", Value::String(object.to_string())))
    }

    fn text(&mut self, text: &str) -> String {
        let quoted = self.quoted(text);
        let text = quoted.as_deref().unwrap_or(text);
        let mut text = text.replace(self.address, "<server>");
        for (hidden, name) in self.hidden {
            text = text.replace(hidden, &format!("<{name}>"));
        }
        let uids = &mut self.uids;
        let text = UUID.replace_all(&text, |found: &Captures<'_>| {
            let next = uids.len() + 1;
            let uid = found.get(0).map(|found| found.as_str().to_owned()).unwrap_or_default();
            format!("<uid{}>", uids.entry(uid).or_insert(next))
        });
        let now = self.now;
        let text = TIME.replace_all(&text, |found: &Captures<'_>| {
            let whole = found.get(0).map(|found| found.as_str()).unwrap_or_default();
            let near = whole.parse::<Timestamp>().is_ok_and(|time| (now.as_second() - time.as_second()).abs() < 86_400);
            match (near, found.get(1)) {
                (true, None) => "<time>".to_owned(),
                (true, Some(fraction)) => format!("<time.{}>", fraction.len() - 1),
                (false, _) => whole.to_owned(),
            }
        });
        let text = HASH.replace_all(&text, "$1<hash>");
        undeclared(&SAID_VERSION.replace_all(&text, "$1<version>"))
    }
}

/// Of several fields of one object that a schema does not declare, upstream tells of the one that a hash table gives
/// first, and of several objects in such an order.
fn undeclared(text: &str) -> String {
    let text = UNDECLARED.replace_all(text, ".<field>: field not declared in schema");
    match text.split_once("errors:\n") {
        Some((before, lines)) if lines.contains("field not declared in schema") => {
            let mut lines: Vec<&str> = lines.lines().collect();
            lines.sort_unstable();
            format!("{before}errors:\n{}", lines.join("\n"))
        }
        _ => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(body: Value) -> Outcome {
        Outcome {
            id: String::new(),
            request: String::new(),
            status: 200,
            headers: Default::default(),
            body: Body::Json(body),
        }
    }

    #[test]
    fn order_and_equality_stay() {
        let uid = "0b6a5fd7-90b6-4a3e-8a43-0b6a5fd790b6";
        let mut outcomes = [
            outcome(json!({"metadata": {"name": "b", "resourceVersion": "90", "uid": uid}})),
            outcome(json!({"metadata": {"resourceVersion": "95", "continue": "abc"}, "items": [
                {"metadata": {"name": "a", "resourceVersion": "7"}}, {"metadata": {"name": "b", "resourceVersion": "90"}},
            ]})),
            outcome(
                json!({"metadata": {"resourceVersion": "89"}, "items": [{"metadata": {"name": "b", "resourceVersion": "90"}}]}),
            ),
            outcome(json!({"message": format!("too old resource version: 4 (9) of {uid} at h:1")})),
            outcome(json!({"message": "value: \"{\\\"b\\\":1,\\\"a\\\":2}\": wrong"})),
            outcome(json!({"message": "{\\\"resourceVersion\\\":\\\"276\\\"} ResourceVersion in record (5)."})),
        ];
        normalise(&mut outcomes, &[], "h:1");
        let bodies: Vec<_> = outcomes.iter().map(|outcome| outcome.json().unwrap().clone()).collect();
        assert_eq!(bodies[0], json!({"metadata": {"name": "b", "resourceVersion": "rv2", "uid": "<uid1>"}}));
        assert_eq!(bodies[1]["metadata"], json!({"resourceVersion": "<version>", "continue": "<continue>"}));
        assert_eq!(bodies[1]["items"][0]["metadata"]["resourceVersion"], "rv1");
        assert_eq!(bodies[2]["metadata"]["resourceVersion"], "<older than its items>");
        assert_eq!(bodies[3]["message"], "too old resource version: <version> of <uid1> at <server>");
        assert_eq!(bodies[4]["message"], "value: \"{\\\"a\\\":2,\\\"b\\\":1}\": wrong");
        assert_eq!(
            bodies[5]["message"],
            "{\\\"resourceVersion\\\":\\\"<version>\\\"} ResourceVersion in record (<version>)."
        );
    }

    #[test]
    fn causes_and_managers_are_in_order() {
        let (one, two) = (json!({"field": "b", "message": "2"}), json!({"field": "a", "message": "1"}));
        let mut outcomes = [outcome(json!({
            "message": "x is invalid: [b: 2, a: 1]", "details": {"causes": [one, two], "group": "corpus.example"},
            "managedFields": [{"manager": "n", "operation": "Update"}, {"manager": "m", "operation": "Update"}],
        }))];
        normalise(&mut outcomes, &[], "h:1");
        let body = outcomes[0].json().unwrap();
        assert_eq!(body["message"], "x is invalid: [a: 1, b: 2]");
        assert_eq!(body["details"]["causes"], json!([two, one]));
        assert_eq!(body["managedFields"][0]["manager"], "m");
        let built_in = json!({"message": "x is invalid: [b: 2, a: 1]", "details": {"causes": [one, two]}});
        let mut outcomes = [outcome(built_in.clone())];
        normalise(&mut outcomes, &[], "h:1");
        assert_eq!(outcomes[0].json(), Some(&built_in), "the order of a built-in kind's faults is compared");
    }

    #[test]
    fn only_times_of_now_vary() {
        let now = Timestamp::now();
        let mut outcomes = [outcome(json!({"a": now.to_string(), "b": "2001-01-01T00:00:00Z"}))];
        normalise(&mut outcomes, &[], "h:1");
        let body = outcomes[0].json().unwrap();
        assert!(body["a"].as_str().unwrap().starts_with("<time."));
        assert_eq!(body["b"], "2001-01-01T00:00:00Z");
    }

    #[test]
    fn which_undeclared_field_is_told_is_chance() {
        let told = |fields: &[&str]| {
            let lines: Vec<_> = fields.iter().map(|field| format!("  {field}: field not declared in schema")).collect();
            undeclared(&format!("bad (/a): errors:\n{}", lines.join("\n")))
        };
        assert_eq!(told(&[".spec.a.x", ".spec.b.y"]), told(&[".spec.b.z", ".spec.a.y"]));
        assert_ne!(told(&[".spec.a.x", ".spec.b.y"]), told(&[".spec.a.x", ".spec.c.y"]));
    }
}
