//! Laws of merging and ownership that hold for any objects.

use std::borrow::Cow;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// One version, one schema.
struct One(Arc<Schema>);

impl Versions for One {
    fn convert<'a>(&self, object: &'a Value, api_version: &str) -> Option<Versioned<'a>> {
        Some(Versioned { object: Cow::Borrowed(object), schema: self.schema(api_version)? })
    }

    fn schema(&self, api_version: &str) -> Option<Arc<Schema>> {
        (api_version == "v1").then(|| Arc::clone(&self.0))
    }
}

fn versions() -> One {
    let item = json!({"type": "object", "properties": {
        "n": {"type": "integer"}, "p": {"type": "string", "default": "x"}, "v": {"type": "string"},
    }});
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "integer"},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "list": {"type": "array", "items": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n", "p"], "items": item},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }}}});
    One(Arc::new(Schema::parse(&schema).unwrap()))
}

fn write<T>(manager: &str, then: impl FnOnce(&Writer<'_>) -> T) -> T {
    let versions = versions();
    then(&Writer {
        manager,
        api_version: "v1",
        subresource: "",
        reset: FieldSet::default(),
        nothing: json!({"apiVersion": "v1", "kind": "K"}),
        is_custom: true,
        versions: &versions,
    })
}

/// A configuration that fits the schema; no set has an element twice, no list map a key.
fn any_config() -> impl Strategy<Value = Value> {
    let texts = prop::collection::btree_map("[a-c]", "[x-z]", 0..3);
    let set = prop::collection::btree_set("[a-d]", 0..4);
    let items = prop::collection::btree_map(0..3i32, prop::option::of("[x-z]"), 0..3);
    let free = prop::collection::btree_map("[a-b]", prop::collection::btree_map("[a-b]", 0..2i32, 0..3), 0..3);
    (
        prop::option::of(0..3i32),
        prop::option::of(texts.clone()),
        prop::option::of(texts),
        prop::option::of(prop::collection::vec("[a-c]", 0..3)),
        prop::option::of(set),
        prop::option::of(items),
        prop::option::of(free),
    )
        .prop_map(|(a, map, whole, list, set, items, free)| {
            let items = items.map(|items| {
                let item = |(n, v): (i32, Option<String>)| match v {
                    Some(v) => json!({"n": n, "v": v}),
                    None => json!({"n": n}),
                };
                items.into_iter().map(item).collect::<Vec<_>>()
            });
            let mut spec = serde_json::Map::new();
            let fields = [
                ("a", a.map(Value::from)),
                ("map", map.map(|map| json!(map))),
                ("whole", whole.map(|map| json!(map))),
                ("list", list.map(Value::from)),
                ("set", set.map(|set| json!(set))),
                ("items", items.map(Value::from)),
                ("free", free.map(|free| json!(free))),
            ];
            spec.extend(fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": spec})
        })
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0..3i64).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let name =
            "apiVersion|kind|metadata|spec|a|map|whole|list|set|items|free|n|p|labels|managedFields|f:spec|f:a|\\.";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..5).prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

fn without_times(object: &Value) -> Value {
    let mut object = object.clone();
    for entry in object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
        crate::object::remove_field(entry, "time");
    }
    object
}

