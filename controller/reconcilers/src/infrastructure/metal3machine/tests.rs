//! What becomes of a Metal3Machine whose host is installed.

use bessemer_api::cluster::AddressKind;
use bessemer_api::conditions::get;
use bessemer_api::infrastructure::Metal3Machine;
use bessemer_api::metal3::{BareMetalHost, Nic, ProvisioningState};
use bessemer_api::well_known::METAL3_MACHINE_FINALIZER;
use bessemer_protocol::{NodeAddress, NodePhase, NodeReport};
use jiff::Timestamp;
use kube::ResourceExt;

use super::decide::decide;
use super::observe::Observed;

fn installed() -> Observed {
    let mut host = BareMetalHost::new("r7-u12", Default::default());
    host.metadata.namespace = Some("metal".to_owned());
    let status = host.status.get_or_insert_default();
    status.provisioning.state = ProvisioningState::Provisioned;
    let nic = Nic { ip: Some("10.0.0.99".to_owned()), ..Nic::default() };
    status.hardware.get_or_insert_default().nics.push(nic);
    let mut object = Metal3Machine::new("cp-abcde", Default::default());
    object.metadata.namespace = Some("metal".to_owned());
    object.finalizers_mut().push(METAL3_MACHINE_FINALIZER.to_owned());
    Observed {
        object,
        machine: None,
        cluster: None,
        host: Some(host),
        intended: None,
        hosts: Vec::new(),
        node: None,
        seed: 0.0,
    }
}

fn node(phase: NodePhase) -> Option<NodeReport> {
    let addresses = vec![NodeAddress { kind: "InternalIP".to_owned(), address: "10.77.0.112".to_owned() }];
    Some(NodeReport { hostname: "r7-u12".to_owned(), addresses, phase, ..NodeReport::default() })
}

#[test]
fn what_the_node_said_outlives_a_restart_of_the_controller() {
    let failed =
        || NodePhase::Failed { step: "kubeadm".to_owned(), cause: "exit 1".to_owned(), tail: Vec::new(), log: None };
    for (phase, reason) in [(NodePhase::Done, "Ready"), (failed(), "BootstrapFailed")] {
        let mut seen = installed();
        seen.node = node(phase);
        let before = decide(&seen, Timestamp::UNIX_EPOCH).object;
        let status = before.status.clone().unwrap();
        assert_eq!(get(&status.conditions, "Ready").unwrap().reason, reason);
        assert!(status.addresses.iter().any(|address| address.address == "10.77.0.112"));
        seen.object = before.clone();
        seen.node = None;
        assert_eq!(decide(&seen, Timestamp::now()).object, before);
    }
}

#[test]
fn before_the_node_speaks_the_ramdisks_addresses_are_shown_and_then_replaced() {
    let mut seen = installed();
    for (report, address) in [(None, "10.0.0.99"), (node(NodePhase::Done), "10.77.0.112")] {
        seen.node = report;
        seen.object = decide(&seen, Timestamp::UNIX_EPOCH).object;
        let addresses = seen.object.status.clone().unwrap().addresses;
        let internal: Vec<_> = addresses.iter().filter(|address| address.kind == AddressKind::InternalIP).collect();
        assert!(matches!(internal.as_slice(), [only] if only.address == address), "{addresses:?}");
    }
}
