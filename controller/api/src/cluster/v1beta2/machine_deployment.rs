//! MachineDeployment: machines that are all alike, and replaced when their template changes.

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::{
    Deprecated, MachineDeploymentRemediation, MachineNaming, MachineRollout, MachineSetDeletion, MachineTemplate,
    V1Beta1MachineDeployment, VersionCount,
};
use crate::Condition;

/// A number of machines that are all alike, and replaced when their template changes.
#[api]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "MachineDeployment",
    plural = "machinedeployments",
    shortname = "md",
    category = "cluster-api",
    namespaced,
    status = "MachineDeploymentStatus",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    )
)]
#[column("Cluster", string, ".spec.clusterName", "Its cluster")]
#[column("Available", string, ".status.conditions[?(@.type==\"Available\")].status", "Enough machines are available")]
#[column("Desired", integer, ".spec.replicas", "Machines that are wanted")]
#[column("Current", integer, ".status.replicas", "Machines that are there")]
#[column("Ready", integer, ".status.readyReplicas", "Machines that are ready")]
#[column("Available", integer, ".status.availableReplicas", "Machines that are available")]
#[column("Up-to-date", integer, ".status.upToDateReplicas", "Machines that are as the template says")]
#[column("Paused", string, ".status.conditions[?(@.type==\"Paused\")].status", "Nothing acts on it", 10)]
#[column("Phase", string, ".status.phase", "What it is doing")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
#[column("Version", string, ".spec.template.spec.version", "Kubernetes version of its machines")]
pub struct MachineDeploymentSpec {
    /// Cluster it is of.
    #[text(1..=63)]
    pub cluster_name: String,
    /// How many machines; an autoscaler's minimum or 1 unless given.
    pub replicas: Option<i32>,
    /// When and how machines are replaced.
    pub rollout: Option<MachineRollout>,
    /// Which machines are its own; must match the template's labels.
    pub selector: LabelSelector,
    /// What the machines are made from.
    pub template: MachineTemplate,
    /// How their names are made.
    pub machine_naming: Option<MachineNaming>,
    /// What is done about unhealthy ones.
    pub remediation: Option<MachineDeploymentRemediation>,
    /// Which go first.
    pub deletion: Option<MachineSetDeletion>,
    /// Nothing is replaced for now.
    pub paused: Option<bool>,
}

/// What is observed of a deployment of machines.
#[api(some)]
pub struct MachineDeploymentStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// Generation that this status is of.
    #[number(1..)]
    pub observed_generation: Option<i64>,
    /// Label selector of its machines, as text.
    #[text(1..=4096)]
    pub selector: Option<String>,
    /// Machines that are there.
    pub replicas: Option<i32>,
    /// Machines that are ready.
    pub ready_replicas: Option<i32>,
    /// Machines that are available.
    pub available_replicas: Option<i32>,
    /// Machines that are as the template says.
    pub up_to_date_replicas: Option<i32>,
    /// Machines by version.
    #[list(map(version), 1..=100)]
    pub versions: Vec<VersionCount>,
    /// What it is doing.
    pub phase: Option<MachineDeploymentPhase>,
    /// What older versions said.
    pub deprecated: Option<Deprecated<V1Beta1MachineDeployment>>,
}

/// What a deployment of machines is doing.
#[api]
pub enum MachineDeploymentPhase {
    /// It makes machines.
    ScalingUp,
    /// It deletes machines.
    ScalingDown,
    /// It has what it wants.
    Running,
    /// It failed; never set any more.
    Failed,
    /// Nobody can tell.
    Unknown,
}
