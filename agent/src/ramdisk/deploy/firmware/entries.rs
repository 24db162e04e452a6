//! The boot entries and their order: what is there, what there shall be, and that it is so afterwards.

use std::collections::BTreeMap;

use bessemer_image_formats::boot::load_option::{ACTIVE, LoadOption};
use bessemer_image_formats::guid::Guid;

use super::variables::Variables;

/// What was set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Set {
    /// Such as `Boot0003`.
    pub(super) name: String,
    /// In words.
    pub(super) neutralised: Vec<String>,
}

/// What to change.
#[derive(Debug, PartialEq, Eq)]
struct Changes {
    number: u16,
    remove: Vec<u16>,
    deactivate: Vec<u16>,
    order: Vec<u16>,
}

/// Makes `wanted` the first entry. `ours` are the partitions of its disk: entries for others stay, but are not started by themselves any more.
pub(super) fn ensure(store: &mut dyn Variables, wanted: &LoadOption, ours: &[Guid], next: bool) -> Result<Set, String> {
    let failed = |what: &str, error: &std::io::Error| format!("firmware variable {what}: {error}");
    let existing = read(store)?;
    let order = read_order(store)?;
    let changes = decide(&existing, &order, wanted, ours)?;
    let mut neutralised = Vec::new();
    for (numbers, what) in [(&changes.remove, "removed"), (&changes.deactivate, "switched off")] {
        for number in numbers {
            let Some(entry) = existing.get(number) else { continue };
            neutralised.push(format!("{} {:?} {what}", name(*number), entry.description));
        }
    }
    let own = name(changes.number);
    if existing.get(&changes.number).is_none_or(|entry| entry.bytes() != wanted.bytes()) {
        store.set(&own, wanted.bytes()).map_err(|error| failed(&own, &error))?;
    }
    for number in &changes.deactivate {
        let Some(entry) = existing.get(number) else { continue };
        store.set(&name(*number), entry.inactive().bytes()).map_err(|error| failed(&name(*number), &error))?;
    }
    if changes.order != order {
        let bytes: Vec<u8> = changes.order.iter().flat_map(|number| number.to_le_bytes()).collect();
        store.set("BootOrder", &bytes).map_err(|error| failed("BootOrder", &error))?;
    }
    for number in &changes.remove {
        store.remove(&name(*number)).map_err(|error| failed(&name(*number), &error))?;
    }
    if next {
        store.set("BootNext", &changes.number.to_le_bytes()).map_err(|error| failed("BootNext", &error))?;
    }
    let after = read(store)?;
    let right = after.get(&changes.number).is_some_and(|entry| entry.bytes() == wanted.bytes())
        && read_order(store)?.first() == Some(&changes.number)
        && changes.deactivate.iter().all(|number| after.get(number).is_none_or(|entry| entry.attributes & ACTIVE == 0));
    if right {
        Ok(Set { name: own, neutralised })
    } else {
        Err(format!("the firmware took {own} and its order, but reads back something else"))
    }
}

fn name(number: u16) -> String {
    format!("Boot{number:04X}")
}

fn read(store: &dyn Variables) -> Result<BTreeMap<u16, LoadOption>, String> {
    let names = store.names().map_err(|error| format!("firmware variables: {error}"))?;
    let mut entries = BTreeMap::new();
    for name in names {
        let digits = name.strip_prefix("Boot").filter(|digits| digits.len() == 4);
        let Some(number) = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) else { continue };
        let value = store.get(&name).map_err(|error| format!("firmware variable {name}: {error}"))?;
        entries.extend(value.and_then(|value| LoadOption::parse(&value)).map(|entry| (number, entry)));
    }
    Ok(entries)
}

fn read_order(store: &dyn Variables) -> Result<Vec<u16>, String> {
    let value = store.get("BootOrder").map_err(|error| format!("firmware variable BootOrder: {error}"))?;
    let pairs = value.unwrap_or_default();
    Ok(pairs.chunks_exact(2).map(|pair| pair.try_into().map_or(0, u16::from_le_bytes)).collect())
}

fn decide(
    existing: &BTreeMap<u16, LoadOption>,
    order: &[u16],
    wanted: &LoadOption,
    ours: &[Guid],
) -> Result<Changes, String> {
    let same: Vec<u16> =
        existing.iter().filter(|(_, entry)| entry.starts_the_same(wanted)).map(|(number, _)| *number).collect();
    let number = match same.first() {
        Some(number) => *number,
        None => (0..=u16::MAX)
            .find(|number| !existing.contains_key(number) && !order.contains(number))
            .ok_or("the firmware has no number left for a boot entry")?,
    };
    let of_another_disk =
        |entry: &LoadOption| entry.drive.and_then(|drive| drive.id).is_some_and(|id| !ours.contains(&id));
    // What an earlier deployment of the same system left is in nobody's interest.
    let stale = |entry: &LoadOption| {
        of_another_disk(entry) && entry.description == wanted.description && entry.file == wanted.file
    };
    let others = || existing.iter().filter(|(other, _)| **other != number);
    let remove: Vec<u16> =
        others().filter(|(other, entry)| same.contains(*other) || stale(entry)).map(|(other, _)| *other).collect();
    let deactivate: Vec<u16> = others()
        .filter(|(other, entry)| of_another_disk(entry) && entry.attributes & ACTIVE != 0 && !remove.contains(other))
        .map(|(other, _)| *other)
        .collect();
    let kept = order.iter().copied().filter(|other| *other != number && !remove.contains(other));
    let (last, middle): (Vec<u16>, Vec<u16>) = kept.partition(|other| deactivate.contains(other));
    let order = std::iter::once(number).chain(middle).chain(last).collect();
    Ok(Changes { number, remove, deactivate, order })
}
