//! The rules of KubeadmControlPlane: one replica, made by `kubeadm init`.

use std::time::Duration;

use bessemer_api::cluster::Machine;
use bessemer_api::conditions::{self, Aggregate, Reasons, Reporter, Status, Summary, Wanted, wanted};
use bessemer_api::controlplane::KubeadmControlPlane;
use bessemer_api::well_known::{CONTROL_PLANE_FINALIZER, CONTROL_PLANE_NAME_LABEL};
use jiff::Timestamp;
use kube::ResourceExt;

use super::observe::{Observed, Serves};
use crate::cluster::{infrastructure_is_provisioned, is_paused};
use crate::controlplane::certificates::Purpose;
use crate::kubernetes::{is_deleting, time};

/// While the control plane is awaited; a Machine that gets further wakes it earlier.
const SERVES_POLL: Duration = Duration::from_secs(10);
/// Deletions are seen by watches; this is for one that was missed.
const DELETION_POLL: Duration = Duration::from_secs(10);

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    /// The KubeadmControlPlane as it shall be.
    pub(super) object: KubeadmControlPlane,
    /// What to make now.
    pub(super) make: Option<Make>,
    /// The Machines as they shall be, in the order in which they were seen.
    pub(super) machines: Vec<Machine>,
    /// The Machines shall rather be deleted.
    pub(super) delete: bool,
    /// When to look again if nothing happens.
    pub(super) wake: Option<Duration>,
}

/// What to make now, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Make {
    /// These key pairs.
    Certificates(Vec<Purpose>),
    /// The administrator's kubeconfig.
    Kubeconfig {
        /// `https://host:port`.
        server: String,
    },
    /// Infrastructure, bootstrap configuration and Machine of this name.
    Machine {
        /// The name of all three.
        name: String,
    },
}

/// What a KubeadmControlPlane shall become next.
pub(super) fn decide(seen: &Observed, now: Timestamp) -> Decision {
    let (object, machines) = (seen.object.clone(), seen.machines.clone());
    let mut decision = Decision { object, make: None, machines, delete: false, wake: None };
    if is_paused(&seen.object, seen.cluster.as_ref()) {
        return decision;
    }
    if is_deleting(&seen.object) {
        delete(seen, &mut decision);
        return decision;
    }
    let finalizers = decision.object.finalizers_mut();
    if !finalizers.iter().any(|finalizer| finalizer == CONTROL_PLANE_FINALIZER) {
        finalizers.push(CONTROL_PLANE_FINALIZER.to_owned());
        return decision;
    }
    let waits = match next(seen) {
        Ok(make) => {
            decision.make = make;
            String::new()
        }
        Err(waits) => waits,
    };
    if matches!(seen.serves, Serves::No | Serves::Unreachable(_)) {
        decision.wake = Some(SERVES_POLL);
    }
    show(seen, &mut decision.object, &waits, now);
    for machine in decision.machines.iter_mut().filter(|machine| !is_deleting(*machine)) {
        show_up_to_date(machine, &seen.object.spec.version, now);
    }
    decision
}

/// Sets the one condition of a Machine that is its control plane's to set.
fn show_up_to_date(machine: &mut Machine, version: &str, now: Timestamp) {
    let condition = if machine.spec.version.as_deref() == Some(version) {
        wanted("UpToDate", true, "UpToDate", "")
    } else {
        wanted("UpToDate", false, "NotUpToDate", "the version differs; rolling out is not built yet")
    };
    let generation = machine.metadata.generation;
    conditions::set(&mut machine.status.get_or_insert_default().conditions, condition, generation, time(now));
}

/// The next thing to make, or what is waited for.
fn next(seen: &Observed) -> Result<Option<Make>, String> {
    let cluster = seen.cluster.as_ref().ok_or("no Cluster refers to it yet")?;
    if !infrastructure_is_provisioned(cluster) {
        return Err("waiting for the cluster's infrastructure".to_owned());
    }
    let begun = !seen.machines.is_empty() || seen.serves == Serves::Yes;
    if !seen.missing.is_empty() {
        // Fresh keys would not fit what was made with the old ones.
        return if begun {
            let names: Vec<String> = seen.missing.iter().map(|purpose| purpose.secret(&cluster.name_any())).collect();
            Err(format!("the Secrets {} are gone: restore them", names.join(", ")))
        } else {
            Ok(Some(Make::Certificates(seen.missing.clone())))
        };
    }
    let endpoint = cluster.spec.control_plane_endpoint.as_ref().filter(|endpoint| endpoint.is_valid());
    let endpoint = endpoint.ok_or("waiting for the Cluster's spec.controlPlaneEndpoint")?;
    if !seen.kubeconfig {
        return Ok(Some(Make::Kubeconfig { server: format!("https://{endpoint}") }));
    }
    let reference = &seen.object.spec.machine_template.spec.infrastructure_ref;
    if seen.template.is_none() {
        return Err(format!("{} {} does not exist: create it", reference.kind, reference.name));
    }
    let wanted = seen.object.spec.replicas.unwrap_or(1);
    if wanted >= 1 && seen.machines.is_empty() {
        let fresh = || format!("{}-{}", seen.object.name_any(), seen.seed);
        return Ok(Some(Make::Machine { name: seen.begun.clone().unwrap_or_else(fresh) }));
    }
    if wanted > 1 {
        return Err(format!("{wanted} replicas are wanted; more than one is not built yet"));
    }
    Ok(None)
}

