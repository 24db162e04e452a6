//! Which disks an order means. Everything that can be wrong with the order is found here, before anything is erased.

use bessemer_protocol::{DiskIdentity, Erase, SkippedDisk, Unlisted};

use crate::ramdisk::inspect::disks::{FoundDisk, Objection};

/// What to do with each device of the host.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// To be erased.
    pub(super) targets: Vec<FoundDisk>,
    /// To be left alone, and why.
    pub(super) skipped: Vec<SkippedDisk>,
}

/// Why nothing is erased at all.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::ramdisk) enum Refusal {
    #[error("the order names the disk {0}, and this host has {1}; inspect the host again")]
    NotHere(String, String),
    #[error("the order's disk {0} may be any of {1}; name it by serial number or world wide name")]
    Ambiguous(String, String),
    #[error("a disk to be kept has no hint at all, which would keep all")]
    EmptyKeep,
    #[error("no disk is the one to be kept ({0}); this host has {1}")]
    KeepNotHere(String, String),
    #[error(
        "the order does not name the disk {0}, which this host has; inspect the host again, or say what to do with unlisted disks"
    )]
    Unlisted(String),
    #[error("{0} is {1}; stop that first")]
    InUse(String, Objection),
    #[error("the order names {0}, which cannot be erased: it is {1}; take it out, or have the order keep it")]
    CannotErase(String, Objection),
}

/// Sorts out `found`.
pub(super) fn select(found: &[FoundDisk], order: &Erase) -> Result<Selection, Refusal> {
    let all = || {
        let described: Vec<String> = found.iter().map(|disk| DiskIdentity::of(&disk.inventory).to_string()).collect();
        if described.is_empty() { "no disk".to_owned() } else { described.join(", ") }
    };
    for keep in &order.keep {
        if keep.is_empty() {
            return Err(Refusal::EmptyKeep);
        }
        if !found.iter().any(|disk| keep.mismatch(&disk.inventory).is_none()) {
            return Err(Refusal::KeepNotHere(keep.to_string(), all()));
        }
    }
    for wanted in &order.disks {
        let matching: Vec<&FoundDisk> = found
            .iter()
            .filter(|disk| !matches!(disk.objection, Some(Objection::OtherPath(_))) && wanted.is(&disk.inventory))
            .collect();
        match matching.as_slice() {
            [] => return Err(Refusal::NotHere(wanted.to_string(), all())),
            [_] => {}
            several => {
                let names: Vec<&str> = several.iter().map(|disk| disk.inventory.name.as_str()).collect();
                return Err(Refusal::Ambiguous(wanted.to_string(), names.join(", ")));
            }
        }
    }
    let mut selection = Selection::default();
    for disk in found {
        let skip = |why: String| SkippedDisk { name: disk.inventory.name.clone(), why };
        let is_named = order.disks.iter().any(|wanted| wanted.is(&disk.inventory));
        let is_kept = order.keep.iter().any(|keep| keep.mismatch(&disk.inventory).is_none());
        if let Some(objection) = disk.objection.as_ref().filter(|objection| !objection.is_of_use()) {
            // The data of a named disk would outlive an order that ends as done. Another path leads to a disk that has its own turn.
            if is_named && !is_kept && !matches!(objection, Objection::OtherPath(_)) {
                return Err(Refusal::CannotErase(DiskIdentity::of(&disk.inventory).to_string(), objection.clone()));
            }
            selection.skipped.push(skip(objection.to_string()));
        } else if is_kept {
            selection.skipped.push(skip("to be kept".to_owned()));
        } else if is_named || order.unlisted == Unlisted::Erase {
            match &disk.objection {
                Some(objection @ (Objection::Mounted | Objection::MultipathMember(_))) => {
                    return Err(Refusal::InUse(disk.inventory.name.clone(), objection.clone()));
                }
                // What holds it is stopped when its turn comes.
                _ => selection.targets.push(disk.clone()),
            }
        } else if order.unlisted == Unlisted::Keep {
            selection.skipped.push(skip("not in the order".to_owned()));
        } else {
            return Err(Refusal::Unlisted(DiskIdentity::of(&disk.inventory).to_string()));
        }
    }
    Ok(selection)
}

#[cfg(test)]
mod tests {
    use bessemer_protocol::{Disk, EraseMode, FailureCode, RootDeviceHints};

    use super::super::EraseError;
    use super::*;

    fn disk(name: &str, serial: &str) -> FoundDisk {
        let inventory =
            Disk { name: format!("/dev/{name}"), serial_number: serial.into(), size_bytes: 1 << 30, ..Disk::default() };
        FoundDisk { inventory, objection: None, can_discard: false }
    }

    fn with(disk: FoundDisk, objection: Objection) -> FoundDisk {
        FoundDisk { objection: Some(objection), ..disk }
    }

