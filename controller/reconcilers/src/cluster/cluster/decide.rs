//! The rules of Cluster.

use bessemer_api::cluster::{Cluster, ClusterMachineCounts, ClusterPhase};
use bessemer_api::conditions::{self, Reasons, Status, Summary, Wanted, wanted};
use bessemer_api::controlplane::KubeadmControlPlane;
use bessemer_api::infrastructure::Metal3Cluster;
use bessemer_api::well_known::{CLUSTER_FINALIZER, CLUSTER_NAME_LABEL};
use bessemer_api::{Condition, ContractReference};
use jiff::Timestamp;
use kube::{Resource, ResourceExt};

use super::observe::Observed;
use crate::cluster::mirrored;
use crate::kubernetes::{is_deleting, own, time};

/// One step.
#[derive(Debug, Clone, Default)]
pub(super) struct Decision {
    /// The Cluster as it shall be.
    pub(super) cluster: Cluster,
    /// The infrastructure as it shall be.
    pub(super) infrastructure: Option<Metal3Cluster>,
    /// The control plane as it shall be.
    pub(super) control_plane: Option<KubeadmControlPlane>,
    /// What is to be deleted now.
    pub(super) delete: Option<Delete>,
}

/// The order of deletion: those who need the others first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delete {
    Workers,
    ControlPlane,
    Infrastructure,
}

/// What a Cluster shall become next.
pub(super) fn decide(seen: &Observed, now: Timestamp) -> Decision {
    let mut decision = Decision {
        cluster: seen.cluster.clone(),
        infrastructure: seen.infrastructure.clone(),
        control_plane: seen.control_plane.clone(),
        delete: None,
    };
    if crate::cluster::is_paused(&seen.cluster, Some(&seen.cluster)) {
        return decision;
    }
    if is_deleting(&seen.cluster) {
        delete(seen, &mut decision, now);
        return decision;
    }
    let finalizers = decision.cluster.finalizers_mut();
    if !finalizers.iter().any(|finalizer| finalizer == CLUSTER_FINALIZER) {
        finalizers.push(CLUSTER_FINALIZER.to_owned());
    }
    if let Some(infrastructure) = &mut decision.infrastructure {
        adopt(infrastructure, &seen.cluster);
    }
    if let Some(control_plane) = &mut decision.control_plane {
        adopt(control_plane, &seen.cluster);
    }
    follow(seen, &mut decision.cluster);
    show(seen, &mut decision.cluster, now);
    decision
}

fn adopt<K: Resource<DynamicType = ()>>(object: &mut K, cluster: &Cluster) {
    object.labels_mut().insert(CLUSTER_NAME_LABEL.to_owned(), cluster.name_any());
    own(object.meta_mut(), cluster, false);
}

/// Takes over what infrastructure and control plane have reached; never takes it back.
fn follow(seen: &Observed, cluster: &mut Cluster) {
    let infrastructure = seen.infrastructure.as_ref().filter(|object| is_provisioned(object));
    if let Some(infrastructure) = infrastructure {
        let own = cluster.spec.control_plane_endpoint.as_ref().is_some_and(|endpoint| endpoint.is_valid());
        if !own {
            cluster.spec.control_plane_endpoint.clone_from(&infrastructure.spec.control_plane_endpoint);
        }
    }
    let provisioned = infrastructure.is_some() || cluster.spec.infrastructure_ref.is_none();
    let initialized = seen.control_plane.as_ref().is_some_and(is_initialized);
    let status = cluster.status.get_or_insert_default();
    if provisioned {
        status.initialization.get_or_insert_default().infrastructure_provisioned = Some(true);
    }
    if initialized {
        status.initialization.get_or_insert_default().control_plane_initialized = Some(true);
    }
    status.control_plane = seen.control_plane.as_ref().map(|object| {
        let counts = object.status.clone().unwrap_or_default();
        ClusterMachineCounts {
            desired_replicas: object.spec.replicas,
            replicas: counts.replicas,
            up_to_date_replicas: counts.up_to_date_replicas,
            ready_replicas: counts.ready_replicas,
            available_replicas: counts.available_replicas,
            versions: counts.versions,
            upgrade_plan: Vec::new(),
        }
    });
}

fn show(seen: &Observed, cluster: &mut Cluster, now: Timestamp) {
    let spec = cluster.spec.clone();
    let generation = cluster.metadata.generation;
    let status = cluster.status.get_or_insert_default();
    let reached = status.initialization.clone().unwrap_or_default();
    let endpoint = spec.control_plane_endpoint.as_ref().is_some_and(|endpoint| endpoint.is_valid());
    let phase = if reached.infrastructure_provisioned == Some(true) && endpoint {
        ClusterPhase::Provisioned
    } else if spec.infrastructure_ref.is_some() || spec.control_plane_ref.is_some() {
        ClusterPhase::Provisioning
    } else {
        ClusterPhase::Pending
    };
    status.phase = Some(phase);
    status.observed_generation = generation;
    let infrastructure = seen
        .infrastructure
        .as_ref()
        .map(|object| object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default());
    let infrastructure = referred("InfrastructureReady", "Ready", spec.infrastructure_ref.as_ref(), infrastructure);
    let control_plane = seen
        .control_plane
        .as_ref()
        .map(|object| object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default());
    let control_plane = referred("ControlPlaneAvailable", "Available", spec.control_plane_ref.as_ref(), control_plane);
    let initialized = if reached.control_plane_initialized == Some(true) {
        wanted("ControlPlaneInitialized", true, "Initialized", "")
    } else {
        wanted("ControlPlaneInitialized", false, "NotInitialized", "the control plane does not serve yet")
    };
    for condition in [infrastructure, control_plane, initialized] {
        conditions::set(&mut status.conditions, condition, generation, time(now));
    }
    if let Some(available) = AVAILABLE.of(&status.conditions) {
        conditions::set(&mut status.conditions, available, generation, time(now));
    }
}

