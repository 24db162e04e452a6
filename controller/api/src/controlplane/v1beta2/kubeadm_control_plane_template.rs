//! KubeadmControlPlaneTemplate: what a class's control planes are made from.

use bessemer_api_macros::api;

use super::{ControlPlaneRemediation, ControlPlaneRollout};
use crate::bootstrap::KubeadmConfigSpec;
use crate::cluster::{MachineDeletion, MachineNaming, MachineTaint, TemplateMetadata};

/// What a class's control planes are made from.
#[api(optional_spec)]
#[kube(
    group = "controlplane.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "KubeadmControlPlaneTemplate",
    plural = "kubeadmcontrolplanetemplates",
    category = "cluster-api",
    namespaced
)]
#[column(
    "ClusterClass",
    string,
    ".metadata.ownerReferences[?(@.kind==\"ClusterClass\")].name",
    "Class that it belongs to"
)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct KubeadmControlPlaneTemplateSpec {
    /// The template.
    pub template: KubeadmControlPlaneTemplateResource,
}

/// One KubeadmControlPlane to be.
#[api(some)]
pub struct KubeadmControlPlaneTemplateResource {
    /// Labels and annotations.
    pub metadata: Option<TemplateMetadata>,
    /// Its spec.
    pub spec: Option<KubeadmControlPlaneTemplateResourceSpec>,
}

/// Spec of a KubeadmControlPlane, without what the topology gives: replicas, version and infrastructure.
#[api(some)]
pub struct KubeadmControlPlaneTemplateResourceSpec {
    /// What the machines are made from.
    pub machine_template: Option<TemplateMachineTemplate>,
    /// How they become nodes.
    pub kubeadm_config_spec: Option<KubeadmConfigSpec>,
    /// When and how they are replaced.
    pub rollout: Option<ControlPlaneRollout>,
    /// What is done about those that fail.
    pub remediation: Option<ControlPlaneRemediation>,
    /// How their names are made.
    pub machine_naming: Option<MachineNaming>,
}

/// What the machines are made from.
#[api(some)]
pub struct TemplateMachineTemplate {
    /// Labels and annotations.
    pub metadata: Option<TemplateMetadata>,
    /// The machine.
    pub spec: Option<TemplateMachineSpec>,
}

/// Spec of the machines.
#[api(some)]
pub struct TemplateMachineSpec {
    /// How they go.
    pub deletion: Option<MachineDeletion>,
    /// Taints of their Nodes.
    #[list(map(key, effect), 1..=64)]
    pub taints: Vec<MachineTaint>,
}
