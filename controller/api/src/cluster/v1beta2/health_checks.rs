//! What makes a machine unhealthy, and what is done about it: shared by MachineHealthCheck, topologies and classes.

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::TemplateReference;
use crate::conditions::Status;

/// What makes a machine unhealthy: any of these.
#[api(some)]
#[derive(Eq)]
pub struct HealthChecks {
    /// Its Node did not appear for so long; 600 unless given, and 0 switches the check off.
    #[number(0..)]
    pub node_startup_timeout_seconds: Option<i32>,
    /// A condition of its Node stayed so for too long.
    #[list(atomic, 1..=100)]
    pub unhealthy_node_conditions: Vec<UnhealthyNodeCondition>,
    /// A condition of its own stayed so for too long.
    #[list(atomic, 1..=100)]
    pub unhealthy_machine_conditions: Vec<UnhealthyMachineCondition>,
}

/// A condition of a Node that makes its machine unhealthy.
#[api]
#[derive(Eq)]
pub struct UnhealthyNodeCondition {
    /// Type of the condition.
    #[serde(rename = "type")]
    #[text(1..)]
    pub type_: String,
    /// The bad status.
    #[text(1..)]
    pub status: String,
    /// For how long.
    #[number(0..)]
    pub timeout_seconds: i32,
}

/// A condition of a machine that makes it unhealthy.
#[api(no_default)]
#[derive(Eq)]
pub struct UnhealthyMachineCondition {
    /// Type of the condition: none of those that follow from health.
    #[serde(rename = "type")]
    #[text(1..=316, crate::patterns::CONDITION_TYPE)]
    #[rule(
        "!(self in ['Ready','Available','HealthCheckSucceeded','OwnerRemediated','ExternallyRemediated'])",
        "type must not be one of: Ready, Available, HealthCheckSucceeded, OwnerRemediated, ExternallyRemediated"
    )]
    pub type_: String,
    /// The bad status.
    pub status: Status,
    /// For how long.
    #[number(0..)]
    pub timeout_seconds: i32,
}

/// What is done about unhealthy machines.
#[api(some)]
#[derive(Eq)]
pub struct Remediation {
    /// When anything is done at all.
    pub trigger_if: Option<RemediationTrigger>,
    /// Template of the request to somebody else; the machine's owner replaces it unless given.
    pub template_ref: Option<TemplateReference>,
}

/// The same for the machines of a MachineDeployment.
#[api(some)]
#[derive(Eq)]
pub struct DeploymentRemediation {
    /// How many are replaced at the same time: a number, or a percentage of the wanted ones.
    pub max_in_flight: Option<IntOrString>,
    /// When anything is done at all.
    pub trigger_if: Option<RemediationTrigger>,
    /// Template of the request to somebody else; the machine's owner replaces it unless given.
    pub template_ref: Option<TemplateReference>,
}

/// When anything is done about unhealthy machines: too many at once point at another cause.
#[api(some)]
#[derive(Eq)]
pub struct RemediationTrigger {
    /// At most so many are unhealthy: a number, or a percentage of those selected.
    pub unhealthy_less_than_or_equal_to: Option<IntOrString>,
    /// The number of unhealthy ones is in a range such as `[3-5]`.
    #[text(1..=32, UNHEALTHY_RANGE)]
    pub unhealthy_in_range: Option<String>,
}

/// `[<from>-<to>]`.
const UNHEALTHY_RANGE: &str = "^\\[[0-9]+-[0-9]+\\]$";
