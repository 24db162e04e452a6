//! Which disk an item means: what its hints choose of the disks that are there, and only if that is the one that the controller meant. Between
//! the inspection and the item disks die, come late or change their names, and hints alone would then take the next best.

use bessemer_protocol::{Candidate, Disk, DiskIdentity, NoRootDisk, RootDeviceHints};

use super::inspect::disks::{FoundDisk, Objection};

/// Why no disk is touched.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoRoot {
    /// The hints choose none.
    #[error(transparent)]
    None(#[from] NoRootDisk),
    /// The hints choose another one.
    #[error(
        "the item is for the disk {wanted}, and the root device hints choose {chosen} by now: inspect the host again"
    )]
    Another { wanted: String, chosen: String },
    /// The hints choose one that is to be kept.
    #[error("the root device hints choose {0}, which is to be kept: change the hints, or do not keep it")]
    Kept(String),
    /// Another one is there by the time that it is opened.
    #[error("{0} is not there any more, or another disk has its name by now: inspect the host again")]
    Exchanged(String),
    /// Whichever disk it is now, nobody would know that it must not be touched.
    #[error("the disk {wanted} is to be kept, and this host has {there}: inspect the host again")]
    KeptNotHere { wanted: String, there: String },
}

/// A choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    /// The root disk.
    pub(super) disk: Disk,
    /// Device paths of the disks that are to be kept, all of each.
    pub(super) kept: Vec<String>,
}

/// What `hints` choose of `found`, if it is `wanted` and none of `keep`.
pub(super) fn choose(
    found: &[FoundDisk],
    hints: &RootDeviceHints,
    wanted: Option<&DiskIdentity>,
    keep: &[DiskIdentity],
) -> Result<Chosen, NoRoot> {
    let identity = |disk: &Disk| DiskIdentity::of(disk).to_string();
    let candidates: Vec<Candidate<'_>> = found
        .iter()
        .map(|disk| Candidate { disk: &disk.inventory, objection: disk.objection.as_ref().map(ToString::to_string) })
        .collect();
    let disk = hints.choose(&candidates)?.clone();
    if let Some(wanted) = wanted.filter(|wanted| !wanted.is(&disk)) {
        return Err(NoRoot::Another { wanted: wanted.to_string(), chosen: identity(&disk) });
    }
    if keep.iter().any(|kept| kept.is(&disk)) {
        return Err(NoRoot::Kept(identity(&disk)));
    }
    let mut kept = Vec::new();
    for wanted in keep {
        let paths = found.iter().filter(|disk| wanted.is(&disk.inventory)).map(|disk| disk.inventory.name.clone());
        let before = kept.len();
        kept.extend(paths);
        if kept.len() == before {
            let there: Vec<String> = found.iter().map(|disk| identity(&disk.inventory)).collect();
            return Err(NoRoot::KeptNotHere { wanted: wanted.to_string(), there: there.join(", ") });
        }
    }
    Ok(Chosen { disk, kept })
}

/// Whether the disk that has the name of `disk` among `found` is the same one. To be asked once it is held open, as names are given anew.
pub(super) fn is_still(disk: &Disk, found: &[FoundDisk]) -> bool {
    let named = found.iter().find(|other| other.inventory.name == disk.name);
    named.is_some_and(|other| DiskIdentity::of(disk).is(&other.inventory))
}

/// Device paths through which `disk` is seen, its own among them.
pub(super) fn paths(disk: &str, found: &[FoundDisk]) -> Vec<String> {
    let is_path = |other: &&FoundDisk| matches!(&other.objection, Some(Objection::OtherPath(first)) if first == disk);
    let others = found.iter().filter(is_path).map(|other| other.inventory.name.clone());
    others.chain([disk.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn disk(name: &str, serial: &str, gibibytes: u64) -> FoundDisk {
        let inventory = Disk {
            name: format!("/dev/{name}"),
            serial_number: serial.into(),
            size_bytes: gibibytes * GIB,
            ..Disk::default()
        };
        FoundDisk { inventory, objection: None, can_discard: false }
    }

    fn identity(disk: &FoundDisk) -> DiskIdentity {
        DiskIdentity::of(&disk.inventory)
    }

    #[test]
    fn only_the_disk_that_was_meant_is_chosen() {
        let (root, data, more) = (disk("sda", "R", 8), disk("sdb", "D", 16), disk("sdc", "M", 32));
        let renamed = disk("sdb", "R", 8);
        let dead = FoundDisk { objection: Some(Objection::ReadOnly), ..root.clone() };
        let swapped = disk("sda", "N", 8);
        let second_path =
            FoundDisk { objection: Some(Objection::OtherPath("/dev/sdb".into())), ..disk("sdx", "D", 16) };
        let all = [root.clone(), data.clone(), more.clone()];
        let all_again = all.clone();
        let (wanted, kept) = (identity(&root), [identity(&data)]);
        let named = |part: &'static str| Err(part);
        type Case<'a> =
            (&'a str, &'a [FoundDisk], Option<&'a DiskIdentity>, &'a [DiskIdentity], Result<&'a str, &'a str>);
        let table: [Case<'_>; 11] = [
            ("as inspected", &all, Some(&wanted), &[], Ok("/dev/sda")),
            ("whoever means none gets what the hints choose", &all[1..], None, &[], Ok("/dev/sdb")),
            ("names move", &[disk("sda", "D", 16), renamed], Some(&wanted), &[], Ok("/dev/sdb")),
            ("it vanished", &all[1..], Some(&wanted), &[], named("for the disk /dev/sda (serial R")),
            ("it is the last one", &[], Some(&wanted), &[], named("this host has no disk")),
            (
                "it takes no writes any more",
                &[dead, data.clone()],
                Some(&wanted),
                &[],
                named("choose /dev/sdb (serial D"),
            ),
            ("another in its place", &[swapped], Some(&wanted), &[], named("choose /dev/sda (serial N")),
            ("beside kept ones", &all, Some(&wanted), &kept, Ok("/dev/sda")),
            ("a kept one is the smallest left", &all[1..], None, &kept, named("which is to be kept")),
            (
                "a kept one is gone",
                &[root.clone(), more],
                Some(&wanted),
                &kept,
                named("/dev/sdb (serial D, 17179869184"),
            ),
            ("a kept one with two paths", &[root, data, second_path], Some(&wanted), &kept, Ok("/dev/sda")),
        ];
        for (what, found, wanted, keep, expected) in table {
            match (choose(found, &RootDeviceHints::default(), wanted, keep), expected) {
                (Ok(chosen), Ok(name)) => {
                    assert_eq!(chosen.disk.name, name, "{what}");
                    assert!(chosen.kept.len() >= keep.len(), "{what}");
                }
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{what}: {error}"),
                (got, expected) => panic!("{what}: {got:?}, not {expected:?}"),
            }
        }
        assert!(is_still(&disk("sdb", "D", 16).inventory, &all_again));
        for other in [disk("sdb", "R", 16), disk("sdx", "D", 16), disk("sdb", "D", 8)] {
            assert!(!is_still(&other.inventory, &all_again), "{other:?}");
        }
        assert_eq!(paths("/dev/sdb", &[disk("sdb", "D", 16)]), ["/dev/sdb"]);
    }
}