/// What a cluster's availability is made of.
const AVAILABLE: Summary<'static> = Summary {
    target: "Available",
    types: &["Deleting", "InfrastructureReady", "ControlPlaneAvailable", "ControlPlaneInitialized"],
    negative: &["Deleting"],
    optional: &["Deleting"],
    overrides: &[],
    reasons: Reasons { issue: "NotAvailable", unknown: "AvailableUnknown", info: "Available" },
    priority: None,
    transform: None,
};

fn referred(
    type_: &'static str,
    theirs: &str,
    reference: Option<&ContractReference>,
    list: Option<&[Condition]>,
) -> Wanted {
    match reference {
        Some(reference) => mirrored(type_, theirs, reference, list),
        None => wanted(type_, Status::Unknown, "NotReferred", "the Cluster refers to none"),
    }
}

fn delete(seen: &Observed, decision: &mut Decision, now: Timestamp) {
    let step = if !seen.workers.is_empty() {
        Some((Delete::Workers, "WaitingForWorkersDeletion"))
    } else if seen.control_plane.is_some() {
        Some((Delete::ControlPlane, "WaitingForControlPlaneDeletion"))
    } else if seen.infrastructure.is_some() {
        Some((Delete::Infrastructure, "WaitingForInfrastructureDeletion"))
    } else {
        None
    };
    decision.delete = step.map(|(what, _)| what);
    let generation = decision.cluster.metadata.generation;
    match step {
        None => decision.cluster.finalizers_mut().retain(|finalizer| finalizer != CLUSTER_FINALIZER),
        Some((_, reason)) => {
            let status = decision.cluster.status.get_or_insert_default();
            status.phase = Some(ClusterPhase::Deleting);
            conditions::set(&mut status.conditions, wanted("Deleting", true, reason, ""), generation, time(now));
        }
    }
}

fn is_provisioned(object: &Metal3Cluster) -> bool {
    let initialization = object.status.as_ref().and_then(|status| status.initialization.as_ref());
    initialization.is_some_and(|initialization| initialization.provisioned == Some(true))
}

fn is_initialized(object: &KubeadmControlPlane) -> bool {
    let initialization = object.status.as_ref().and_then(|status| status.initialization.as_ref());
    initialization.is_some_and(|initialization| initialization.control_plane_initialized == Some(true))
}

#[cfg(test)]
mod tests {
    use bessemer_api::cluster::ApiEndpoint;
    use bessemer_api::infrastructure::InfraInitialization;

    use super::*;

    fn seen(provisioned: bool) -> Observed {
        let mut cluster = Cluster::new("c", Default::default());
        cluster.spec.infrastructure_ref = Some(ContractReference {
            api_group: bessemer_api::infrastructure::GROUP.to_owned(),
            kind: "Metal3Cluster".to_owned(),
            name: "c".to_owned(),
        });
        let mut infrastructure = Metal3Cluster::new("c", Default::default());
        infrastructure.spec.control_plane_endpoint = Some(ApiEndpoint::new("10.0.0.1", 6443));
        infrastructure.status.get_or_insert_default().initialization =
            Some(InfraInitialization { provisioned: Some(provisioned) });
        Observed { cluster, infrastructure: Some(infrastructure), ..Observed::default() }
    }

    #[test]
    fn the_endpoint_is_taken_over_once_provisioned() {
        for (provisioned, phase, endpoint) in [
            (false, ClusterPhase::Provisioning, None),
            (true, ClusterPhase::Provisioned, Some(ApiEndpoint::new("10.0.0.1", 6443))),
        ] {
            let after = decide(&seen(provisioned), Timestamp::UNIX_EPOCH).cluster;
            assert_eq!(after.status.unwrap().phase, Some(phase));
            assert_eq!(after.spec.control_plane_endpoint, endpoint);
        }
    }

    #[test]
    fn deletion_goes_from_workers_to_infrastructure() {
        let mut observed = seen(true);
        observed.cluster.metadata.deletion_timestamp = Some(time(Timestamp::UNIX_EPOCH));
        observed.cluster.finalizers_mut().push(CLUSTER_FINALIZER.to_owned());
        observed.control_plane = Some(KubeadmControlPlane::default());
        observed.workers = vec![Default::default()];
        let delete = |observed: &Observed| decide(observed, Timestamp::UNIX_EPOCH).delete;
        assert_eq!(delete(&observed), Some(Delete::Workers));
        observed.workers.clear();
        assert_eq!(delete(&observed), Some(Delete::ControlPlane));
        observed.control_plane = None;
        assert_eq!(delete(&observed), Some(Delete::Infrastructure));
        observed.infrastructure = None;
        let decision = decide(&observed, Timestamp::UNIX_EPOCH);
        assert!(decision.delete.is_none() && decision.cluster.finalizers().is_empty());
    }

    #[test]
    fn a_second_pass_changes_nothing() {
        let first = decide(&seen(true), Timestamp::UNIX_EPOCH);
        let again =
            Observed { cluster: first.cluster.clone(), infrastructure: first.infrastructure.clone(), ..seen(true) };
        assert_eq!(decide(&again, Timestamp::MAX).cluster, first.cluster);
    }
}
