//! Which namespaces share their fate.

use bessemer_protocol::Disk;

use super::super::subsystems_together;
use crate::ramdisk::inspect::disks::{FoundDisk, Objection};
use crate::ramdisk::inspect::fixture::Sys;

fn disk(name: &str, objection: Option<Objection>) -> FoundDisk {
    let inventory = Disk { name: format!("/dev/{name}"), ..Disk::default() };
    FoundDisk { inventory, objection, can_discard: false }
}

#[test]
fn a_command_for_a_whole_subsystem_needs_all_its_namespaces() {
    let sys = Sys::new();
    // Two controllers of one subsystem, each with its namespace; a drive with one and a hidden path; a drive that tells no name.
    for (name, subsystem) in [
        ("nvme0n1", Some("nqn.a")),
        ("nvme1n2", Some("nqn.a")),
        ("nvme2n1", Some("nqn.b")),
        ("nvme2c2n1", Some("nqn.b")),
        ("nvme3n1", None),
        ("nvme3n2", None),
        ("sda", None),
    ] {
        sys.file(&format!("block/{name}/size"), "8");
        if let Some(subsystem) = subsystem {
            sys.file(&format!("block/{name}/device/subsysnqn"), format!("{subsystem}\n"));
        }
    }
    let all = |names: &[&str]| names.iter().map(|name| disk(name, None)).collect::<Vec<_>>();
    let names = ["nvme0n1", "nvme1n2", "nvme2n1", "nvme3n1", "nvme3n2", "sda"];
    let groups = |targets: &[FoundDisk], found: &[FoundDisk]| {
        let groups = subsystems_together(targets, found, sys.path());
        let of = |target: &super::super::Target| (target.disk.inventory.name.replace("/dev/", ""), target.alone);
        groups.iter().map(|group| group.iter().map(of).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let named = |name: &str, alone: bool| (name.to_owned(), alone);
    let found = all(&names);
    let everything = groups(&found, &found);
    assert_eq!(everything.len(), 4, "{everything:?}");
    assert!(everything.iter().flatten().all(|(_, alone)| *alone), "{everything:?}");
    let some = groups(&all(&["nvme0n1", "nvme2n1", "nvme3n1", "sda"]), &found);
    let expected = [
        vec![named("nvme0n1", false)],
        vec![named("nvme2n1", true)],
        vec![named("nvme3n1", false)],
        vec![named("sda", true)],
    ];
    assert_eq!(some, expected, "the namespace behind the other controller is kept");
    // The same namespace through a second controller is no other one.
    let second_path = [disk("nvme0n1", None), disk("nvme1n2", Some(Objection::OtherPath("/dev/nvme0n1".into())))];
    assert_eq!(groups(&second_path[..1], &second_path), [vec![named("nvme0n1", true)]]);
}
