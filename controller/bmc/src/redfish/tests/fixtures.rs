//! Every captured and hand-made body there is, and every object within, through every decoder: whatever a BMC says is no
//! reason to panic.

use redfish_client::{Reference, Resource};
use serde_json::{Value, json};

use super::super::{bios, console, events, firmware, identify, inventory, logs, media, power, secure_boot, sensors};
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
        secure_boot::decode_everything(&resource),
        bios::decode_everything(&resource),
        firmware::decode_everything(&resource),
        events::decode_everything(&resource),
        logs::decode_everything(&resource),
        console::decode_everything(&resource),
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

/// Each field of a body in turn as something else than it should be.
fn twisted(body: &Value) -> impl Iterator<Item = Value> {
    let odd = [Value::Null, json!(""), json!(-1), json!(1e300), json!([null, {}]), json!({"@odata.id": 7})];
    let names: Vec<String> = body.as_object().into_iter().flat_map(|fields| fields.keys().cloned()).collect();
    names.into_iter().enumerate().map(move |(at, name)| {
        let mut twisted = body.clone();
        twisted[name] = odd[at % odd.len()].clone();
        twisted
    })
}

#[test]
fn no_wrong_type_makes_a_decoder_panic() {
    let mut seen = 0;
    for name in ["dell-r630-idrac8-2.81", "hpe-dl385gen10plusv2-ilo5-2.72", "dmtf-public-rackmount1"] {
        let Some(bodies) = bodies(name) else { return };
        let kinds = ["Processor", "Memory", "Drive", "Ethernet", "Network", "Virtual", "Power", "Thermal", "Systems/"];
        for (_, body) in bodies.iter().filter(|(path, _)| kinds.iter().any(|kind| path.contains(kind))) {
            for twisted in twisted(body) {
                walk(&twisted, 4, &mut seen);
            }
        }
    }
    println!("{seen} objects");
    assert!(seen > 5_000, "{seen} objects");
}
