//! Which disk: Metal3's root device hints. Every one given must hold, with Ironic's comparisons: letters of either case are the same, spaces at
//! the ends do not count, `model` and `vendor` may be a part, all else is the whole value.

use bessemer_protocol::{Disk, RootDeviceHints};

use super::inspect::disks::{FoundDisk, kernel_order};

/// Without any hint nothing smaller is taken, as in Ironic.
const LEAST_BYTES: u64 = 4 << 30;

/// No disk may be written.
#[derive(Debug, thiserror::Error)]
#[error("no disk {hints}; this host has {}", if disks.is_empty() { "no disk" } else { disks })]
pub(super) struct NoRoot {
    hints: String,
    disks: String,
}

/// With hints the first disk in the kernel's order that satisfies them; without any the smallest of at least 4 GiB, of equals the first.
pub(super) fn choose(found: &[FoundDisk], hints: &RootDeviceHints) -> Result<Disk, NoRoot> {
    let is_without_hints = *hints == RootDeviceHints::default();
    let fitting = found.iter().filter(|disk| objection(disk, hints).is_none());
    let chosen = fitting.min_by_key(|disk| {
        let size = if is_without_hints { disk.inventory.size_bytes } else { 0 };
        (size, kernel_order(&disk.inventory.name))
    });
    chosen.map(|disk| disk.inventory.clone()).ok_or_else(|| {
        let described = found.iter().map(|disk| {
            let why = objection(disk, hints).unwrap_or_default();
            format!("{} ({} bytes: {why})", disk.inventory.name, disk.inventory.size_bytes)
        });
        let hints = if is_without_hints {
            format!("has {LEAST_BYTES} bytes or more, and there are no root device hints")
        } else {
            format!("satisfies the root device hints {}", given(hints))
        };
        NoRoot { hints, disks: described.collect::<Vec<_>>().join(", ") }
    })
}

/// Why not this disk.
fn objection(found: &FoundDisk, hints: &RootDeviceHints) -> Option<String> {
    if let Some(objection) = &found.objection {
        return Some(objection.to_string());
    }
    if *hints == RootDeviceHints::default() {
        return (found.inventory.size_bytes < LEAST_BYTES).then(|| "too small".to_owned());
    }
    mismatch(&found.inventory, hints).map(|(field, value)| match value {
        Some(value) => format!("{field} is {value}"),
        None => format!("has no {field}"),
    })
}

/// The first hint that does not hold of `disk`, with the disk's own value.
pub(super) fn mismatch(disk: &Disk, hints: &RootDeviceHints) -> Option<(&'static str, Option<String>)> {
    let normal = |text: &str| text.trim().to_lowercase();
    let equals = |hint: &Option<String>, value: &str| {
        hint.as_ref().is_none_or(|hint| !value.is_empty() && normal(hint) == normal(value))
    };
    let contains = |hint: &Option<String>, value: &str| {
        hint.as_ref().is_none_or(|hint| !value.is_empty() && normal(value).contains(&normal(hint)))
    };
    let named = hints.device_name.as_ref().is_none_or(|hint| {
        std::iter::once(&disk.name).chain(&disk.alternate_names).any(|name| name.trim() == hint.trim())
    });
    let size = hints.min_size_gigabytes.is_none_or(|least| disk.size_bytes >> 30 >= least);
    let texts = [
        (named, "deviceName", disk.name.as_str()),
        (equals(&hints.hctl, &disk.hctl), "hctl", &disk.hctl),
        (contains(&hints.model, &disk.model), "model", &disk.model),
        (contains(&hints.vendor, &disk.vendor), "vendor", &disk.vendor),
        (equals(&hints.serial_number, &disk.serial_number), "serialNumber", &disk.serial_number),
        (equals(&hints.wwn, &disk.wwn), "wwn", &disk.wwn),
        (equals(&hints.wwn_with_extension, &disk.wwn_with_extension), "wwnWithExtension", &disk.wwn_with_extension),
        (
            equals(&hints.wwn_vendor_extension, &disk.wwn_vendor_extension),
            "wwnVendorExtension",
            &disk.wwn_vendor_extension,
        ),
    ];
    if let Some((_, field, value)) = texts.into_iter().find(|(holds, ..)| !holds) {
        return Some((field, (!value.is_empty()).then(|| format!("{value:?}"))));
    }
    if !size {
        return Some(("size", Some(format!("{} GiB", disk.size_bytes >> 30))));
    }
    let is_as_wanted = hints.rotational.is_none_or(|rotational| rotational == disk.rotational);
    (!is_as_wanted).then(|| ("rotational", Some(disk.rotational.to_string())))
}

