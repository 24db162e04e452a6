//! MachineDrainRule: which pods are evicted from a machine that goes, and in which order.

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// What happens to pods on machines that go. Of all rules that match a pod, the first by name counts.
#[api(no_default)]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "MachineDrainRule",
    plural = "machinedrainrules",
    category = "cluster-api",
    namespaced
)]
#[column("Behavior", string, ".spec.drain.behavior", "What happens to the pods")]
#[column("Order", string, ".spec.drain.order", "Their turn")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct MachineDrainRuleSpec {
    /// What happens to the pods.
    pub drain: MachineDrainRuleDrain,
    /// On which machines: any of these; all, if none is given.
    #[list(atomic, 1..=32)]
    #[rule("self.all(x, self.exists_one(y, x == y))", "entries in machines must be unique")]
    pub machines: Vec<DrainRuleMachines>,
    /// Which pods: any of these; all, if none is given.
    #[list(atomic, 1..=32)]
    #[rule("self.all(x, self.exists_one(y, x == y))", "entries in pods must be unique")]
    pub pods: Vec<DrainRulePods>,
}

/// What happens to pods.
#[api(no_default)]
#[derive(Eq)]
pub struct MachineDrainRuleDrain {
    /// What happens.
    pub behavior: DrainBehavior,
    /// Their turn: lower ones go first, and the next when these are gone. 0 unless given; not for `Skip`.
    pub order: Option<i32>,
}

/// What happens to pods.
#[api]
pub enum DrainBehavior {
    /// They are evicted.
    Drain,
    /// They stay.
    Skip,
    /// They are let run to their end.
    WaitCompleted,
}

/// Some machines: those that match both.
#[api(some)]
pub struct DrainRuleMachines {
    /// By the machine's labels.
    pub selector: Option<LabelSelector>,
    /// By the labels of the machine's cluster.
    pub cluster_selector: Option<LabelSelector>,
}

/// Some pods: those that match both.
#[api(some)]
pub struct DrainRulePods {
    /// By the pod's labels.
    pub selector: Option<LabelSelector>,
    /// By the labels of the pod's namespace.
    pub namespace_selector: Option<LabelSelector>,
}
