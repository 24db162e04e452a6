//! Metal3Remediation: an attempt at bringing a machine back.

use bessemer_api_macros::api;

use crate::Time;

/// Power cycles the host of the machine of the same name until its Node is back.
#[api(optional_spec)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3Remediation",
    plural = "metal3remediations",
    shortname = "m3r",
    shortname = "m3remediation",
    category = "cluster-api",
    namespaced,
    status = "Metal3RemediationStatus"
)]
#[column("Retry limit", string, ".spec.strategy.retryLimit", "How often it is tried")]
#[column("Retry count", string, ".status.retryCount", "How often it was tried")]
#[column("Last Remediated", string, ".status.lastRemediated", "When it was last tried")]
#[column("Strategy", string, ".spec.strategy.type", "What is tried")]
#[column("Phase", string, ".status.phase", "How far it is")]
pub struct Metal3RemediationSpec {
    /// What is tried, and how often.
    pub strategy: Option<RemediationStrategy>,
}

/// What is tried, and how often.
#[api]
#[derive(Eq)]
pub struct RemediationStrategy {
    /// Attempts.
    #[number(1..)]
    #[schemars(extend("x-default" = 1))]
    pub retry_limit: Option<i32>,
    /// How long after an attempt the Node may take.
    #[number(100..)]
    #[schemars(extend("x-default" = 600))]
    pub timeout_seconds: Option<i32>,
    /// What is tried.
    #[serde(rename = "type")]
    pub kind: Option<RemediationType>,
}

/// What is tried.
#[api]
pub enum RemediationType {
    /// The host is powered off and on.
    Reboot,
}

/// What is observed of it.
#[api]
#[derive(Eq)]
pub struct Metal3RemediationStatus {
    /// When it was last tried.
    pub last_remediated: Option<Time>,
    /// How far it is.
    pub phase: Option<RemediationPhase>,
    /// How often it was tried.
    #[number(1..)]
    pub retry_count: Option<i32>,
}

/// How far a remediation is.
#[api]
pub enum RemediationPhase {
    /// The host is being power cycled.
    Running,
    /// The Node is awaited.
    Waiting,
    /// It is given up: the machine is to go.
    #[serde(rename = "Deleting machine")]
    DeletingMachine,
    /// It cannot be done.
    Failed,
}
