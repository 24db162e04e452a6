//! Cluster: the root object.

use bessemer_api_macros::api;

use super::{ApiEndpoint, ConditionGate, Deprecated, FailureDomain, Topology, V1Beta1Failure, VersionCount};
use crate::{Condition, ContractReference};

/// One Kubernetes cluster.
#[api(some)]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Cluster",
    plural = "clusters",
    shortname = "cl",
    category = "cluster-api",
    namespaced,
    status = "ClusterStatus"
)]
#[column("ClusterClass", string, ".spec.topology.classRef.name", "Its class, if it has a topology")]
#[column(
    "Available",
    string,
    ".status.conditions[?(@.type==\"Available\")].status",
    "It passes all availability checks"
)]
#[column("CP Desired", integer, ".status.controlPlane.desiredReplicas", "Control plane machines that are wanted")]
#[column("CP Current", integer, ".status.controlPlane.replicas", "Control plane machines that are there", 10)]
#[column("CP Ready", integer, ".status.controlPlane.readyReplicas", "Control plane machines that are ready", 10)]
#[column(
    "CP Available",
    integer,
    ".status.controlPlane.availableReplicas",
    "Control plane machines that are available"
)]
#[column(
    "CP Up-to-date",
    integer,
    ".status.controlPlane.upToDateReplicas",
    "Control plane machines that are as wanted"
)]
#[column("W Desired", integer, ".status.workers.desiredReplicas", "Worker machines that are wanted")]
#[column("W Current", integer, ".status.workers.replicas", "Worker machines that are there", 10)]
#[column("W Ready", integer, ".status.workers.readyReplicas", "Worker machines that are ready", 10)]
#[column("W Available", integer, ".status.workers.availableReplicas", "Worker machines that are available")]
#[column("W Up-to-date", integer, ".status.workers.upToDateReplicas", "Worker machines that are as wanted")]
#[column("Paused", string, ".status.conditions[?(@.type==\"Paused\")].status", "Nothing acts on it", 10)]
#[column("Phase", string, ".status.phase", "How far it has come")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
#[column("Version", string, ".spec.topology.version", "Its Kubernetes version, if it has a topology")]
pub struct ClusterSpec {
    /// Reconciliation of everything in it is paused.
    pub paused: Option<bool>,
    /// Addresses inside the cluster.
    pub cluster_network: Option<ClusterNetwork>,
    /// Where its API server is reached.
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// Its control plane.
    pub control_plane_ref: Option<ContractReference>,
    /// Its infrastructure.
    pub infrastructure_ref: Option<ContractReference>,
    /// What it is made from, if it has a class.
    pub topology: Option<Topology>,
    /// Further conditions that must hold before it counts as available.
    #[list(map(conditionType), 1..=32)]
    pub availability_gates: Vec<ConditionGate>,
}

/// Addresses inside a cluster.
#[api(some)]
#[derive(Eq)]
pub struct ClusterNetwork {
    /// Port of API servers; 6443 unless given.
    #[number(1..=65535)]
    pub api_server_port: Option<i32>,
    /// Services.
    pub services: Option<NetworkRanges>,
    /// Pods.
    pub pods: Option<NetworkRanges>,
    /// DNS domain of services.
    #[text(1..=253)]
    pub service_domain: Option<String>,
}

/// Ranges of addresses.
#[api]
#[derive(Eq)]
pub struct NetworkRanges {
    /// In CIDR form.
    #[required]
    #[list(atomic, 1..=100, each(1..=43))]
    pub cidr_blocks: Vec<String>,
}

/// What is observed of a cluster.
#[api(some)]
pub struct ClusterStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// What was reached once.
    pub initialization: Option<ClusterInitialization>,
    /// Counts of the control plane.
    pub control_plane: Option<ClusterMachineCounts>,
    /// Counts of the workers.
    pub workers: Option<ClusterMachineCounts>,
    /// Where machines may be placed.
    #[list(map(name), 1..=100)]
    pub failure_domains: Vec<FailureDomain>,
    /// How far it has come.
    pub phase: Option<ClusterPhase>,
    /// Generation that this status is of.
    #[number(1..)]
    pub observed_generation: Option<i64>,
    /// What older versions said.
    pub deprecated: Option<Deprecated<V1Beta1Failure>>,
}

/// How far a cluster has come.
#[api]
pub enum ClusterPhase {
    /// Nothing happens yet.
    Pending,
    /// Its infrastructure is being made.
    Provisioning,
    /// Its infrastructure is there, and it is known where its API server is reached.
    Provisioned,
    /// It is going.
    Deleting,
    /// It failed; never set any more.
    Failed,
    /// Nobody can tell.
    Unknown,
}

/// What was reached once and is never taken back.
#[api(some)]
#[derive(Eq)]
pub struct ClusterInitialization {
    /// The infrastructure can be used.
    pub infrastructure_provisioned: Option<bool>,
    /// The first control plane node serves.
    pub control_plane_initialized: Option<bool>,
}

/// Counts of a cluster's control plane machines, or of its workers.
#[api]
#[derive(Eq)]
pub struct ClusterMachineCounts {
    /// Wanted.
    pub desired_replicas: Option<i32>,
    /// There.
    pub replicas: Option<i32>,
    /// As wanted.
    pub up_to_date_replicas: Option<i32>,
    /// Ready.
    pub ready_replicas: Option<i32>,
    /// Available.
    pub available_replicas: Option<i32>,
    /// By version.
    #[list(atomic, 1..=32)]
    pub versions: Vec<VersionCount>,
    /// Versions that an upgrade under way still goes through.
    #[list(atomic, 1..=32)]
    pub upgrade_plan: Vec<UpgradeStep>,
}

/// One version that an upgrade goes through.
#[api]
#[derive(Eq)]
pub struct UpgradeStep {
    /// The version, with a `v`.
    #[text(1..=256)]
    pub version: String,
}