fn show(seen: &Observed, object: &mut KubeadmControlPlane, waits: &str, now: Timestamp) {
    let name = object.name_any();
    let version = object.spec.version.clone();
    let generation = object.metadata.generation;
    let status = object.status.get_or_insert_default();
    let count = |condition: &str| {
        let holds = |machine: &&Machine| {
            machine.status.as_ref().is_some_and(|status| conditions::is_true(&status.conditions, condition))
        };
        i32::try_from(seen.machines.iter().filter(holds).count()).unwrap_or(i32::MAX)
    };
    let replicas = i32::try_from(seen.machines.len()).unwrap_or(i32::MAX);
    let current = seen.machines.iter().filter(|machine| machine.spec.version.as_deref() == Some(version.as_str()));
    status.selector = Some(format!("{CONTROL_PLANE_NAME_LABEL}={name}"));
    status.replicas = Some(replicas);
    status.ready_replicas = Some(count("Ready"));
    status.available_replicas = Some(count("Available"));
    status.up_to_date_replicas = Some(i32::try_from(current.count()).unwrap_or(i32::MAX));
    status.version = seen.machines.iter().filter_map(|machine| machine.spec.version.clone()).min();
    status.observed_generation = generation;
    if seen.serves == Serves::Yes {
        status.initialization.get_or_insert_default().control_plane_initialized = Some(true);
    }
    let initialized = match &seen.serves {
        Serves::Yes => wanted("Initialized", true, "Initialized", ""),
        Serves::Unreachable(error) => wanted("Initialized", false, "NotInitialized", error.to_string()),
        Serves::No => wanted("Initialized", false, "NotInitialized", "kubeadm init has not finished yet"),
        Serves::NotYet => wanted("Initialized", false, "NotInitialized", waits),
    };
    let certificates = if seen.missing.is_empty() {
        wanted("CertificatesAvailable", true, "Available", "")
    } else {
        wanted("CertificatesAvailable", false, "NotAvailable", waits)
    };
    for condition in [initialized, certificates, machines_ready(seen)] {
        conditions::set(&mut status.conditions, condition, generation, time(now));
    }
    let available = match AVAILABLE.of(&status.conditions) {
        // Nothing is wrong with no machine, and yet nothing serves.
        Some(summary) if summary.status == Status::True && seen.machines.is_empty() => {
            wanted("Available", false, AVAILABLE.reasons.issue, waits)
        }
        Some(summary) => summary,
        None => return,
    };
    conditions::set(&mut status.conditions, available, generation, time(now));
}

/// What a control plane's availability is made of.
const AVAILABLE: Summary<'static> = Summary {
    target: "Available",
    types: &["Initialized", "CertificatesAvailable", "MachinesReady"],
    negative: &[],
    optional: &[],
    overrides: &[],
    reasons: Reasons { issue: "NotAvailable", unknown: "AvailableUnknown", info: "Available" },
    priority: None,
    transform: None,
};

fn machines_ready(seen: &Observed) -> Wanted {
    let names: Vec<String> = seen.machines.iter().map(ResourceExt::name_any).collect();
    let reporters: Vec<Reporter<'_>> = seen
        .machines
        .iter()
        .zip(&names)
        .map(|(machine, name)| {
            let conditions = machine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
            Reporter { kind: "Machine", name, control_plane: true, conditions }
        })
        .collect();
    let reasons = Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" };
    let aggregate = Aggregate { source: "Ready", target: "MachinesReady", negative: false, reasons };
    aggregate.of(&reporters).unwrap_or_else(|| wanted("MachinesReady", true, "NoReplicas", ""))
}

fn delete(seen: &Observed, decision: &mut Decision) {
    if seen.machines.is_empty() {
        decision.object.finalizers_mut().retain(|finalizer| finalizer != CONTROL_PLANE_FINALIZER);
    } else {
        decision.delete = true;
        decision.wake = Some(DELETION_POLL);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
