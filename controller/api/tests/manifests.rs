//! `manifests/crds` is what the types say. `BESSEMER_UPDATE_CRDS=1 cargo test -p bessemer-api` writes it anew.

#![allow(clippy::cast_possible_truncation, clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

#[test]
fn crd_manifests_match_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests/crds");
    let update = std::env::var_os("BESSEMER_UPDATE_CRDS").is_some();
    let mut wanted = BTreeSet::new();
    for crd in bessemer_api::crds() {
        let name = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
        let path = folder.join(&name);
        // Through JSON, so that the order of fields does not depend on a serialiser.
        let mut value = serde_json::to_value(&crd).unwrap();
        whole_numbers(&mut value);
        let text = format!("---\n{}", serde_saphyr::to_string(&value).unwrap());
        if update {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == text, "{name} differs from the types: run BESSEMER_UPDATE_CRDS=1 cargo test -p bessemer-api");
        wanted.insert(name);
    }
    let found: BTreeSet<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    assert_eq!(found, wanted, "manifests/crds holds a CRD of no type");
}

/// `1`, not `1.0`: bounds are floating point numbers in the Rust type.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        Value::Array(list) => list.iter_mut().for_each(whole_numbers),
        Value::Number(number) => {
            if let Some(whole) = number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 1e15) {
                *value = Value::from(whole as i64);
            }
        }
        _ => {}
    }
}
