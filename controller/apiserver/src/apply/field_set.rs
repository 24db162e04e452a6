//! Sets of fields, as a tree of path steps: what a manager owns, what a write changed. Knows the algebra of such sets
//! and their FieldsV1 form; nothing of managers or schemas.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path_element::{PathElement, PathError};

/// Deepest path read from a client.
const DEEPEST: usize = 128;

/// A set of fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    /// Fields right below that are in the set themselves.
    members: BTreeSet<PathElement>,
    /// Fields right below that have fields of the set below them. None of these is empty.
    children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    /// The set of one path of names.
    pub(crate) fn of(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path.iter().map(|name| PathElement::field(name)).collect::<Vec<_>>());
        }
        set
    }

    /// Adds a field; the whole object (an empty path) is owned by nobody.
    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    pub(crate) fn contains(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.has_member(last),
            [first, rest @ ..] => self.below(first).is_some_and(|set| set.contains(rest)),
        }
    }

    pub(crate) fn has_member(&self, element: &PathElement) -> bool {
        self.members.contains(element)
    }

    /// The part of the set below a field, with that field's step taken off the paths.
    pub(crate) fn below(&self, element: &PathElement) -> Option<&FieldSet> {
        self.children.get(element)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &PathElement> {
        self.members.iter()
    }

    pub(crate) fn children(&self) -> impl Iterator<Item = (&PathElement, &FieldSet)> {
        self.children.iter()
    }

    pub(crate) fn add_member(&mut self, element: PathElement) {
        self.members.insert(element);
    }

    pub(crate) fn set_child(&mut self, element: PathElement, set: FieldSet) {
        if !set.is_empty() {
            self.children.insert(element, set);
        }
    }

    pub(crate) fn union(mut self, other: &Self) -> Self {
        for member in &other.members {
            if !self.members.contains(member) {
                self.members.insert(member.clone());
            }
        }
        for (element, set) in &other.children {
            match self.children.get_mut(element) {
                Some(child) => *child = std::mem::take(child).union(set),
                None => {
                    self.children.insert(element.clone(), set.clone());
                }
            }
        }
        self
    }

    /// Whether any field is in both.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let (few, many) = if self.members.len() < other.members.len() { (self, other) } else { (other, self) };
        let below =
            |(element, set): (&PathElement, &Self)| other.below(element).is_some_and(|other| set.overlaps(other));
        few.members.iter().any(|member| many.has_member(member)) || self.children.iter().any(below)
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let mut found = Self { members: &self.members & &other.members, children: BTreeMap::new() };
        for (element, set) in &self.children {
            if let Some(others) = other.children.get(element) {
                found.set_child(element.clone(), set.intersection(others));
            }
        }
        found
    }

    /// What is in this set and not in the other; a field that is in the other does not take what is below it along.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let mut found = Self { members: &self.members - &other.members, children: BTreeMap::new() };
        for (element, set) in &self.children {
            let left = other.children.get(element).map_or_else(|| set.clone(), |others| set.difference(others));
            found.set_child(element.clone(), left);
        }
        found
    }

    /// As [`Self::difference`], but a field that is in the other takes all below it along.
    pub(crate) fn without(&self, other: &Self) -> Self {
        let mut found = Self { members: &self.members - &other.members, children: BTreeMap::new() };
        for (element, set) in self.children.iter().filter(|(element, _)| !other.has_member(element)) {
            let left = other.children.get(element).map_or_else(|| set.clone(), |others| set.without(others));
            found.set_child(element.clone(), left);
        }
        found
    }

    /// All paths: those that end here first, then those below.
    pub(crate) fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut found = Vec::new();
        self.collect(&mut Vec::new(), &mut found);
        found
    }

    fn collect(&self, prefix: &mut Vec<PathElement>, found: &mut Vec<Vec<PathElement>>) {
        for member in &self.members {
            let mut path = prefix.clone();
            path.push(member.clone());
            found.push(path);
        }
        for (element, set) in &self.children {
            prefix.push(element.clone());
            set.collect(prefix, found);
            prefix.pop();
        }
    }

    /// Reads FieldsV1. Steps of an unknown type are left out.
    pub(crate) fn decode(json: &Value) -> Result<Self, PathError> {
        decode(json, DEEPEST).map(|(set, _)| set)
    }

    /// The FieldsV1 form.
    pub(crate) fn encode(&self) -> Value {
        let mut fields = Map::new();
        for member in &self.members {
            fields.insert(member.encode(), Value::Object(Map::new()));
        }
        for (element, set) in self.children.iter().filter(|(_, set)| !set.is_empty()) {
            let mut inner = set.encode();
            if let Some(inner) = inner.as_object_mut().filter(|_| self.has_member(element)) {
                inner.insert(".".to_owned(), Value::Object(Map::new()));
            }
            fields.insert(element.encode(), inner);
        }
        Value::Object(fields)
    }
}

