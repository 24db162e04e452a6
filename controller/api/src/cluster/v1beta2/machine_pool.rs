//! MachinePool: machines that the infrastructure scales by itself.

use bessemer_api_macros::api;
use k8s_openapi::api::core::v1::ObjectReference;

use super::{Deprecated, MachineInitialization, MachineTemplate, V1Beta1MachinePool, VersionCount};
use crate::Condition;

/// A number of machines that the infrastructure scales by itself.
#[api]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "MachinePool",
    plural = "machinepools",
    shortname = "mp",
    category = "cluster-api",
    namespaced,
    status = "MachinePoolStatus",
    scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.replicas")
)]
#[column("Cluster", string, ".spec.clusterName", "Its cluster")]
#[column("Desired", integer, ".spec.replicas", "Machines that are wanted")]
#[column("Current", integer, ".status.replicas", "Machines that are there")]
#[column("Ready", integer, ".status.readyReplicas", "Machines that are ready")]
#[column("Available", integer, ".status.availableReplicas", "Machines that are available")]
#[column("Up-to-date", integer, ".status.upToDateReplicas", "Machines that are as the template says")]
#[column("Paused", string, ".status.conditions[?(@.type==\"Paused\")].status", "Nothing acts on it", 10)]
#[column("Phase", string, ".status.phase", "What it is doing")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
#[column("Version", string, ".spec.template.spec.version", "Kubernetes version of its machines")]
pub struct MachinePoolSpec {
    /// Cluster it is of.
    #[text(1..=63)]
    pub cluster_name: String,
    /// How many machines; 1 unless given.
    pub replicas: Option<i32>,
    /// What the machines are made from.
    pub template: MachineTemplate,
    /// Provider ids of the machines, kept by the infrastructure.
    #[serde(rename = "providerIDList")]
    #[list(atomic, ..=10000, each(1..=512))]
    pub provider_id_list: Vec<String>,
    /// Failure domains that they are spread over.
    #[list(atomic, ..=100, each(1..=256))]
    pub failure_domains: Vec<String>,
}

/// What is observed of a pool of machines.
#[api(some)]
pub struct MachinePoolStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// What was reached once.
    pub initialization: Option<MachineInitialization>,
    /// Their Nodes.
    #[list(atomic, ..=10000)]
    pub node_refs: Vec<ObjectReference>,
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
    pub phase: Option<MachinePoolPhase>,
    /// Generation that this status is of.
    #[number(1..)]
    pub observed_generation: Option<i64>,
    /// What older versions said.
    pub deprecated: Option<Deprecated<V1Beta1MachinePool>>,
}

/// What a pool of machines is doing.
#[api]
pub enum MachinePoolPhase {
    /// Nothing happens yet.
    Pending,
    /// Its infrastructure is being made.
    Provisioning,
    /// Its infrastructure is there; its Nodes are not.
    Provisioned,
    /// It has what it wants.
    Running,
    /// It makes machines.
    ScalingUp,
    /// It deletes machines.
    ScalingDown,
    /// Somebody else scales it.
    Scaling,
    /// It is going.
    Deleting,
    /// It failed; never set any more.
    Failed,
    /// Nobody can tell.
    Unknown,
}
