//! Which tests belong to which lane. Every test program of the workspace is in exactly one lane, or its modules are
//! shared out between two; what nobody has placed is in `unit`, so that nothing is lost.

use std::collections::BTreeMap;

use super::Lane;
use super::programs::{Kind, Program};

/// The rooms whose integration tests (`tests/` beside `src/`) a lane holds.
const ROOMS: &[(&str, Lane)] = &[
    (RECONCILERS, Lane::Capi),
    ("bessemer-api", Lane::Api),
    ("bessemer-apiserver", Lane::Api),
    ("bessemer-conformance", Lane::Api),
    ("bessemer-kubectl-script", Lane::Api),
    ("bessemer-kube-peer", Lane::Api),
    ("bessemer", Lane::Api),
    ("ipmi-client", Lane::Bmc),
    ("redfish-client", Lane::Bmc),
    ("bessemer-bmc", Lane::Bmc),
    ("bessemer-bmc-peers", Lane::Bmc),
    ("bench-bmc", Lane::Bmc),
    ("bessemer-fake-bmc", Lane::Bmc),
    ("bessemer-pxe", Lane::Boot),
    ("bessemer-agent", Lane::Agent),
    ("bessemer-agents", Lane::Agent),
    ("bessemer-protocol", Lane::Agent),
    ("bessemer-images", Lane::Agent),
    ("bessemer-rack", Lane::Rack),
];

/// Programs of a room that are in another lane than the room.
const PROGRAMS: &[(&str, &str, Lane)] =
    &[("bessemer", "bmc", Lane::Bmc), ("bessemer", "boot", Lane::Boot), ("bessemer-agent", "machines", Lane::Machines)];

/// Tests in the reconcilers' sources are told apart by module: these are of hosts, the others of clusters. Those beside
/// the sources are of several reconcilers together and stay together: libtest does not know their program by name.
const RECONCILERS: &str = "bessemer-reconcilers";
const OF_HOSTS: [&str; 3] = ["metal3::", "infrastructure::", "hosts::"];

/// A part of a lane: a program, and which of its tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part<'built> {
    pub(super) program: &'built Program,
    /// Arguments for libtest that choose among the program's tests.
    pub(super) choose: Vec<String>,
}

/// What `lane` holds of what was built.
pub(super) fn parts(lane: Lane, built: &[Program]) -> Vec<Part<'_>> {
    let whole = |program| Part { program, choose: Vec::new() };
    let mut parts = Vec::new();
    for program in built {
        if program.package == RECONCILERS && program.kind == Kind::Source {
            match lane {
                Lane::Hosts => parts.push(Part { program, choose: OF_HOSTS.map(str::to_owned).to_vec() }),
                Lane::Capi => {
                    let skip = |name: &str| ["--skip".to_owned(), name.to_owned()];
                    parts.push(Part { program, choose: OF_HOSTS.iter().flat_map(|name| skip(name)).collect() });
                }
                _ => {}
            }
        } else if of(program) == lane {
            parts.push(whole(program));
        }
    }
    parts
}

fn of(program: &Program) -> Lane {
    let alone = PROGRAMS.iter().find(|(package, name, _)| *package == program.package && *name == program.name);
    if let (Kind::Integration, Some((_, _, lane))) = (program.kind, alone) {
        return *lane;
    }
    let room = ROOMS.iter().find(|(package, _)| *package == program.package);
    match (program.kind, room) {
        (Kind::Integration, Some((_, lane))) => *lane,
        _ => Lane::Unit,
    }
}

/// `package (program, program)` for each package, as what a lane holds.
pub(super) fn contents(parts: &[Part<'_>]) -> String {
    let mut by_package: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for part in parts {
        by_package.entry(&part.program.package).or_default().push(&part.program.name);
    }
    let shown = by_package.iter().map(|(package, programs)| match programs.as_slice() {
        [one] if one.replace('_', "-") == *package => (*package).to_owned(),
        several => format!("{package} ({})", several.join(", ")),
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;
    use std::path::PathBuf;

    fn program(package: &str, kind: Kind, name: &str) -> Program {
        let (package, name) = (package.to_owned(), name.to_owned());
        Program { package, kind, name, executable: PathBuf::new(), folder: PathBuf::new() }
    }

    #[test]
    fn every_room_is_one_of_the_workspace() {
        let packages = crate::workspace::Workspace::find().unwrap().packages().unwrap();
        for (room, _) in ROOMS {
            assert!(packages.values().any(|package| package == room), "{room}");
        }
    }

    #[test]
    fn every_program_is_in_one_lane_or_shared_out_between_two() {
        let built = [
            program("bessemer-pxe", Kind::Source, "bessemer_pxe"),
            program("bessemer-pxe", Kind::Integration, "firmware"),
            program("bessemer-new", Kind::Integration, "anything"),
            program("bessemer", Kind::Integration, "kubectl"),
            program("bessemer", Kind::Integration, "bmc"),
            program("bessemer-agent", Kind::Integration, "machines"),
            program("bessemer-agent", Kind::Integration, "node"),
            program("bessemer-reconcilers", Kind::Source, "bessemer_reconcilers"),
            program("bessemer-reconcilers", Kind::Integration, "first_light"),
        ];
        let lanes = |program: &Program| -> Vec<Lane> {
            let holds = |lane: &&Lane| parts(**lane, &built).iter().any(|part| part.program == program);
            Lane::value_variants().iter().filter(holds).copied().collect()
        };
        let found: Vec<Vec<Lane>> = built.iter().map(lanes).collect();
        assert_eq!(
            found,
            [
                vec![Lane::Unit],
                vec![Lane::Boot],
                vec![Lane::Unit],
                vec![Lane::Api],
                vec![Lane::Bmc],
                vec![Lane::Machines],
                vec![Lane::Agent],
                vec![Lane::Hosts, Lane::Capi],
                vec![Lane::Capi]
            ]
        );
        let [host, cluster] = [Lane::Hosts, Lane::Capi].map(|lane| parts(lane, &built).remove(0).choose);
        assert_eq!(host, OF_HOSTS);
        assert_eq!(cluster.iter().filter(|argument| *argument != "--skip").collect::<Vec<_>>(), OF_HOSTS);
    }

    #[test]
    fn a_lane_says_what_it_holds() {
        let built = [
            program("ipmi-client", Kind::Integration, "handshake"),
            program("ipmi-client", Kind::Integration, "vectors"),
            program("xtask", Kind::Source, "xtask"),
        ];
        assert_eq!(contents(&parts(Lane::Bmc, &built)), "ipmi-client (handshake, vectors)");
        assert_eq!(contents(&parts(Lane::Unit, &built)), "xtask");
    }
}
