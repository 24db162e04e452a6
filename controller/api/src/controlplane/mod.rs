//! Group `controlplane.cluster.x-k8s.io`: KubeadmControlPlane, v1beta2.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bootstrap::KubeadmConfigSpec;
use crate::cluster::TemplateMetadata;
use crate::crds::{CLUSTERCTL, CONTRACT, of, provider};
use crate::{Condition, ContractReference, Extra};

/// Group of these kinds.
pub const GROUP: &str = "controlplane.cluster.x-k8s.io";

/// The control plane of one cluster, made of machines and kubeadm.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "controlplane.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "KubeadmControlPlane",
    plural = "kubeadmcontrolplanes",
    shortname = "kcp",
    category = "cluster-api",
    namespaced,
    status = "KubeadmControlPlaneStatus",
    scale = r#"{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}"#,
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Cluster","type":"string","description":"Cluster","jsonPath":".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"}"#,
    printcolumn = r#"{"name":"Available","type":"string","description":"Cluster pass all availability checks","jsonPath":".status.conditions[?(@.type==\"Available\")].status"}"#,
    printcolumn = r#"{"name":"Desired","type":"integer","description":"The desired number of machines","jsonPath":".spec.replicas"}"#,
    printcolumn = r#"{"name":"Current","type":"integer","description":"The number of machines","jsonPath":".status.replicas"}"#,
    printcolumn = r#"{"name":"Ready","type":"integer","description":"The number of machines with Ready condition true","jsonPath":".status.readyReplicas"}"#,
    printcolumn = r#"{"name":"Available","type":"integer","description":"The number of machines with Available condition true","jsonPath":".status.availableReplicas"}"#,
    printcolumn = r#"{"name":"Up-to-date","type":"integer","description":"The number of machines with UpToDate condition true","jsonPath":".status.upToDateReplicas"}"#,
    printcolumn = r#"{"name":"Initialized","type":"boolean","description":"This denotes whether or not the control plane can accept requests","jsonPath":".status.initialization.controlPlaneInitialized"}"#,
    printcolumn = r#"{"name":"Age","type":"date","description":"Time duration since creation of KubeadmControlPlane","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Version","type":"string","description":"Kubernetes version associated with this control plane","jsonPath":".spec.version"}"#
)]
pub struct KubeadmControlPlaneSpec {
    /// How many machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Kubernetes version, with a `v`.
    pub version: String,
    /// What the machines are made from.
    pub machine_template: ControlPlaneMachineTemplate,
    /// How they become nodes.
    #[serde(default)]
    pub kubeadm_config_spec: KubeadmConfigSpec,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a control plane's machines are made from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneMachineTemplate {
    /// Labels and annotations of the machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the machines.
    pub spec: ControlPlaneMachineSpec,
}

/// Spec of a control plane's machines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneMachineSpec {
    /// Template of the infrastructure machines.
    pub infrastructure_ref: ContractReference,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is observed of a control plane.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeadmControlPlaneStatus {
    /// Conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What was reached once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<ControlPlaneInitialization>,
    /// Label selector of its machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Machines there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Machines that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Machines that are available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// Machines that are as the spec says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_to_date_replicas: Option<i32>,
    /// Lowest version among its machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Generation that this status is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What was reached once and is never taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneInitialization {
    /// The control plane serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_initialized: Option<bool>,
}

/// The CRDs of this group.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let labels = [CLUSTERCTL, CONTRACT, provider("control-plane-kubeadm")];
    vec![of::<KubeadmControlPlane>(&labels)]
}
