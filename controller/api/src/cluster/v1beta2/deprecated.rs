//! What v1beta1's status said and v1beta2's no longer does, kept under `status.deprecated` until v1beta1 is gone.

use bessemer_api_macros::api;

use crate::Time;

/// What is left of an older version's status.
#[api]
pub struct Deprecated<T> {
    /// Of v1beta1.
    pub v1beta1: Option<T>,
}

/// A condition as v1beta1 had it.
#[api(no_default)]
pub struct V1Beta1Condition {
    /// What it tells of.
    #[serde(rename = "type")]
    #[text(1..=256)]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// How bad it is, if it does not hold: `Error`, `Warning` or `Info`.
    #[text(..=32)]
    pub severity: Option<String>,
    /// When the status last changed.
    pub last_transition_time: Time,
    /// Why, for programs.
    #[text(1..=256)]
    pub reason: Option<String>,
    /// Why, for people.
    #[text(1..=10240)]
    pub message: Option<String>,
}

/// Conditions alone.
#[api]
pub struct V1Beta1Conditions {
    /// Conditions.
    pub conditions: Vec<V1Beta1Condition>,
}

/// Conditions, and a failure that nothing recovers from.
#[api]
pub struct V1Beta1Failure {
    /// Conditions.
    pub conditions: Vec<V1Beta1Condition>,
    /// The failure, for programs.
    pub failure_reason: Option<String>,
    /// The failure, for people.
    #[text(1..=10240)]
    pub failure_message: Option<String>,
}

/// Counts of a MachineSet.
#[api]
pub struct V1Beta1MachineSet {
    /// Conditions.
    pub conditions: Vec<V1Beta1Condition>,
    /// The failure, for programs.
    pub failure_reason: Option<String>,
    /// The failure, for people.
    #[text(1..=10240)]
    pub failure_message: Option<String>,
    /// Machines that carry all labels of the template.
    pub fully_labeled_replicas: Option<i32>,
    /// Machines with a ready Node.
    pub ready_replicas: Option<i32>,
    /// Machines that have been ready for long enough.
    pub available_replicas: Option<i32>,
}

/// Counts of a MachineDeployment.
#[api]
pub struct V1Beta1MachineDeployment {
    /// Conditions.
    pub conditions: Vec<V1Beta1Condition>,
    /// Machines of the newest template.
    pub updated_replicas: Option<i32>,
    /// Machines with a ready Node.
    pub ready_replicas: Option<i32>,
    /// Machines that have been ready for long enough.
    pub available_replicas: Option<i32>,
    /// Machines that are missing or not available.
    pub unavailable_replicas: Option<i32>,
}

/// Counts of a MachinePool.
#[api]
pub struct V1Beta1MachinePool {
    /// Conditions.
    pub conditions: Vec<V1Beta1Condition>,
    /// The failure, for programs.
    pub failure_reason: Option<String>,
    /// The failure, for people.
    #[text(1..=10240)]
    pub failure_message: Option<String>,
    /// Machines with a ready Node.
    pub ready_replicas: Option<i32>,
    /// Machines that have been ready for long enough.
    pub available_replicas: Option<i32>,
    /// Machines that are missing or not available.
    pub unavailable_replicas: Option<i32>,
}