    fn order(disks: &[&FoundDisk], keep: &[&str], unlisted: Unlisted) -> Erase {
        let hints =
            |serial: &&str| RootDeviceHints { serial_number: Some((*serial).into()), ..RootDeviceHints::default() };
        Erase {
            mode: EraseMode::Metadata,
            disks: disks.iter().map(|disk| DiskIdentity::of(&disk.inventory)).collect(),
            keep: keep.iter().map(hints).collect(),
            unlisted,
        }
    }

    #[test]
    fn an_order_means_exactly_the_disks_it_was_made_for() {
        let (a, b, c) = (disk("sda", "A"), disk("sdb", "B"), disk("sdc", "C"));
        let moved = disk("sdz", "A");
        let locked = with(disk("sdl", "L"), Objection::ReadOnly);
        let raid = with(disk("sdr", "R"), Objection::Held("md0".into()));
        let busy = with(disk("sdm", "M"), Objection::Mounted);
        let path = with(disk("sdp", "A"), Objection::OtherPath("/dev/sda".into()));
        let (bare, twin) = (disk("vda", ""), disk("sdt", "A"));
        type Case<'a> = (&'a str, Vec<&'a FoundDisk>, Erase, Result<&'a str, &'a str>);
        use Unlisted::{Erase as All, Keep, Refuse};
        let table: Vec<Case<'_>> = vec![
            ("all named", vec![&a, &b], order(&[&a, &b], &[], Refuse), Ok("sda sdb")),
            ("names move", vec![&moved], order(&[&a], &[], Refuse), Ok("sdz")),
            (
                "a disk more",
                vec![&a, &b],
                order(&[&a], &[], Refuse),
                Err("does not name the disk /dev/sdb (serial B, "),
            ),
            ("a disk more, let be", vec![&a, &b], order(&[&a], &[], Keep), Ok("sda")),
            ("a disk more, taken too", vec![&a, &b], order(&[&a], &[], All), Ok("sda sdb")),
            ("another disk in its place", vec![&b], order(&[&a], &[], All), Err("names the disk /dev/sda (serial A, ")),
            ("kept", vec![&a, &b], order(&[], &["B"], All), Ok("sda")),
            ("kept though named", vec![&a, &b], order(&[&a, &b], &["b"], Refuse), Ok("sda")),
            ("a slip of the pen", vec![&a, &b], order(&[], &["Bee"], All), Err("no disk is the one to be kept")),
            (
                "read-only, though named",
                vec![&a, &locked],
                order(&[&a, &locked], &[], Refuse),
                Err("names /dev/sdl (serial L, 1073741824 bytes), which cannot be erased: it is read-only"),
            ),
            ("read-only and named, but kept", vec![&a, &locked], order(&[&a, &locked], &["L"], Refuse), Ok("sda")),
            ("read-only, named by nobody", vec![&a, &locked], order(&[&a], &[], Refuse), Ok("sda")),
            ("read-only, with all", vec![&a, &locked], order(&[], &[], All), Ok("sda")),
            ("RAID members are stopped first", vec![&a, &raid], order(&[], &[], All), Ok("sda sdr")),
            (
                "mounted",
                vec![&a, &busy],
                order(&[], &[], All),
                Err("/dev/sdm is mounted or swapped to; stop that first"),
            ),
            ("mounted, but kept", vec![&a, &busy], order(&[], &["M"], All), Ok("sda")),
            ("two paths", vec![&a, &path], order(&[&a], &[], Refuse), Ok("sda")),
            ("two of a kind", vec![&a, &twin], order(&[&a], &[], Refuse), Err("may be any of /dev/sda, /dev/sdt")),
            ("by name if nothing else", vec![&bare], order(&[&bare], &[], Refuse), Ok("vda")),
            ("nothing", vec![], order(&[], &[], All), Ok("")),
            ("by default nothing unlisted", vec![&c], order(&[], &[], Unlisted::default()), Err("does not name")),
        ];
        for (what, found, order, expected) in table {
            let found: Vec<FoundDisk> = found.into_iter().cloned().collect();
            let got = select(&found, &order).map(|selection| {
                assert_eq!(selection.targets.len() + selection.skipped.len(), found.len(), "{what}: one was lost");
                let names: Vec<String> = selection
                    .targets
                    .iter()
                    .map(|disk| disk.inventory.name.trim_start_matches("/dev/").to_owned())
                    .collect();
                names.join(" ")
            });
            match (got, expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{what}"),
                (Err(got), Err(expected)) => assert!(got.to_string().contains(expected), "{what}: {got}"),
                (got, _) => panic!("{what}: {got:?}"),
            }
        }
        let empty = Erase { keep: vec![RootDeviceHints::default()], ..order(&[], &[], All) };
        assert_eq!(select(&[a], &empty), Err(Refusal::EmptyKeep));
        let refusal = select(std::slice::from_ref(&locked), &order(&[&locked], &[], Refuse)).unwrap_err();
        assert_eq!(EraseError::from(refusal).code(), FailureCode::EraseFailed);
        let refusal = select(&[b], &order(&[&c], &[], Refuse)).unwrap_err();
        assert_eq!(EraseError::from(refusal).code(), FailureCode::WrongDisk);
    }
}
