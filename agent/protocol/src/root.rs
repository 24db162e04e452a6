//! Which disk: Metal3's root device hints. Every one given must hold, with Ironic's comparisons: letters of either case are the same, spaces at
//! the ends do not count, `model` and `vendor` may be a part, all else is the whole value. The controller chooses by them of what an inspection
//! found, the agent of what is there, and both by this.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Disk;

/// Without any hint nothing smaller is taken, as in Ironic; in bytes.
const LEAST_BYTES: u64 = 4 << 30;

/// Metal3's `rootDeviceHints`: every given field must hold of the disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RootDeviceHints {
    /// Exact device path, such as `/dev/vda` or a by-path link.
    pub device_name: Option<String>,
    /// Exact SCSI address.
    pub hctl: Option<String>,
    /// Substring of the model.
    pub model: Option<String>,
    /// Substring of the vendor.
    pub vendor: Option<String>,
    /// Exact serial number.
    pub serial_number: Option<String>,
    /// At least this size in GiB.
    pub min_size_gigabytes: Option<u64>,
    /// Exact world wide name.
    pub wwn: Option<String>,
    /// Exact world wide name, with what the vendor adds to it.
    pub wwn_with_extension: Option<String>,
    /// Exactly what the vendor adds to the world wide name.
    pub wwn_vendor_extension: Option<String>,
    /// Spinning or not.
    pub rotational: Option<bool>,
}

/// A disk to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// The disk.
    pub disk: &'a Disk,
    /// What speaks against it whatever the hints say, in words; none when nothing does.
    pub objection: Option<String>,
}

impl<'a> Candidate<'a> {
    /// A disk as an inspection found it.
    #[must_use]
    pub fn inspected(disk: &'a Disk) -> Self {
        Self { disk, objection: disk.read_only.then(|| "read-only".to_owned()) }
    }
}

/// No disk may be written.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no disk {hints}; this host has {}", if disks.is_empty() { "no disk" } else { disks })]
pub struct NoRootDisk {
    hints: String,
    disks: String,
}

