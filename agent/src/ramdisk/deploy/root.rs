//! Which disk to write: Metal3's root device hints, every one of which must hold, and never a disk that is read-only or in use.

use bessemer_protocol::{Disk, RootDeviceHints};

use crate::ramdisk::inspect::disks::FoundDisk;

/// Without a hint about size nothing smaller is taken, as in Ironic.
const LEAST_BYTES: u64 = 4 << 30;

/// No disk may be written.
#[derive(Debug, thiserror::Error)]
#[error("no disk satisfies the root device hints {hints}; this host has {}", if disks.is_empty() { "no disk" } else { disks })]
pub(in crate::ramdisk) struct NoRoot {
    hints: String,
    disks: String,
}

/// The smallest disk that satisfies `hints`; of equals the first by name.
pub(super) fn choose(found: &[FoundDisk], hints: &RootDeviceHints) -> Result<Disk, NoRoot> {
    let fitting = found.iter().filter(|disk| objection(disk, hints).is_none());
    let chosen = fitting.min_by(|left, right| {
        let key = |disk: &FoundDisk| (disk.inventory.size_bytes, disk.inventory.name.clone());
        key(left).cmp(&key(right))
    });
    chosen.map(|disk| disk.inventory.clone()).ok_or_else(|| {
        let described = found.iter().map(|disk| {
            let why = objection(disk, hints).unwrap_or_default();
            format!("{} ({} bytes: {why})", disk.inventory.name, disk.inventory.size_bytes)
        });
        NoRoot {
            hints: serde_json::to_string(&given(hints)).unwrap_or_default(),
            disks: described.collect::<Vec<_>>().join(", "),
        }
    })
}

/// Why not this disk.
fn objection(found: &FoundDisk, hints: &RootDeviceHints) -> Option<&'static str> {
    let disk = &found.inventory;
    let equals =
        |hint: &Option<String>, value: &str| hint.as_ref().is_none_or(|hint| hint.trim().eq_ignore_ascii_case(value));
    let contains = |hint: &Option<String>, value: &str| {
        hint.as_ref().is_none_or(|hint| value.to_lowercase().contains(&hint.trim().to_lowercase()))
    };
    let named = hints.device_name.as_ref().is_none_or(|hint| *hint == disk.name || disk.alternate_names.contains(hint));
    let least = hints.min_size_gigabytes.map_or(LEAST_BYTES, |gigabytes| gigabytes << 30);
    let checks = [
        (!found.read_only, "read-only"),
        (!found.in_use, "in use"),
        (named, "another name"),
        (equals(&hints.hctl, &disk.hctl), "another hctl"),
        (contains(&hints.model, &disk.model), "another model"),
        (contains(&hints.vendor, &disk.vendor), "another vendor"),
        (equals(&hints.serial_number, &disk.serial_number), "another serial number"),
        (equals(&hints.wwn, &disk.wwn), "another wwn"),
        (hints.rotational.is_none_or(|rotational| rotational == disk.rotational), "rotational is otherwise"),
        // A disk that was named may be small: whoever named it knows it.
        (disk.size_bytes >= least || (hints.device_name.is_some() && hints.min_size_gigabytes.is_none()), "too small"),
    ];
    checks.into_iter().find(|(holds, _)| !holds).map(|(_, why)| why)
}

fn given(hints: &RootDeviceHints) -> serde_json::Value {
    let mut value = serde_json::to_value(hints).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn disk(name: &str, gibibytes: u64) -> FoundDisk {
        let inventory = Disk {
            name: format!("/dev/{name}"),
            size_bytes: gibibytes * GIB,
            model: format!("Model {name} X"),
            vendor: "ACME".into(),
            serial_number: format!("SN{name}"),
            wwn: format!("0x50{name}"),
            hctl: "0:0:0:0".into(),
            rotational: name.starts_with("sd"),
            ..Disk::default()
        };
        FoundDisk { inventory, read_only: false, in_use: false }
    }

    fn hints(change: impl FnOnce(&mut RootDeviceHints)) -> RootDeviceHints {
        let mut hints = RootDeviceHints::default();
        change(&mut hints);
        hints
    }

    #[test]
    fn hints_choose_as_metal3_says() {
        let mut busy = disk("vdb", 8);
        busy.in_use = true;
        let mut locked = disk("vdc", 8);
        locked.read_only = true;
        let all = [disk("sda", 100), disk("vda", 20), disk("vdd", 20), disk("vde", 2), busy, locked];
        let table: &[(RootDeviceHints, Option<&str>)] = &[
            (RootDeviceHints::default(), Some("/dev/vda")),
            (hints(|h| h.min_size_gigabytes = Some(50)), Some("/dev/sda")),
            (hints(|h| h.min_size_gigabytes = Some(101)), None),
            (hints(|h| h.min_size_gigabytes = Some(1)), Some("/dev/vde")),
            (hints(|h| h.device_name = Some("/dev/vde".into())), Some("/dev/vde")),
            (hints(|h| h.device_name = Some("/dev/vdb".into())), None),
            (hints(|h| h.device_name = Some("/dev/vdc".into())), None),
            (hints(|h| h.model = Some("model sda".into())), Some("/dev/sda")),
            (hints(|h| h.vendor = Some("acm".into())), Some("/dev/vda")),
            (hints(|h| h.serial_number = Some("SNVDD".into())), Some("/dev/vdd")),
            (hints(|h| h.serial_number = Some("SN".into())), None),
            (hints(|h| h.wwn = Some("0x50sda".into())), Some("/dev/sda")),
            (hints(|h| h.hctl = Some("0:0:0:1".into())), None),
            (hints(|h| h.rotational = Some(true)), Some("/dev/sda")),
            (
                hints(|h| {
                    h.rotational = Some(true);
                    h.serial_number = Some("SNvda".into());
                }),
                None,
            ),
        ];
        for (hints, expected) in table {
            let chosen = choose(&all, hints).map(|disk| disk.name);
            assert_eq!(chosen.as_deref().ok(), *expected, "{hints:?}");
        }
    }

    #[test]
    fn nobody_is_left_wondering_why_there_is_no_root_disk() {
        let error = choose(&[disk("vde", 2)], &hints(|h| h.vendor = Some("other".into()))).unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"no disk satisfies the root device hints {"vendor":"other"}; this host has /dev/vde (2147483648 bytes: another vendor)"#
        );
        assert!(choose(&[], &RootDeviceHints::default()).unwrap_err().to_string().ends_with("this host has no disk"));
    }
}
