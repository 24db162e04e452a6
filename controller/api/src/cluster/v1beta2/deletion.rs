//! How machines go: how long each step may take, and which go first.

use bessemer_api_macros::api;

/// How long the steps of a machine's deletion may take. Zero is for ever.
#[api(some)]
#[derive(Eq)]
pub struct MachineDeletion {
    /// To evict its pods, in seconds.
    #[number(0..)]
    pub node_drain_timeout_seconds: Option<i32>,
    /// To detach its volumes, in seconds.
    #[number(0..)]
    pub node_volume_detach_timeout_seconds: Option<i32>,
    /// To delete its Node, in seconds; 10 unless given.
    #[number(0..)]
    pub node_deletion_timeout_seconds: Option<i32>,
}

/// Which machines of a set go first.
#[api(some)]
#[derive(Eq)]
pub struct MachineSetDeletion {
    /// The order; `Random` unless given.
    pub order: Option<DeletionOrder>,
}

/// Both, as topologies and classes have it.
#[api(some)]
#[derive(Eq)]
pub struct MachineDeploymentDeletion {
    /// The order; `Random` unless given.
    pub order: Option<DeletionOrder>,
    /// To evict a machine's pods, in seconds.
    #[number(0..)]
    pub node_drain_timeout_seconds: Option<i32>,
    /// To detach its volumes, in seconds.
    #[number(0..)]
    pub node_volume_detach_timeout_seconds: Option<i32>,
    /// To delete its Node, in seconds; 10 unless given.
    #[number(0..)]
    pub node_deletion_timeout_seconds: Option<i32>,
}

/// Which machines go first when fewer are wanted. Unhealthy and marked ones always go before others.
#[api]
pub enum DeletionOrder {
    /// Any.
    Random,
    /// The youngest.
    Newest,
    /// The oldest.
    Oldest,
}
