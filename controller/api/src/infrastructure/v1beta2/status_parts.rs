//! What the statuses of this group share.

use bessemer_api_macros::api;

use crate::cluster::V1Beta1Condition;

/// `status.initialization` of infrastructure kinds.
#[api(some)]
#[derive(Eq)]
pub struct InfraInitialization {
    /// Set once, when it can be used.
    pub provisioned: Option<bool>,
}

/// What v1beta1 said of a Metal3Cluster.
#[api]
pub struct V1Beta1ClusterFailure {
    /// Conditions.
    pub conditions: Vec<V1Beta1Condition>,
    /// The failure, for programs.
    pub failure_reason: Option<String>,
    /// The failure, for people.
    #[text(0..=1024)]
    pub failure_message: Option<String>,
}

/// What v1beta1 said of a Metal3Machine.
#[api]
pub struct V1Beta1MachineFailure {
    /// Conditions.
    pub conditions: Vec<V1Beta1Condition>,
    /// The failure, for programs.
    pub failure_reason: Option<String>,
    /// The failure, for people.
    pub failure_message: Option<String>,
}
