//! MachineHealthCheck: finds machines that are unhealthy and asks for their replacement.

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::{Deprecated, HealthChecks, Remediation, V1Beta1Conditions};
use crate::Condition;

/// Watches over machines and asks for the replacement of unhealthy ones.
#[api]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "MachineHealthCheck",
    plural = "machinehealthchecks",
    shortname = "mhc",
    shortname = "mhcs",
    category = "cluster-api",
    namespaced,
    status = "MachineHealthCheckStatus"
)]
#[column("Cluster", string, ".spec.clusterName", "Its cluster")]
#[column("Replicas", integer, ".status.expectedMachines", "Machines that it watches")]
#[column("Healthy", integer, ".status.currentHealthy", "Machines of these that are healthy")]
#[column("Paused", string, ".status.conditions[?(@.type==\"Paused\")].status", "Nothing acts on it", 10)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct MachineHealthCheckSpec {
    /// Cluster it is of.
    #[text(1..=63)]
    pub cluster_name: String,
    /// Which machines it watches; none, if empty.
    pub selector: LabelSelector,
    /// What makes one unhealthy.
    pub checks: Option<HealthChecks>,
    /// What is done about it.
    pub remediation: Option<Remediation>,
}

/// What is observed of a health check.
#[api(some)]
pub struct MachineHealthCheckStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// Machines that it watches.
    #[number(0..)]
    pub expected_machines: Option<i32>,
    /// Machines of these that are healthy.
    #[number(0..)]
    pub current_healthy: Option<i32>,
    /// How many more may be replaced now.
    #[number(0..)]
    pub remediations_allowed: Option<i32>,
    /// Generation that this status is of.
    #[number(1..)]
    pub observed_generation: Option<i64>,
    /// Names of the machines that it watches.
    #[list(atomic, ..=10000, each(1..=253))]
    pub targets: Vec<String>,
    /// What older versions said.
    pub deprecated: Option<Deprecated<V1Beta1Conditions>>,
}
