//! What becomes of a Metal3Machine whose host is installed.

use std::sync::Arc;

use bessemer_api::Time;
use bessemer_api::cluster::{AddressKind, Cluster, Machine};
use bessemer_api::conditions::get;
use bessemer_api::infrastructure::{InfraImage, Metal3Machine};
use bessemer_api::metal3::{BareMetalHost, CleaningMode, Nic, ProvisioningState};
use bessemer_api::well_known::{BOOTSTRAP_DELIVERY_ANNOTATION, METAL3_MACHINE_FINALIZER};
use bessemer_protocol::{NodeAddress, NodePhase, NodeReport};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, SecretReference};
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

fn reference(name: &str, namespace: Option<&str>) -> Option<SecretReference> {
    Some(SecretReference { name: Some(name.to_owned()), namespace: namespace.map(str::to_owned) })
}

/// Claims a free host for the machine, then gives it back.
fn claims_and_releases(change: impl FnOnce(&mut Observed)) -> (BareMetalHost, BareMetalHost) {
    let mut seen = installed();
    let mut host = seen.host.take().unwrap();
    host.status.as_mut().unwrap().provisioning.state = ProvisioningState::Available;
    seen.object.spec.image = Some(InfraImage { url: "http://x/image".to_owned(), ..InfraImage::default() });
    let mut machine = Machine::new("cp-abcde", Default::default());
    machine.spec.bootstrap.data_secret_name = Some("cp-abcde".to_owned());
    seen.machine = Some(machine);
    let mut cluster = Cluster::new("first", Default::default());
    let initialization = &mut cluster.status.get_or_insert_default().initialization;
    initialization.get_or_insert_default().infrastructure_provisioned = Some(true);
    seen.cluster = Some(cluster);
    seen.hosts = vec![Arc::new(host)];
    change(&mut seen);
    let (_, claimed) = decide(&seen, Timestamp::UNIX_EPOCH).host.unwrap();
    seen.host = Some(claimed.clone());
    seen.object.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    let (_, released) = decide(&seen, Timestamp::UNIX_EPOCH).host.unwrap();
    (claimed, released)
}

#[test]
fn a_host_is_claimed_with_the_secrets_of_its_machine_and_given_back_without_any() {
    let (claimed, released) = claims_and_releases(|seen| {
        seen.object.spec.meta_data = reference("meta", None);
        seen.object.spec.network_data = reference("network", Some("metal"));
        seen.object.annotations_mut().insert(BOOTSTRAP_DELIVERY_ANNOTATION.to_owned(), "cloud-init".to_owned());
    });
    assert_eq!(claimed.spec.user_data, reference("cp-abcde", Some("metal")));
    assert_eq!(claimed.spec.meta_data, reference("meta", Some("metal")));
    assert_eq!(claimed.spec.network_data, reference("network", Some("metal")));
    assert_eq!(claimed.annotations()[BOOTSTRAP_DELIVERY_ANNOTATION], "cloud-init");
    assert!(claimed.spec.online);
    let spec = &released.spec;
    assert_eq!((&spec.user_data, &spec.meta_data, &spec.network_data), (&None, &None, &None));
    assert!(spec.image.is_none() && spec.online, "it stays in the ramdisk");
    assert!(!released.annotations().contains_key(BOOTSTRAP_DELIVERY_ANNOTATION));

    let (claimed, released) = claims_and_releases(|seen| {
        seen.object.spec.user_data = reference("own", None);
        seen.object.spec.automated_cleaning_mode = Some(CleaningMode::Disabled);
        seen.object.annotations_mut().insert(BOOTSTRAP_DELIVERY_ANNOTATION.to_owned(), "cloud-init".to_owned());
        let host = Arc::make_mut(&mut seen.hosts[0]);
        host.annotations_mut().insert(BOOTSTRAP_DELIVERY_ANNOTATION.to_owned(), "agent".to_owned());
    });
    assert_eq!(claimed.spec.user_data, reference("own", Some("metal")), "in place of the Machine's");
    assert_eq!(claimed.spec.automated_cleaning_mode, Some(CleaningMode::Disabled));
    assert_eq!(released.annotations()[BOOTSTRAP_DELIVERY_ANNOTATION], "agent", "the host's owner's");
    assert!(!released.spec.online, "as CAPM3 does where nothing is cleaned");
}

#[test]
fn a_host_is_let_go_only_when_it_is_erased() {
    for (state, waits) in [
        (ProvisioningState::Provisioning, true),
        (ProvisioningState::Provisioned, true),
        (ProvisioningState::Deprovisioning, true),
        (ProvisioningState::Available, false),
        (ProvisioningState::Preparing, false),
    ] {
        let mut seen = installed();
        seen.object.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        let host = seen.host.as_mut().unwrap();
        host.spec.consumer_ref = Some(ObjectReference::default());
        host.status.as_mut().unwrap().provisioning.state = state;
        let (_, after) = decide(&seen, Timestamp::UNIX_EPOCH).host.unwrap();
        assert_eq!(after.spec.consumer_ref.is_some(), waits, "{state}");
    }
}
