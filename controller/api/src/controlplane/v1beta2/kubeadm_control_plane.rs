//! KubeadmControlPlane: the control plane of one cluster.

use bessemer_api_macros::api;

use super::{ControlPlaneRemediation, ControlPlaneRollout, LastRemediation};
use crate::bootstrap::KubeadmConfigSpec;
use crate::cluster::{
    ConditionGate, Deprecated, MachineDeletion, MachineNaming, MachineTaint, TemplateMetadata, V1Beta1Condition,
    VersionCount,
};
use crate::{Condition, ContractReference};

/// The control plane of one cluster, made of machines and kubeadm.
#[api]
#[kube(
    group = "controlplane.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "KubeadmControlPlane",
    plural = "kubeadmcontrolplanes",
    shortname = "kcp",
    category = "cluster-api",
    namespaced,
    status = "KubeadmControlPlaneStatus",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    )
)]
#[column("Cluster", string, ".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']", "Its cluster")]
#[column(
    "Available",
    string,
    ".status.conditions[?(@.type==\"Available\")].status",
    "It passes all availability checks"
)]
#[column("Desired", integer, ".spec.replicas", "Machines that are wanted")]
#[column("Current", integer, ".status.replicas", "Machines that are there")]
#[column("Ready", integer, ".status.readyReplicas", "Machines that are ready")]
#[column("Available", integer, ".status.availableReplicas", "Machines that are available")]
#[column("Up-to-date", integer, ".status.upToDateReplicas", "Machines that are as wanted")]
#[column("Paused", string, ".status.conditions[?(@.type==\"Paused\")].status", "Nothing acts on it", 10)]
#[column("Initialized", boolean, ".status.initialization.controlPlaneInitialized", "Its API server has come up once")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
#[column("Version", string, ".spec.version", "Its Kubernetes version")]
pub struct KubeadmControlPlaneSpec {
    /// How many machines; 1 unless given.
    pub replicas: Option<i32>,
    /// Kubernetes version, with a `v`.
    #[text(1..=256)]
    pub version: String,
    /// What the machines are made from.
    pub machine_template: ControlPlaneMachineTemplate,
    /// How they become nodes.
    pub kubeadm_config_spec: Option<KubeadmConfigSpec>,
    /// When and how they are replaced.
    pub rollout: Option<ControlPlaneRollout>,
    /// What is done about those that fail.
    pub remediation: Option<ControlPlaneRemediation>,
    /// How their names are made.
    pub machine_naming: Option<MachineNaming>,
}

/// What a control plane's machines are made from.
#[api]
pub struct ControlPlaneMachineTemplate {
    /// Labels and annotations.
    pub metadata: Option<TemplateMetadata>,
    /// The machine.
    pub spec: ControlPlaneMachineSpec,
}

/// Spec of a control plane's machines.
#[api]
pub struct ControlPlaneMachineSpec {
    /// Template of the infrastructure machines.
    pub infrastructure_ref: ContractReference,
    /// Further conditions that must hold before one counts as ready.
    #[list(map(conditionType), 1..=32)]
    pub readiness_gates: Vec<ConditionGate>,
    /// How they go.
    pub deletion: Option<MachineDeletion>,
    /// Taints of their Nodes.
    #[list(map(key, effect), 1..=64)]
    pub taints: Vec<MachineTaint>,
}

/// What is observed of a control plane.
#[api(some)]
pub struct KubeadmControlPlaneStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// What was reached once.
    pub initialization: Option<ControlPlaneInitialization>,
    /// Label selector of its machines, as text.
    #[text(1..=4096)]
    pub selector: Option<String>,
    /// Machines that are there.
    pub replicas: Option<i32>,
    /// Machines that are ready.
    pub ready_replicas: Option<i32>,
    /// Machines that are available.
    pub available_replicas: Option<i32>,
    /// Machines that are as wanted.
    pub up_to_date_replicas: Option<i32>,
    /// Machines by version, from old to new.
    #[list(map(version), 1..=100)]
    pub versions: Vec<VersionCount>,
    /// Lowest version among its machines.
    #[text(1..=256)]
    pub version: Option<String>,
    /// Generation that this status is of.
    #[number(1..)]
    pub observed_generation: Option<i64>,
    /// The newest replacement of a machine that failed.
    pub last_remediation: Option<LastRemediation>,
    /// What older versions said.
    pub deprecated: Option<Deprecated<V1Beta1ControlPlane>>,
}

/// What was reached once and is never taken back.
#[api(some)]
#[derive(Eq)]
pub struct ControlPlaneInitialization {
    /// The control plane serves.
    pub control_plane_initialized: Option<bool>,
}

/// What v1beta1 said of it.
#[api]
pub struct V1Beta1ControlPlane {
    /// Conditions.
    pub conditions: Vec<V1Beta1Condition>,
    /// The failure, for programs.
    pub failure_reason: Option<String>,
    /// The failure, for people.
    #[text(1..=10240)]
    pub failure_message: Option<String>,
    /// Machines that are as wanted.
    pub updated_replicas: Option<i32>,
    /// Machines with a ready Node.
    pub ready_replicas: Option<i32>,
    /// Machines that are missing or not ready.
    pub unavailable_replicas: Option<i32>,
}