impl RootDeviceHints {
    /// With hints the first of `candidates` that satisfies them; without any the smallest of at least 4 GiB, of equals the first. They
    /// are to be in the kernel's order, as an inspection reports them.
    ///
    /// # Errors
    /// [`NoRootDisk`], which says of each disk why not.
    pub fn choose<'a>(&self, candidates: &[Candidate<'a>]) -> Result<&'a Disk, NoRootDisk> {
        let fitting = candidates.iter().filter(|candidate| self.objection(candidate).is_none());
        let chosen = fitting.min_by_key(|candidate| if self.is_empty() { candidate.disk.size_bytes } else { 0 });
        chosen.map(|candidate| candidate.disk).ok_or_else(|| {
            let described = candidates.iter().map(|candidate| {
                let why = self.objection(candidate).unwrap_or_default();
                format!("{} ({} bytes: {why})", candidate.disk.name, candidate.disk.size_bytes)
            });
            let hints = if self.is_empty() {
                format!("has {LEAST_BYTES} bytes or more, and there are no root device hints")
            } else {
                format!("satisfies the root device hints {self}")
            };
            NoRootDisk { hints, disks: described.collect::<Vec<_>>().join(", ") }
        })
    }

    /// Whether no hint is given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Why not this disk.
    fn objection(&self, candidate: &Candidate<'_>) -> Option<String> {
        if candidate.objection.is_some() {
            return candidate.objection.clone();
        }
        if self.is_empty() {
            return (candidate.disk.size_bytes < LEAST_BYTES).then(|| "too small".to_owned());
        }
        self.mismatch(candidate.disk).map(|(field, value)| match value {
            Some(value) => format!("{field} is {value}"),
            None => format!("has no {field}"),
        })
    }

    /// The first hint that does not hold of `disk`, with the disk's own value; none when all hold.
    #[must_use]
    pub fn mismatch(&self, disk: &Disk) -> Option<(&'static str, Option<String>)> {
        let normal = |text: &str| text.trim().to_lowercase();
        let equals = |hint: &Option<String>, value: &str| {
            hint.as_ref().is_none_or(|hint| !value.is_empty() && normal(hint) == normal(value))
        };
        let contains = |hint: &Option<String>, value: &str| {
            hint.as_ref().is_none_or(|hint| !value.is_empty() && normal(value).contains(&normal(hint)))
        };
        let named = self.device_name.as_ref().is_none_or(|hint| {
            std::iter::once(&disk.name).chain(&disk.alternate_names).any(|name| name.trim() == hint.trim())
        });
        let size = self.min_size_gigabytes.is_none_or(|least| disk.size_bytes >> 30 >= least);
        let texts = [
            (named, "deviceName", disk.name.as_str()),
            (equals(&self.hctl, &disk.hctl), "hctl", &disk.hctl),
            (contains(&self.model, &disk.model), "model", &disk.model),
            (contains(&self.vendor, &disk.vendor), "vendor", &disk.vendor),
            (equals(&self.serial_number, &disk.serial_number), "serialNumber", &disk.serial_number),
            (equals(&self.wwn, &disk.wwn), "wwn", &disk.wwn),
            (equals(&self.wwn_with_extension, &disk.wwn_with_extension), "wwnWithExtension", &disk.wwn_with_extension),
            (
                equals(&self.wwn_vendor_extension, &disk.wwn_vendor_extension),
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
        let is_as_wanted = self.rotational.is_none_or(|rotational| rotational == disk.rotational);
        (!is_as_wanted).then(|| ("rotational", Some(disk.rotational.to_string())))
    }
}

/// Those that are given, as JSON.
impl fmt::Display for RootDeviceHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        value.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn disk(name: &str, gibibytes: u64) -> Disk {
        Disk {
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
        }
    }

    fn choose<'a>(disks: &'a [Disk], hints: &RootDeviceHints) -> Result<&'a Disk, NoRootDisk> {
        hints.choose(&disks.iter().map(Candidate::inspected).collect::<Vec<_>>())
    }

    fn hints(change: impl FnOnce(&mut RootDeviceHints)) -> RootDeviceHints {
        let mut hints = RootDeviceHints::default();
        change(&mut hints);
        hints
    }

    #[test]
    fn hints_choose_as_metal3_says() {
        let locked = Disk { read_only: true, ..disk("vdc", 8) };
        let bare = Disk { name: "/dev/vdf".into(), size_bytes: 30 * GIB, ..Disk::default() };
        let all = [disk("sda", 100), disk("vda", 20), disk("vdb", 8), locked, disk("vdd", 20), disk("vde", 2), bare];
        let mut candidates: Vec<Candidate<'_>> = all.iter().map(Candidate::inspected).collect();
        candidates[2].objection = Some("in use by md0".into());
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
            let chosen = hints.choose(&candidates).map(|disk| disk.name.as_str());
            assert_eq!(chosen.ok(), *expected, "{why}: {hints:?}");
        }
    }

    #[test]
    fn nobody_is_left_wondering_why_there_is_no_root_disk() {
        let (small, floppy) = (disk("vde", 2), disk("fd0", 0));
        let candidates =
            [Candidate::inspected(&small), Candidate { disk: &floppy, objection: Some("a floppy drive".into()) }];
        let error = hints(|h| h.vendor = Some("other".into())).choose(&candidates).unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"no disk satisfies the root device hints {"vendor":"other"}; this host has /dev/vde (2147483648 bytes: vendor is "ACME"), /dev/fd0 (0 bytes: a floppy drive)"#
        );
        let error = choose(&[small], &RootDeviceHints::default()).unwrap_err().to_string();
        assert!(
            error.ends_with("no root device hints; this host has /dev/vde (2147483648 bytes: too small)"),
            "{error}"
        );
        assert!(choose(&[], &RootDeviceHints::default()).unwrap_err().to_string().ends_with("this host has no disk"));
    }
}
