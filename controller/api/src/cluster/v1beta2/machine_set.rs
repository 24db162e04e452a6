//! MachineSet: machines that are all alike.

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::{
    Deprecated, MachineNaming, MachineSetDeletion, MachineSpec, TemplateMetadata, V1Beta1MachineSet, VersionCount,
};
use crate::Condition;

/// A number of machines that are all alike.
#[api]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "MachineSet",
    plural = "machinesets",
    shortname = "ms",
    category = "cluster-api",
    namespaced,
    status = "MachineSetStatus",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    )
)]
#[column("Cluster", string, ".spec.clusterName", "Its cluster")]
#[column("Desired", integer, ".spec.replicas", "Machines that are wanted")]
#[column("Current", integer, ".status.replicas", "Machines that are there")]
#[column("Ready", integer, ".status.readyReplicas", "Machines that are ready")]
#[column("Available", integer, ".status.availableReplicas", "Machines that are available")]
#[column("Up-to-date", integer, ".status.upToDateReplicas", "Machines that are as the template says")]
#[column("Paused", string, ".status.conditions[?(@.type==\"Paused\")].status", "Nothing acts on it", 10)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
#[column("Version", string, ".spec.template.spec.version", "Kubernetes version of its machines")]
pub struct MachineSetSpec {
    /// Cluster it is of.
    #[text(1..=63)]
    pub cluster_name: String,
    /// How many machines.
    pub replicas: Option<i32>,
    /// Which machines are its own; must match the template's labels.
    pub selector: LabelSelector,
    /// What the machines are made from.
    pub template: MachineTemplate,
    /// How their names are made.
    pub machine_naming: Option<MachineNaming>,
    /// Which go first.
    pub deletion: Option<MachineSetDeletion>,
}

/// What machines are made from.
#[api]
pub struct MachineTemplate {
    /// Labels and annotations.
    pub metadata: Option<TemplateMetadata>,
    /// The machine.
    pub spec: MachineSpec,
}

/// What is observed of a set of machines.
#[api(some)]
pub struct MachineSetStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
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
    /// Generation that this status is of.
    #[number(1..)]
    pub observed_generation: Option<i64>,
    /// What older versions said.
    pub deprecated: Option<Deprecated<V1Beta1MachineSet>>,
}
