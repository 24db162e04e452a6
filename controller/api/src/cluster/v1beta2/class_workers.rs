//! Workers of a class: kinds of MachineDeployments and MachinePools that topologies choose from.

use bessemer_api_macros::api;

use super::{
    ClassNaming, ClassTemplate, ConditionGate, DeploymentRemediation, HealthChecks, MachineDeletion,
    MachineDeploymentDeletion, MachineTaint, RolloutStrategy, TemplateMetadata,
};

/// Kinds of workers.
#[api(some)]
pub struct ClassWorkers {
    /// Kinds of MachineDeployments.
    #[list(map(class), 1..=100)]
    pub machine_deployments: Vec<ClassMachineDeployment>,
    /// Kinds of MachinePools.
    #[list(map(class), 1..=100)]
    pub machine_pools: Vec<ClassMachinePool>,
}

/// A kind of MachineDeployment.
#[api]
pub struct ClassMachineDeployment {
    /// Labels and annotations.
    pub metadata: Option<TemplateMetadata>,
    /// Its name in the class.
    #[text(1..=256)]
    pub class: String,
    /// Template of the bootstrap configuration.
    pub bootstrap: ClassTemplate,
    /// Template of the infrastructure.
    pub infrastructure: ClassTemplate,
    /// What makes a machine unhealthy, and what is done about it.
    pub health_check: Option<ClassDeploymentHealthCheck>,
    /// Failure domain of the machines.
    #[text(1..=256)]
    pub failure_domain: Option<String>,
    /// How its name is made.
    pub naming: Option<ClassNaming>,
    /// How machines go, and which go first.
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
    /// How they are replaced.
    pub rollout: Option<ClassRollout>,
}

/// Health checks of a MachineDeployment.
#[api(some)]
#[derive(Eq)]
pub struct ClassDeploymentHealthCheck {
    /// What makes a machine unhealthy.
    pub checks: Option<HealthChecks>,
    /// What is done about it.
    pub remediation: Option<DeploymentRemediation>,
}

/// How machines are replaced.
#[api(some)]
pub struct ClassRollout {
    /// Which way.
    pub strategy: Option<RolloutStrategy>,
}

/// A kind of MachinePool.
#[api]
pub struct ClassMachinePool {
    /// Labels and annotations.
    pub metadata: Option<TemplateMetadata>,
    /// Its name in the class.
    #[text(1..=256)]
    pub class: String,
    /// Template of the bootstrap configuration.
    pub bootstrap: ClassTemplate,
    /// Template of the infrastructure.
    pub infrastructure: ClassTemplate,
    /// Failure domains that the machines are spread over.
    #[list(atomic, ..=100, each(1..=256))]
    pub failure_domains: Vec<String>,
    /// How its name is made.
    pub naming: Option<ClassNaming>,
    /// How machines go.
    pub deletion: Option<MachineDeletion>,
    /// Taints of their Nodes.
    #[list(map(key, effect), 1..=64)]
    pub taints: Vec<MachineTaint>,
    /// How long one must be ready before it counts as available.
    #[number(0..)]
    pub min_ready_seconds: Option<i32>,
}