/// The set below a step, and whether the step itself is a member.
fn decode(json: &Value, levels: usize) -> Result<(FieldSet, bool), PathError> {
    let Value::Object(fields) = json else { return Err(PathError::Bad(format!("not an object: {json}"))) };
    let Some(below) = levels.checked_sub(1) else { return Err(PathError::Bad("nested too deep".to_owned())) };
    let (mut set, mut is_member) = (FieldSet::default(), false);
    for (key, inner) in fields {
        if key == "." {
            is_member = true;
            continue;
        }
        let element = match PathElement::parse(key) {
            Ok(element) => element,
            Err(PathError::Unknown) => continue,
            Err(error) => return Err(error),
        };
        let (child, member) = decode(inner, below)?;
        match (member, child.is_empty()) {
            (true, true) => {
                set.members.insert(element);
            }
            (true, false) => {
                set.members.insert(element.clone());
                set.set_child(element, child);
            }
            (false, _) => set.set_child(element, child),
        }
    }
    let is_member = is_member || set.is_empty();
    Ok((set, is_member))
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    pub(crate) fn any_set() -> impl Strategy<Value = FieldSet> {
        let element = prop_oneof![
            "[a-c]".prop_map(|name| PathElement::field(&name)),
            (0..3i64).prop_map(|n| PathElement::parse(&format!("k:{{\"n\":{n}}}")).unwrap()),
            "[a-b]".prop_map(|text| PathElement::parse(&format!("v:\"{text}\"")).unwrap()),
        ];
        let path = prop::collection::vec(element, 1..4);
        prop::collection::vec(path, 0..12).prop_map(|paths| {
            let mut set = FieldSet::default();
            paths.iter().for_each(|path| set.insert(path));
            set
        })
    }

    #[test]
    fn fields_v1_round_trips() {
        let encoded = json!({
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {"f:list": {"k:{\"name\":\"x\"}": {".": {}, "f:v": {}, "f:name": {}}}, "f:set": {"v:\"a\"": {}}},
        });
        let set = FieldSet::decode(&encoded).unwrap();
        assert_eq!(set.encode(), encoded);
        assert_eq!(set.paths().len(), 6);
        assert!(FieldSet::decode(&json!({"f:a": 1})).is_err());
        assert!(FieldSet::decode(&json!({"nonsense": {}})).is_err());
        assert!(FieldSet::decode(&json!({"q:later": {"f:x": {}}})).unwrap().is_empty());
        let mut deep = json!({});
        for _ in 0..200 {
            deep = json!({"f:a": deep});
        }
        assert!(FieldSet::decode(&deep).is_err());
    }

    #[test]
    fn differences_keep_or_take_what_is_below() {
        let set = FieldSet::of(&[&["a"], &["a", "b"], &["c", "d"]]);
        let other = FieldSet::of(&[&["a"], &["c"]]);
        assert_eq!(set.difference(&other), FieldSet::of(&[&["a", "b"], &["c", "d"]]));
        assert_eq!(set.without(&other), FieldSet::default());
    }

    proptest! {
        #[test]
        fn the_algebra_holds(a in any_set(), b in any_set(), c in any_set()) {
            prop_assert_eq!(a.clone().union(&b), b.clone().union(&a));
            prop_assert_eq!(a.intersection(&b), b.intersection(&a));
            prop_assert_eq!(a.clone().union(&b).union(&c), a.clone().union(&b.clone().union(&c)));
            prop_assert_eq!(a.intersection(&b.clone().union(&c)), a.intersection(&b).union(&a.intersection(&c)));
            prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
            prop_assert!(a.difference(&b).intersection(&b).is_empty());
            prop_assert_eq!(a.overlaps(&b), !a.intersection(&b).is_empty());
            prop_assert!(a.without(&b).intersection(&b).is_empty());
            prop_assert!(a.without(&b).difference(&a).is_empty());
            prop_assert_eq!(a.clone().union(&a), a.clone());
            prop_assert!(a.difference(&a).is_empty());
            prop_assert_eq!(FieldSet::decode(&a.encode()).unwrap(), a.clone());
            prop_assert!(a.paths().iter().all(|path| a.contains(path)));
        }
    }
}
