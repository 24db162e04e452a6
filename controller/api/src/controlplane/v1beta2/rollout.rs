//! How control plane machines are replaced, when they change and when they fail.

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::Time;

/// When and how control plane machines are replaced.
#[api(some)]
pub struct ControlPlaneRollout {
    /// Replace machines before something happens to them.
    pub before: Option<ControlPlaneRolloutBefore>,
    /// Replace machines that are older than this, once it is past.
    pub after: Option<Time>,
    /// How.
    pub strategy: Option<ControlPlaneRolloutStrategy>,
}

/// What machines are replaced before.
#[api(some)]
#[derive(Eq)]
pub struct ControlPlaneRolloutBefore {
    /// So many days before their certificates expire.
    #[number(7..)]
    pub certificates_expiry_days: Option<i32>,
}

/// How control plane machines are replaced.
#[api(some)]
pub struct ControlPlaneRolloutStrategy {
    /// Which way.
    #[serde(rename = "type")]
    pub kind: ControlPlaneRolloutKind,
    /// For `RollingUpdate`.
    pub rolling_update: Option<ControlPlaneRollingUpdate>,
}

/// Which way control plane machines are replaced.
#[api]
pub enum ControlPlaneRolloutKind {
    /// One after the other.
    #[default]
    RollingUpdate,
}

/// How far the number of machines may differ meanwhile.
#[api(some)]
#[derive(Eq)]
pub struct ControlPlaneRollingUpdate {
    /// How many more there may be: 1 unless given, or 0.
    pub max_surge: Option<IntOrString>,
}

/// How machines that failed are replaced.
#[api(some)]
#[derive(Eq)]
pub struct ControlPlaneRemediation {
    /// How often the replacement of a replacement is tried; without end unless given.
    pub max_retry: Option<i32>,
    /// How long to wait between tries, in seconds; not at all unless given.
    #[number(0..)]
    pub retry_period_seconds: Option<i32>,
    /// How long a machine must be healthy before another failure counts as a new one, in seconds; 3600 unless given.
    #[number(0..)]
    pub min_healthy_period_seconds: Option<i32>,
}

/// The newest replacement of a machine that failed.
#[api(no_default)]
pub struct LastRemediation {
    /// The machine that failed.
    #[text(1..=253)]
    pub machine: String,
    /// When.
    pub time: Time,
    /// How often it was tried.
    #[number(0..)]
    pub retry_count: i32,
}
