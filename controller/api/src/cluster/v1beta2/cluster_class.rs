//! ClusterClass: what clusters with a topology are made from.

use bessemer_api_macros::api;

use super::{
    ClassPatch, ClassVariable, ClassVariableStatus, ClassWorkers, ConditionGate, Deprecated, HealthChecks,
    MachineDeletion, MachineTaint, Remediation, TemplateMetadata, V1Beta1Conditions,
};
use crate::{Condition, TemplateReference};

/// What clusters with a topology are made from: templates, patches of them, and variables of the patches.
#[api]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "ClusterClass",
    plural = "clusterclasses",
    shortname = "cc",
    category = "cluster-api",
    namespaced,
    status = "ClusterClassStatus"
)]
#[column("Paused", string, ".status.conditions[?(@.type==\"Paused\")].status", "Nothing acts on it", 10)]
#[column(
    "Variables Ready",
    string,
    ".status.conditions[?(@.type==\"VariablesReady\")].status",
    "Its variables are known"
)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct ClusterClassSpec {
    /// Further conditions that must hold before a cluster counts as available.
    #[list(map(conditionType), 1..=32)]
    pub availability_gates: Vec<ConditionGate>,
    /// The infrastructure.
    pub infrastructure: ClassInfrastructure,
    /// The control plane.
    pub control_plane: ClassControlPlane,
    /// Kinds of workers to choose from.
    pub workers: Option<ClassWorkers>,
    /// Variables of the patches.
    #[list(atomic, 1..=1000)]
    pub variables: Vec<ClassVariable>,
    /// Patches of the templates, in this order.
    #[list(atomic, 1..=1000)]
    pub patches: Vec<ClassPatch>,
    /// How clusters are upgraded.
    pub upgrade: Option<ClassUpgrade>,
    /// Versions that an upgrade may go through, from old to new.
    #[list(atomic, 1..=100, each(1..=256))]
    pub kubernetes_versions: Vec<String>,
}

/// The infrastructure of a class.
#[api]
#[derive(Eq)]
pub struct ClassInfrastructure {
    /// Its template.
    pub template_ref: TemplateReference,
    /// How its name is made.
    pub naming: Option<ClassNaming>,
}

/// How a name is made.
#[api(some)]
#[derive(Eq)]
pub struct ClassNaming {
    /// A Go template.
    #[text(1..=1024)]
    pub template: Option<String>,
}

/// A template that a class uses.
#[api]
#[derive(Eq)]
pub struct ClassTemplate {
    /// The template.
    pub template_ref: TemplateReference,
}

/// The control plane of a class.
#[api]
pub struct ClassControlPlane {
    /// Labels and annotations.
    pub metadata: Option<TemplateMetadata>,
    /// Its template.
    pub template_ref: TemplateReference,
    /// Template of its machines' infrastructure, if it is made of machines.
    pub machine_infrastructure: Option<ClassTemplate>,
    /// What makes a machine unhealthy, and what is done about it.
    pub health_check: Option<ClassHealthCheck>,
    /// How its name is made.
    pub naming: Option<ClassNaming>,
    /// How machines go.
    pub deletion: Option<MachineDeletion>,
    /// Taints of their Nodes.
    #[list(map(key, effect), 1..=64)]
    pub taints: Vec<MachineTaint>,
    /// Further conditions that must hold before one counts as ready.
    #[list(map(conditionType), 1..=32)]
    pub readiness_gates: Vec<ConditionGate>,
}

/// Health checks of a class's control plane.
#[api(some)]
#[derive(Eq)]
pub struct ClassHealthCheck {
    /// What makes a machine unhealthy.
    pub checks: Option<HealthChecks>,
    /// What is done about it.
    pub remediation: Option<Remediation>,
}

/// How clusters of a class are upgraded.
#[api(some)]
#[derive(Eq)]
pub struct ClassUpgrade {
    /// By whom.
    pub external: Option<ClassExternalUpgrade>,
}

/// A runtime extension that plans upgrades.
#[api(some)]
#[derive(Eq)]
pub struct ClassExternalUpgrade {
    /// The extension's handler.
    #[text(1..=512)]
    pub generate_upgrade_plan_extension: Option<String>,
}

/// What is observed of a class.
#[api(some)]
pub struct ClusterClassStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// All variables, those that extensions define among them.
    #[list(atomic, ..=1000)]
    pub variables: Vec<ClassVariableStatus>,
    /// Generation that this status is of.
    #[number(1..)]
    pub observed_generation: Option<i64>,
    /// What older versions said.
    pub deprecated: Option<Deprecated<V1Beta1Conditions>>,
}
