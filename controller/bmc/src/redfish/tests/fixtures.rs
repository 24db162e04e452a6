//! Every captured and hand-made body there is, and every object within, through every decoder: whatever a BMC says is no
//! reason to panic.

use redfish_client::{Reference, Resource};
use serde_json::Value;

use super::super::{identify, inventory, media, power, sensors};
use super::replay::{bodies, data};

fn walk(value: &Value, depth: usize, seen: &mut usize) {
    let inner: Vec<&Value> = match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(entries) => entries.iter().collect(),
        _ => return,
    };
    if value.is_object() {
        decode(value);
        *seen += 1;
    }
    if depth > 0 {
        for value in inner {
            walk(value, depth - 1, seen);
        }
    }
}

fn decode(body: &Value) {
    let resource = Resource::new(Reference::root().child("Systems").child("1"), None, body.clone());
    let all = [
        inventory::decode_everything(&resource),
        sensors::decode_everything(&resource),
        media::decode_everything(&resource),
        identify::decode_everything(&resource),
        format!("{:?}", power::power_of(&resource)),
    ];
    assert!(all.iter().all(|decoded| !decoded.is_empty()));
}

#[test]
fn no_body_makes_a_decoder_panic() {
    let Some(folder) = data() else { return };
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| name != "README.md")
        .collect();
    names.sort();
    let (mut sets, mut seen) = (0, 0);
    for name in names {
        let Some(bodies) = bodies(&name) else { continue };
        sets += 1;
        for body in bodies.values() {
            walk(body, 12, &mut seen);
        }
    }
    println!("{sets} sets, {seen} objects");
    assert!(sets >= 19 && seen > 10_000, "{sets} sets, {seen} objects");
}
