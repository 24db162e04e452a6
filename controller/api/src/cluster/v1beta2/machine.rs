//! Machine: one node to be.

use bessemer_api_macros::api;

use super::{ConditionGate, Deprecated, MachineAddress, MachineDeletion, MachineTaint, NodeInfo, V1Beta1Failure};
use crate::{Condition, ContractReference, NameReference, Time};

/// One machine of a cluster: where it runs and how it becomes a node.
#[api]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Machine",
    plural = "machines",
    shortname = "ma",
    category = "cluster-api",
    namespaced,
    status = "MachineStatus"
)]
#[column("Cluster", string, ".spec.clusterName", "Its cluster")]
#[column("Node Name", string, ".status.nodeRef.name", "Its Node")]
#[column("Provider ID", string, ".spec.providerID", "Its Node's provider id", 10)]
#[column("Failure domain", string, ".status.failureDomain", "Failure domain that it runs in")]
#[column("Ready", string, ".status.conditions[?(@.type==\"Ready\")].status", "It passes all readiness checks")]
#[column(
    "Available",
    string,
    ".status.conditions[?(@.type==\"Available\")].status",
    "It has been ready for long enough"
)]
#[column("Up-to-date", string, ".status.conditions[?(@.type==\"UpToDate\")].status", "It is as its owner wants it")]
#[column("Internal-IP", string, ".status.addresses[?(@.type==\"InternalIP\")].address", "Its internal address", 10)]
#[column("External-IP", string, ".status.addresses[?(@.type==\"ExternalIP\")].address", "Its external address", 10)]
#[column("OS-Image", string, ".status.nodeInfo.osImage", "Operating system that its Node reports", 10)]
#[column("Paused", string, ".status.conditions[?(@.type==\"Paused\")].status", "Nothing acts on it", 10)]
#[column("Phase", string, ".status.phase", "How far it has come")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
#[column("Version", string, ".spec.version", "Its Kubernetes version")]
pub struct MachineSpec {
    /// Cluster it is of.
    #[text(1..=63)]
    pub cluster_name: String,
    /// How it becomes a node.
    pub bootstrap: MachineBootstrap,
    /// What it runs on.
    pub infrastructure_ref: ContractReference,
    /// Kubernetes version, with a `v`.
    #[text(1..=256)]
    pub version: Option<String>,
    /// Its Node's `spec.providerID`.
    #[serde(rename = "providerID")]
    #[text(1..=512)]
    pub provider_id: Option<String>,
    /// Failure domain that it shall run in.
    #[text(1..=256)]
    pub failure_domain: Option<String>,
    /// How long it must be ready before it counts as available.
    #[number(0..)]
    pub min_ready_seconds: Option<i32>,
    /// Further conditions that must hold before it counts as ready.
    #[list(map(conditionType), 1..=32)]
    pub readiness_gates: Vec<ConditionGate>,
    /// How it goes.
    pub deletion: Option<MachineDeletion>,
    /// Taints of its Node.
    #[list(map(key, effect), 1..=64)]
    pub taints: Vec<MachineTaint>,
}

/// How a machine becomes a node: one of the two.
#[api]
#[derive(Eq)]
pub struct MachineBootstrap {
    /// Who makes the bootstrap data.
    pub config_ref: Option<ContractReference>,
    /// Secret with the bootstrap data.
    #[text(0..=253)]
    pub data_secret_name: Option<String>,
}

/// What is observed of a machine.
#[api(some)]
pub struct MachineStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// What was reached once.
    pub initialization: Option<MachineInitialization>,
    /// Its Node.
    pub node_ref: Option<NameReference>,
    /// What the Node says of itself.
    pub node_info: Option<NodeInfo>,
    /// When the phase last changed.
    pub last_updated: Option<Time>,
    /// Failure domain that it runs in.
    #[text(1..=256)]
    pub failure_domain: Option<String>,
    /// Addresses.
    #[list(atomic, ..=256)]
    pub addresses: Vec<MachineAddress>,
    /// How far it has come.
    pub phase: Option<MachinePhase>,
    /// When the certificates of a control plane machine expire.
    pub certificates_expiry_date: Option<Time>,
    /// Generation that this status is of.
    #[number(1..)]
    pub observed_generation: Option<i64>,
    /// How far its deletion has come.
    pub deletion: Option<MachineDeletionStatus>,
    /// What older versions said.
    pub deprecated: Option<Deprecated<V1Beta1Failure>>,
}

/// How far a machine has come.
#[api]
pub enum MachinePhase {
    /// Nothing happens yet.
    Pending,
    /// Its infrastructure is being made.
    Provisioning,
    /// Its infrastructure is there; its Node is not.
    Provisioned,
    /// It is a node.
    Running,
    /// It is changed in place.
    Updating,
    /// It is going.
    Deleting,
    /// It is gone; never set any more.
    Deleted,
    /// It failed; never set any more.
    Failed,
    /// Nobody can tell.
    Unknown,
}

/// What was reached once and is never taken back.
#[api(some)]
#[derive(Eq)]
pub struct MachineInitialization {
    /// The infrastructure is provisioned.
    pub infrastructure_provisioned: Option<bool>,
    /// The bootstrap data exists.
    pub bootstrap_data_secret_created: Option<bool>,
}

/// When the steps of a machine's deletion began.
#[api]
pub struct MachineDeletionStatus {
    /// Waiting for others before the pods are evicted.
    pub wait_for_pre_drain_hook_start_time: Option<Time>,
    /// Evicting pods.
    pub node_drain_start_time: Option<Time>,
    /// Waiting for volumes to be detached.
    pub wait_for_node_volume_detach_start_time: Option<Time>,
    /// Waiting for others before the infrastructure goes.
    pub wait_for_pre_terminate_hook_start_time: Option<Time>,
}