/// The hints that are given, as JSON.
pub(super) fn given(hints: &RootDeviceHints) -> String {
    let mut value = serde_json::to_value(hints).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::inspect::disks::Objection;
    use super::*;

    const GIB: u64 = 1 << 30;

    fn disk(name: &str, gibibytes: u64) -> FoundDisk {
        let inventory = Disk {
            name: format!("/dev/{name}"),
            alternate_names: vec![format!("/dev/disk/by-path/pci-{name}")],
            size_bytes: gibibytes * GIB,
            model: format!("Model {name} X"),
            vendor: "ACME".into(),
            serial_number: format!("SN{name}"),
            wwn: format!("0x50{name}"),
            wwn_vendor_extension: format!("0x70{name}"),
            wwn_with_extension: format!("0x50{name}70{name}"),
            hctl: "0:0:0:0".into(),
            rotational: name.starts_with("sd"),
            ..Disk::default()
        };
        FoundDisk { inventory, objection: None, can_discard: false }
    }

    fn hints(change: impl FnOnce(&mut RootDeviceHints)) -> RootDeviceHints {
        let mut hints = RootDeviceHints::default();
        change(&mut hints);
        hints
    }

    #[test]
    fn hints_choose_as_metal3_says() {
        let busy = FoundDisk { objection: Some(Objection::Held("md0".into())), ..disk("vdb", 8) };
        let locked = FoundDisk { objection: Some(Objection::ReadOnly), ..disk("vdc", 8) };
        let mut bare = disk("vdf", 30);
        bare.inventory = Disk { name: "/dev/vdf".into(), size_bytes: 30 * GIB, ..Disk::default() };
        let all = [disk("sda", 100), disk("vda", 20), disk("vdd", 20), disk("vde", 2), busy, locked, bare];
        let table: &[(RootDeviceHints, Option<&str>, &str)] = &[
            (RootDeviceHints::default(), Some("/dev/vda"), "the smallest of 4 GiB or more, of equals the first"),
            (hints(|h| h.min_size_gigabytes = Some(50)), Some("/dev/sda"), "at least"),
            (hints(|h| h.min_size_gigabytes = Some(100)), Some("/dev/sda"), "exactly that is enough"),
            (hints(|h| h.min_size_gigabytes = Some(101)), None, "none is that large"),
            (hints(|h| h.min_size_gigabytes = Some(1)), Some("/dev/sda"), "with hints the first, not the smallest"),
            (
                hints(|h| h.device_name = Some("/dev/vde".into())),
                Some("/dev/vde"),
                "whoever names a disk may name a small one",
            ),
            (hints(|h| h.device_name = Some("/dev/disk/by-path/pci-vdd".into())), Some("/dev/vdd"), "by path"),
            (hints(|h| h.device_name = Some("vde".into())), None, "the whole path"),
            (hints(|h| h.device_name = Some("/dev/vdb".into())), None, "in use"),
            (hints(|h| h.device_name = Some("/dev/vdc".into())), None, "read-only"),
            (hints(|h| h.model = Some("model sda".into())), Some("/dev/sda"), "a part, in any case"),
            (hints(|h| h.model = Some("  MODEL VDD  ".into())), Some("/dev/vdd"), "spaces at the ends"),
            (hints(|h| h.vendor = Some("acm".into())), Some("/dev/sda"), "a part"),
            (hints(|h| h.serial_number = Some("SNVDD".into())), Some("/dev/vdd"), "in any case"),
            (hints(|h| h.serial_number = Some("SN".into())), None, "not a part"),
            (hints(|h| h.wwn = Some("0x50sda".into())), Some("/dev/sda"), "without extension"),
            (hints(|h| h.wwn = Some("0x50sda70sda".into())), None, "the extension is no part of it"),
            (hints(|h| h.wwn_with_extension = Some("0x50VDD70vdd".into())), Some("/dev/vdd"), "both halves"),
            (hints(|h| h.wwn_vendor_extension = Some("0x70vda".into())), Some("/dev/vda"), "second half"),
            (hints(|h| h.hctl = Some("0:0:0:1".into())), None, "another address"),
            (hints(|h| h.hctl = Some("0:0:0:0".into())), Some("/dev/sda"), "that address"),
            (hints(|h| h.rotational = Some(true)), Some("/dev/sda"), "spins"),
            (hints(|h| h.rotational = Some(false)), Some("/dev/vda"), "the first, not the smallest"),
            (
                hints(|h| h.vendor = Some(String::new())),
                Some("/dev/sda"),
                "an empty part is in every vendor, but not in none",
            ),
            (
                hints(|h| {
                    h.rotational = Some(true);
                    h.serial_number = Some("SNvda".into());
                }),
                None,
                "all must hold",
            ),
        ];
        for (hints, expected, why) in table {
            let chosen = choose(&all, hints).map(|disk| disk.name);
            assert_eq!(chosen.as_deref().ok(), *expected, "{why}: {hints:?}");
        }
    }

    #[test]
    fn the_order_is_the_kernels() {
        let names = ["sdaa", "sdb", "sda", "nvme10n1", "nvme2n1"];
        let all: Vec<FoundDisk> = names.iter().map(|name| disk(name, 10)).collect();
        let least = hints(|h| h.min_size_gigabytes = Some(1));
        assert_eq!(choose(&all[..3], &least).unwrap().name, "/dev/sda");
        assert_eq!(choose(&all[..2], &least).unwrap().name, "/dev/sdb");
        assert_eq!(choose(&all[3..], &RootDeviceHints::default()).unwrap().name, "/dev/nvme2n1");
    }

    #[test]
    fn nobody_is_left_wondering_why_there_is_no_root_disk() {
        let floppy = FoundDisk { objection: Some(Objection::Floppy), ..disk("fd0", 0) };
        let error = choose(&[disk("vde", 2), floppy], &hints(|h| h.vendor = Some("other".into()))).unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"no disk satisfies the root device hints {"vendor":"other"}; this host has /dev/vde (2147483648 bytes: vendor is "ACME"), /dev/fd0 (0 bytes: a floppy drive)"#
        );
        let error = choose(&[disk("vde", 2)], &RootDeviceHints::default()).unwrap_err().to_string();
        assert!(
            error.ends_with("no root device hints; this host has /dev/vde (2147483648 bytes: too small)"),
            "{error}"
        );
        assert!(choose(&[], &RootDeviceHints::default()).unwrap_err().to_string().ends_with("this host has no disk"));
    }
}
