//! The order in which an object shows its conditions: Cluster API's.

use std::cmp::Ordering;

/// What tells most comes first. What is not listed, such as readiness gates, comes before [`LAST`], by name.
const FIRST: [&str; 35] = [
    "Available",
    "Ready",
    "UpToDate",
    "RemoteConnectionProbe",
    "BootstrapConfigReady",
    "InfrastructureReady",
    "ControlPlaneInitialized",
    "ControlPlaneAvailable",
    "WorkersAvailable",
    "CertificatesAvailable",
    "Initialized",
    "EtcdClusterHealthy",
    "ControlPlaneComponentsHealthy",
    "NodeHealthy",
    "NodeReady",
    "NodeKubeadmLabelsAndTaintsSet",
    "EtcdPodHealthy",
    "EtcdMemberHealthy",
    "APIServerPodHealthy",
    "ControllerManagerPodHealthy",
    "SchedulerPodHealthy",
    "HealthCheckSucceeded",
    "OwnerRemediated",
    "TopologyReconciled",
    "Updating",
    "RollingOut",
    "Remediating",
    "ScalingDown",
    "ScalingUp",
    "MachinesReady",
    "ControlPlaneMachinesReady",
    "WorkerMachinesReady",
    "MachinesUpToDate",
    "ControlPlaneMachinesUpToDate",
    "WorkerMachinesUpToDate",
];
const LAST: [&str; 2] = ["Paused", "Deleting"];

/// Which of two types of conditions is shown first.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    rank(a).cmp(&rank(b)).then_with(|| a.cmp(b))
}

fn rank(type_: &str) -> usize {
    let place = |list: &[&str]| list.iter().position(|known| *known == type_);
    place(&FIRST).or_else(|| Some(FIRST.len() + 1 + place(&LAST)?)).unwrap_or(FIRST.len())
}
