//! Tables of what is seen of a Machine and what is decided.

use bessemer_api::bootstrap::{KubeadmConfigInitialization, KubeadmConfigStatus};
use bessemer_api::conditions::get;
use bessemer_api::infrastructure::InfraInitialization;

use super::*;
use crate::outside::{ClusterKey, NodeView, WorkloadError};

fn seen(bootstrapped: bool, provisioned: bool, node: NodeLook) -> Observed {
    let mut machine = Machine::new("m", Default::default());
    machine.spec.bootstrap.config_ref = Some(Default::default());
    let mut config = KubeadmConfig::new("m", Default::default());
    config.status = Some(KubeadmConfigStatus {
        initialization: Some(KubeadmConfigInitialization { data_secret_created: Some(bootstrapped) }),
        data_secret_name: Some("m".to_owned()),
        ..Default::default()
    });
    let mut infrastructure = Metal3Machine::new("m", Default::default());
    infrastructure.spec.provider_id = provisioned.then(|| "metal3://metal/h/m".to_owned());
    infrastructure.status.get_or_insert_default().initialization =
        Some(InfraInitialization { provisioned: Some(provisioned) });
    Observed { machine, cluster: None, config: Some(config), infrastructure: Some(infrastructure), node }
}

fn node(ready: bool) -> NodeLook {
    NodeLook::Found(NodeView { name: "h".to_owned(), ready: Some((ready, "cni".to_owned())), ..NodeView::default() })
}

#[test]
fn phases_and_waits() {
    let away = || {
        let cluster = ClusterKey { namespace: "metal".to_owned(), name: "c".to_owned() };
        NodeLook::Unreachable(WorkloadError::Unreachable { cluster, why: "timeout".to_owned() })
    };
    for (observed, phase, wake, healthy) in [
        (seen(false, false, NodeLook::NotYet), "Pending", None, "InspectionFailed"),
        (seen(true, false, NodeLook::NotYet), "Provisioning", None, "InspectionFailed"),
        (seen(true, true, away()), "Provisioned", Some(UNREACHABLE_POLL), "ConnectionDown"),
        (seen(true, true, NodeLook::Missing), "Provisioned", Some(NODE_POLL), "NodeDoesNotExist"),
        (seen(true, true, node(false)), "Running", Some(NODE_POLL), "NodeNotHealthy"),
        (seen(true, true, node(true)), "Running", Some(HEALTHY_POLL), "NodeHealthy"),
    ] {
        let decision = decide(&observed, Timestamp::UNIX_EPOCH);
        let status = decision.machine.status.clone().unwrap();
        assert_eq!(status.phase.map(MachinePhase::as_str), Some(phase));
        assert_eq!(decision.wake, wake, "{phase}");
        assert_eq!(get(&status.conditions, "NodeHealthy").unwrap().reason, healthy);
        let again = Observed { machine: decision.machine.clone(), ..observed };
        assert_eq!(decide(&again, Timestamp::MAX).machine, decision.machine, "a second pass changes nothing");
    }
}

#[test]
fn the_provider_id_comes_with_provisioned() {
    let decision = decide(&seen(true, true, NodeLook::Missing), Timestamp::UNIX_EPOCH);
    assert_eq!(decision.machine.spec.provider_id.as_deref(), Some("metal3://metal/h/m"));
    assert_eq!(decision.machine.spec.bootstrap.data_secret_name.as_deref(), Some("m"));
}

#[test]
fn infrastructure_goes_before_bootstrap() {
    let mut observed = seen(true, true, NodeLook::NotYet);
    observed.machine.metadata.deletion_timestamp = Some(time(Timestamp::UNIX_EPOCH));
    observed.machine.finalizers_mut().push(MACHINE_FINALIZER.to_owned());
    assert_eq!(decide(&observed, Timestamp::UNIX_EPOCH).delete, Some(Delete::Infrastructure));
    observed.infrastructure = None;
    assert_eq!(decide(&observed, Timestamp::UNIX_EPOCH).delete, Some(Delete::Bootstrap));
    observed.config = None;
    let decision = decide(&observed, Timestamp::UNIX_EPOCH);
    assert!(decision.delete.is_none() && decision.machine.finalizers().is_empty());
}
