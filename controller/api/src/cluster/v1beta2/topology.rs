//! A cluster's topology: which class it is made from, and how it differs from it.

use bessemer_api_macros::api;
use serde_json::Value;

use super::{
    ConditionGate, DeploymentRemediation, HealthChecks, MachineDeletion, MachineDeploymentDeletion, MachineRollout,
    MachineTaint, Remediation, TemplateMetadata,
};
use crate::Time;
use crate::patterns::{DNS_LABEL, SUBDOMAIN};

/// Which class a cluster is made from, and how it differs from it.
#[api]
pub struct Topology {
    /// The class.
    pub class_ref: ClassReference,
    /// Kubernetes version, with a `v`.
    #[text(1..=256)]
    pub version: String,
    /// Its control plane.
    pub control_plane: Option<TopologyControlPlane>,
    /// Its workers.
    pub workers: Option<TopologyWorkers>,
    /// Values of the class's variables.
    #[list(map(name), 1..=1000)]
    pub variables: Vec<TopologyVariable>,
}

/// A ClusterClass.
#[api]
#[derive(Eq)]
pub struct ClassReference {
    /// Name.
    #[text(1..=253, SUBDOMAIN)]
    pub name: String,
    /// Namespace; the cluster's unless given.
    #[text(1..=63, DNS_LABEL)]
    pub namespace: Option<String>,
}

/// The value of one variable.
#[api]
pub struct TopologyVariable {
    /// Which.
    #[text(1..=256)]
    pub name: String,
    /// As the variable's schema wants it.
    pub value: Value,
}

/// Values of variables for a part of the cluster.
#[api(some)]
pub struct VariableOverrides {
    /// The values.
    #[list(map(name), 1..=1000)]
    pub overrides: Vec<TopologyVariable>,
}

/// How the control plane differs from the class.
#[api(some)]
pub struct TopologyControlPlane {
    /// More labels and annotations.
    pub metadata: Option<TemplateMetadata>,
    /// How many machines.
    pub replicas: Option<i32>,
    /// When machines are replaced.
    pub rollout: Option<TopologyControlPlaneRollout>,
    /// What makes one unhealthy, and what is done about it.
    pub health_check: Option<TopologyHealthCheck>,
    /// How they go.
    pub deletion: Option<MachineDeletion>,
    /// Taints of their Nodes.
    #[list(map(key, effect), 1..=64)]
    pub taints: Vec<MachineTaint>,
    /// Further conditions that must hold before one counts as ready.
    #[list(map(conditionType), 1..=32)]
    pub readiness_gates: Vec<ConditionGate>,
    /// Values of variables for it alone.
    pub variables: Option<VariableOverrides>,
}

/// When control plane machines are replaced.
#[api(some)]
pub struct TopologyControlPlaneRollout {
    /// Replace machines that are older than this, once it is past.
    pub after: Option<Time>,
}

/// Health checks of a control plane.
#[api(some)]
#[derive(Eq)]
pub struct TopologyHealthCheck {
    /// Whether there are any; as the class says unless given.
    pub enabled: Option<bool>,
    /// What makes a machine unhealthy.
    pub checks: Option<HealthChecks>,
    /// What is done about it.
    pub remediation: Option<Remediation>,
}

/// A cluster's workers.
#[api(some)]
pub struct TopologyWorkers {
    /// MachineDeployments.
    #[list(map(name), 1..=2000)]
    pub machine_deployments: Vec<TopologyMachineDeployment>,
    /// MachinePools.
    #[list(map(name), 1..=2000)]
    pub machine_pools: Vec<TopologyMachinePool>,
}

/// One MachineDeployment, and how it differs from its class.
#[api]
pub struct TopologyMachineDeployment {
    /// More labels and annotations.
    pub metadata: Option<TemplateMetadata>,
    /// Which of the class's.
    #[text(1..=256)]
    pub class: String,
    /// Its name in the topology.
    #[text(1..=63, SUBDOMAIN)]
    pub name: String,
    /// Failure domain of its machines.
    #[text(1..=256)]
    pub failure_domain: Option<String>,
    /// How many machines.
    pub replicas: Option<i32>,
    /// What makes one unhealthy, and what is done about it.
    pub health_check: Option<TopologyDeploymentHealthCheck>,
    /// How they go, and which go first.
    pub deletion: Option<MachineDeploymentDeletion>,
    /// Taints of their Nodes.
    #[list(map(key, effect), 1..=64)]
    pub taints: Vec<MachineTaint>,
    /// How long one must be ready before it counts as available.
    #[number(0..)]
    pub min_ready_seconds: Option<i32>,
    /// Further conditions that must hold before one counts as ready.
    #[list(map(conditionType), 1..=32)]
    pub readiness_gates: Vec<ConditionGate>,
    /// When and how they are replaced.
    pub rollout: Option<MachineRollout>,
    /// Values of variables for it alone.
    pub variables: Option<VariableOverrides>,
}

/// Health checks of a MachineDeployment.
#[api(some)]
#[derive(Eq)]
pub struct TopologyDeploymentHealthCheck {
    /// Whether there are any; as the class says unless given.
    pub enabled: Option<bool>,
    /// What makes a machine unhealthy.
    pub checks: Option<HealthChecks>,
    /// What is done about it.
    pub remediation: Option<DeploymentRemediation>,
}

/// One MachinePool, and how it differs from its class.
#[api]
pub struct TopologyMachinePool {
    /// More labels and annotations.
    pub metadata: Option<TemplateMetadata>,
    /// Which of the class's.
    #[text(1..=256)]
    pub class: String,
    /// Its name in the topology.
    #[text(1..=63, SUBDOMAIN)]
    pub name: String,
    /// Failure domains that its machines are spread over.
    #[list(atomic, 1..=100, each(1..=256))]
    pub failure_domains: Vec<String>,
    /// How they go.
    pub deletion: Option<MachineDeletion>,
    /// Taints of their Nodes.
    #[list(map(key, effect), 1..=64)]
    pub taints: Vec<MachineTaint>,
    /// How long one must be ready before it counts as available.
    #[number(0..)]
    pub min_ready_seconds: Option<i32>,
    /// How many machines.
    pub replicas: Option<i32>,
    /// Values of variables for it alone.
    pub variables: Option<VariableOverrides>,
}