proptest! {
    #[test]
    fn applying_twice_changes_nothing_more(live in any_config(), config in any_config()) {
        let once = write("m", |writer| apply(writer, Some(&live), &config, true)).unwrap();
        let twice = write("m", |writer| apply(writer, Some(&once), &config, true)).unwrap();
        prop_assert_eq!(&once, &twice);
        prop_assert!(same_but_for_times(&twice, &once));
    }

    /// Whatever was there, what is applied by force is there after it.
    #[test]
    fn what_is_applied_is_there(live in any_config(), config in any_config()) {
        let new = write("m", |writer| apply(writer, Some(&live), &config, true)).unwrap();
        let versions = versions();
        let kind = Type::Object(&versions.0);
        let comparison = compare::compare(kind, &config, &new).unwrap();
        // An empty container in the configuration may hold what others put there.
        let kept = fields_of::fields_of(kind, &config);
        prop_assert!(comparison.removed.intersection(&kept).is_empty(), "{:?}", comparison.removed);
        for path in comparison.modified.intersection(&kept).paths() {
            prop_assert!(false, "{} differs in {new}", path_element::shown(&path));
        }
    }

    /// A manager that applies nothing any more leaves no trace of what it alone had.
    #[test]
    fn what_is_no_longer_applied_goes(config in any_config()) {
        // Nobody owns an empty set or list map, so upstream leaves it.
        let is_empty = |path: &str| config.pointer(path) == Some(&json!([]));
        prop_assume!(!is_empty("/spec/set") && !is_empty("/spec/items"));
        let empty = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}});
        let new = write("m", |writer| apply(writer, None, &config, false)).unwrap();
        let gone = write("m", |writer| apply(writer, Some(&new), &empty, false)).unwrap();
        prop_assert_eq!(gone.get("spec").cloned().unwrap_or_default(), Value::Null);
        prop_assert!(gone.pointer("/metadata/managedFields").is_none());
    }

    /// Without force nothing that another applied is changed; with it, the other no longer owns what was.
    #[test]
    fn conflicts_protect_and_force_takes(first in any_config(), second in any_config()) {
        let live = write("one", |writer| apply(writer, None, &first, false)).unwrap();
        match write("two", |writer| apply(writer, Some(&live), &second, false)) {
            Ok(new) => {
                let again = write("one", |writer| apply(writer, Some(&new), &first, false));
                prop_assert!(again.is_ok(), "what did not conflict one way must not conflict the other");
            }
            Err(ApplyError::Conflicts(conflicts)) => {
                let new = write("two", |writer| apply(writer, Some(&live), &second, true)).unwrap();
                let managed = Managed::of(&new);
                for (manager, owned) in &managed.0 {
                    prop_assert!(manager.name == "two" || owned.fields.intersection(&conflicts.fields()).is_empty());
                }
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    /// Two who apply the same share it: when one lets go, it stays.
    #[test]
    fn shared_fields_stay(config in any_config()) {
        let empty = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}});
        let live = write("one", |writer| apply(writer, None, &config, false)).unwrap();
        let both = write("two", |writer| apply(writer, Some(&live), &config, false)).unwrap();
        let one = write("one", |writer| apply(writer, Some(&both), &empty, false)).unwrap();
        prop_assert_eq!(one.get("spec"), both.get("spec"));
    }

    #[test]
    fn merging_is_idempotent(lower in any_config(), upper in any_config()) {
        let versions = versions();
        let kind = Type::Object(&versions.0);
        let once = merge::merge(kind, &lower, &upper).unwrap();
        let twice = merge::merge(kind, &once, &upper).unwrap();
        prop_assert!(compare::compare(kind, &once, &twice).unwrap() == compare::Comparison::default());
        prop_assert_eq!(merge::merge(kind, &once, &once).unwrap(), once);
    }

    /// The owners after a series of updates own what there is, each field once.
    #[test]
    fn updates_divide_the_fields_among_their_writers(states in prop::collection::vec(any_config(), 1..5)) {
        let mut live: Option<Value> = None;
        for (at, state) in states.iter().enumerate() {
            let mut new = state.clone();
            write(&format!("m{at}"), |writer| track(writer, live.as_ref(), &mut new, None));
            live = Some(new);
        }
        let live = live.unwrap();
        let managed = Managed::of(&live);
        let versions = versions();
        let kind = Type::Object(&versions.0);
        let all = managed.0.values().fold(FieldSet::default(), |all, owned| all.union(&owned.fields));
        let count: usize = managed.0.values().map(|owned| owned.fields.paths().len()).sum();
        prop_assert_eq!(all.paths().len(), count, "a field with two owners");
        let there = fields_of::fields_of(kind, &live).difference(&tracking::never_owned());
        prop_assert!(there.difference(&all).is_empty(), "unowned: {:?}", there.difference(&all).paths());
    }

    #[test]
    fn nothing_panics(live in any_json(), config in any_json(), entries in any_json(), force in any::<bool>()) {
        let mut live = live;
        crate::object::set_meta(&mut live, "managedFields", entries.clone());
        let _ = write("m", |writer| apply(writer, Some(&live), &config, force));
        let mut new = config;
        write("m", |writer| track(writer, Some(&live), &mut new, Some(&entries)));
        let _ = without_times(&new);
    }
}
