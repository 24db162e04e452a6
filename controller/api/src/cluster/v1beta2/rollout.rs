//! How machines are replaced when their template changes.

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::Time;

/// When and how machines are replaced.
#[api(some)]
pub struct MachineRollout {
    /// Replace machines that are older than this, once it is past.
    pub after: Option<Time>,
    /// How.
    pub strategy: Option<RolloutStrategy>,
}

/// How machines are replaced.
#[api(some, no_default)]
pub struct RolloutStrategy {
    /// Which way.
    #[serde(rename = "type")]
    pub kind: RolloutKind,
    /// For `RollingUpdate`.
    pub rolling_update: Option<RollingUpdate>,
}

/// Which way machines are replaced.
#[api]
pub enum RolloutKind {
    /// One after the other.
    RollingUpdate,
    /// Only when somebody deletes one.
    OnDelete,
}

/// How far the number of machines may differ meanwhile. Not both may be zero.
#[api(some)]
#[derive(Eq)]
pub struct RollingUpdate {
    /// How many fewer may be available: a number, or a percentage of the wanted ones.
    pub max_unavailable: Option<IntOrString>,
    /// How many more there may be: a number, or a percentage of the wanted ones.
    pub max_surge: Option<IntOrString>,
}

/// What a MachineDeployment does about unhealthy machines.
#[api(some)]
#[derive(Eq)]
pub struct MachineDeploymentRemediation {
    /// How many are replaced at the same time: a number, or a percentage of the wanted ones.
    pub max_in_flight: Option<IntOrString>,
}
