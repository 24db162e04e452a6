//! The conditions of a Machine.

use bessemer_api::cluster::Machine;
use bessemer_api::conditions::{self, Reasons, Status, Summary, Wanted, wanted};
use jiff::Timestamp;

use super::observe::{NodeLook, Observed};
use crate::cluster::mirrored;
use crate::kubernetes::time;

/// Sets every condition but those that a control plane sets.
pub(super) fn show(seen: &Observed, machine: &mut Machine, now: Timestamp) {
    let spec = machine.spec.clone();
    let generation = machine.metadata.generation;
    let status = machine.status.get_or_insert_default();
    let reached = status.initialization.clone().unwrap_or_default();
    let bootstrap = match &spec.bootstrap.config_ref {
        None if reached.bootstrap_data_secret_created == Some(true) => {
            wanted("BootstrapConfigReady", true, "DataSecretProvided", "")
        }
        None => wanted("BootstrapConfigReady", false, "NotReady", "spec.bootstrap names no bootstrap data"),
        Some(reference) => {
            let config = seen
                .config
                .as_ref()
                .map(|object| object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default());
            mirrored("BootstrapConfigReady", "Ready", reference, config)
        }
    };
    let infrastructure = seen
        .infrastructure
        .as_ref()
        .map(|object| object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default());
    let infrastructure = mirrored("InfrastructureReady", "Ready", &spec.infrastructure_ref, infrastructure);
    let (node_ready, node_healthy) = node(&seen.node, status.node_ref.is_some());
    let deleting = wanted("Deleting", false, "NotDeleting", "");
    let paused = wanted("Paused", false, "NotPaused", "");
    status.observed_generation = generation;
    for condition in [bootstrap, infrastructure, node_ready, node_healthy, deleting, paused] {
        conditions::set(&mut status.conditions, condition, generation, time(now));
    }
    let ready = READY.of(&status.conditions);
    let is_ready = ready.as_ref().is_some_and(|ready| ready.status == Status::True);
    let available = wanted("Available", is_ready, if is_ready { "Available" } else { "NotReady" }, "");
    for condition in ready.into_iter().chain([available]) {
        conditions::set(&mut status.conditions, condition, generation, time(now));
    }
}

/// What a machine's readiness is made of.
const READY: Summary<'static> = Summary {
    target: "Ready",
    types: &["Deleting", "BootstrapConfigReady", "InfrastructureReady", "NodeHealthy"],
    negative: &["Deleting"],
    optional: &[],
    overrides: &[],
    reasons: Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" },
    priority: None,
    transform: None,
};

/// The only one that changes on the way out.
pub(super) fn deleting(machine: &mut Machine, reason: &'static str, now: Timestamp) {
    let generation = machine.metadata.generation;
    let status = machine.status.get_or_insert_default();
    conditions::set(&mut status.conditions, wanted("Deleting", true, reason, ""), generation, time(now));
}

fn node(look: &NodeLook, known: bool) -> (Wanted, Wanted) {
    let both = |status: Status, ready: &str, healthy: &str, message: &str| {
        (wanted("NodeReady", status, ready, message), wanted("NodeHealthy", status, healthy, message))
    };
    match look {
        NodeLook::NotYet => {
            both(Status::Unknown, "InspectionFailed", "InspectionFailed", "waiting for the machine's providerID")
        }
        NodeLook::Missing if known => {
            both(Status::False, "NodeDeleted", "NodeDeleted", "the Node is gone from the cluster")
        }
        NodeLook::Missing => {
            let message = "waiting for a Node with the machine's providerID";
            both(Status::Unknown, "NodeDoesNotExist", "NodeDoesNotExist", message)
        }
        NodeLook::Unreachable(error) => both(Status::Unknown, "ConnectionDown", "ConnectionDown", &error.to_string()),
        NodeLook::Found(node) => {
            let (ready, message) = node.ready.clone().unwrap_or((false, "the kubelet has not reported".to_owned()));
            let message = if ready { String::new() } else { message };
            let reason = if ready { "NodeReady" } else { "NodeNotReady" };
            let mut troubles = node.pressures.clone();
            if !ready {
                troubles.insert(0, format!("Ready: {message}"));
            }
            let reason_healthy = if troubles.is_empty() { "NodeHealthy" } else { "NodeNotHealthy" };
            (
                wanted("NodeReady", ready, reason, message),
                wanted("NodeHealthy", troubles.is_empty(), reason_healthy, troubles.join("; ")),
            )
        }
    }
}
