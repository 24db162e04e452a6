//! Dumps are thinned: collections list members that were left out. The machine answered for them, so a tree that listed
//! them and had none would be another machine. (Machines that really do so are made with a fault.)

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Takes links to what is not there out of lists, and corrects their counts.
pub(super) fn close(bodies: &mut BTreeMap<String, Value>) {
    let known: BTreeSet<String> = bodies.keys().cloned().collect();
    bodies.values_mut().for_each(|body| prune(body, &known));
}

fn prune(value: &mut Value, known: &BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            let mut counts = Vec::new();
            for (name, value) in object.iter_mut() {
                if let Value::Array(array) = value {
                    let before = array.len();
                    array.retain(|item| !dangles(item, known));
                    if array.len() < before {
                        counts.push((format!("{name}@odata.count"), array.len()));
                    }
                }
                prune(value, known);
            }
            for (name, count) in counts {
                if let Some(held) = object.get_mut(&name) {
                    *held = count.into();
                }
            }
        }
        Value::Array(array) => array.iter_mut().for_each(|value| prune(value, known)),
        _ => {}
    }
}

/// A link and nothing else, to nothing.
fn dangles(item: &Value, known: &BTreeSet<String>) -> bool {
    let Some(object) = item.as_object().filter(|object| object.len() == 1) else { return false };
    let path = object.get("@odata.id").and_then(Value::as_str);
    let path = path.map(|path| path.split(['#', '?']).next().unwrap_or_default().trim_end_matches('/'));
    path.is_some_and(|path| path.starts_with('/') && !known.contains(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_without_bodies_go_and_counts_follow() {
        let list = json!({
            "Members": [{ "@odata.id": "/a/1/" }, { "@odata.id": "/a/2" }, { "@odata.id": "/a/3", "Id": "3" }],
            "Members@odata.count": 3,
            "Links": { "Chassis": [{ "@odata.id": "/c#/0" }], "Drives": [{ "@odata.id": "/d" }] },
            "Single": { "@odata.id": "/d" },
        });
        let mut bodies = BTreeMap::from([("/a".to_owned(), list), ("/a/1".to_owned(), json!({}))]);
        bodies.insert("/c".to_owned(), json!({}));
        close(&mut bodies);
        let expected = json!({
            "Members": [{ "@odata.id": "/a/1/" }, { "@odata.id": "/a/3", "Id": "3" }],
            "Members@odata.count": 2,
            "Links": { "Chassis": [{ "@odata.id": "/c#/0" }], "Drives": [] },
            "Single": { "@odata.id": "/d" },
        });
        assert_eq!(bodies["/a"], expected);
    }
}
