//! Our CRDs say what upstream's say: names, scope, versions, columns, subresources, labels, and every property with its
//! type, default, bounds, list type and rules. Descriptions are in our own words: those must differ.
//!
//! Upstream's CRDs are in the folder `crds` of the test data. Each difference needs a line in `allowed.txt`, and each line
//! there a difference. `BESSEMER_CONFORMANCE=Kind` prints every
//! difference of that kind, `BESSEMER_CONFORMANCE=all` of all kinds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod allowed;
mod compare;
mod descriptions;
mod kind;
mod labels;
mod schema;
#[path = "../test_data/mod.rs"]
mod test_data;
mod upstream;

use std::collections::{BTreeMap, BTreeSet};

use allowed::Allowed;
use compare::Differences;

#[test]
fn crds_are_upstreams() {
    let Some(theirs) = upstream::crds() else { return };
    let ours: BTreeMap<String, _> = bessemer_api::crds()
        .into_iter()
        .map(|crd| (crd.metadata.name.clone().unwrap(), serde_json::to_value(crd).unwrap()))
        .collect();
    let mut allowed = Allowed::read();
    let show = std::env::var("BESSEMER_CONFORMANCE").unwrap_or_default();
    let mut failures = Vec::new();
    let (mut properties, mut total) = (0, 0);
    for (name, theirs) in &theirs {
        let mut found = Differences::new(theirs);
        match ours.get(name) {
            Some(ours) => kind::compare(&mut found, ours, theirs),
            None => found.add("", "kind missing in ours"),
        }
        let (open, covered) = allowed.judge(&found);
        println!(
            "{}: {} properties, {} differences: {covered} allowed, {} open",
            found.subject,
            found.properties,
            found.lines.len(),
            open.len()
        );
        if show == "all" || found.subject.starts_with(&format!("{show}.")) {
            found.lines.iter().for_each(|line| println!("    {line}"));
        }
        properties += found.properties;
        total += found.lines.len();
        failures.extend(open);
    }
    for name in ours.keys().filter(|name| !theirs.contains_key(*name) && !name.ends_with(".bessemer.dev")) {
        failures.push(format!("{name}: a CRD that upstream does not have"));
    }
    failures.extend(allowed.stale());
    println!("{} CRDs, {properties} properties, {total} differences, {} failures", theirs.len(), failures.len());
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn descriptions_are_in_our_own_words() {
    let Some(theirs) = upstream::crds() else { return };
    let texts: BTreeSet<String> = theirs.values().flat_map(descriptions::all).collect();
    assert!(texts.len() > 1000, "only {} descriptions found upstream", texts.len());
    let (mut found, mut total) = (Vec::new(), 0);
    for ours in bessemer_api::crds() {
        let (borrowed, seen) = descriptions::borrowed(&serde_json::to_value(ours).unwrap(), &texts);
        found.extend(borrowed);
        total += seen;
    }
    println!("{total} descriptions, {} of them upstream's", found.len());
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}
