//! The rules of Machine.

use std::time::Duration;

use bessemer_api::NameReference;
use bessemer_api::bootstrap::KubeadmConfig;
use bessemer_api::cluster::{AddressKind, Machine, MachineAddress, MachinePhase, MachineStatus};
use bessemer_api::infrastructure::Metal3Machine;
use bessemer_api::well_known::{CLUSTER_NAME_LABEL, MACHINE_FINALIZER};
use jiff::Timestamp;
use kube::{Resource, ResourceExt};

use super::conditions;
use super::observe::{NodeLook, Observed};
use crate::cluster::is_paused;
use crate::kubernetes::{controller_of, is_deleting, own, time};

/// While the Node is awaited, or awaited to be ready: nothing of the workload cluster is watched yet.
const NODE_POLL: Duration = Duration::from_secs(3);
/// For a workload cluster that does not answer.
const UNREACHABLE_POLL: Duration = Duration::from_secs(10);
/// For a Node that is well.
const HEALTHY_POLL: Duration = Duration::from_secs(60);
/// Deletions are seen by watches; this is for one that was missed.
const DELETION_POLL: Duration = Duration::from_secs(10);

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    /// The Machine as it shall be.
    pub(super) machine: Machine,
    /// Its bootstrap configuration as it shall be.
    pub(super) config: Option<KubeadmConfig>,
    /// Its infrastructure as it shall be.
    pub(super) infrastructure: Option<Metal3Machine>,
    /// What is to be deleted now.
    pub(super) delete: Option<Delete>,
    /// When to look again if nothing happens.
    pub(super) wake: Option<Duration>,
}

/// The order of deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delete {
    Infrastructure,
    Bootstrap,
}

/// What a Machine shall become next.
pub(super) fn decide(seen: &Observed, now: Timestamp) -> Decision {
    let mut decision = Decision {
        machine: seen.machine.clone(),
        config: seen.config.clone(),
        infrastructure: seen.infrastructure.clone(),
        delete: None,
        wake: None,
    };
    if is_paused(&seen.machine, seen.cluster.as_ref()) {
        return decision;
    }
    if is_deleting(&seen.machine) {
        delete(seen, &mut decision, now);
        return decision;
    }
    adopt(seen, &mut decision);
    bootstrap(seen, &mut decision.machine);
    infrastructure(seen, &mut decision.machine);
    decision.wake = node(seen, &mut decision.machine);
    conditions::show(seen, &mut decision.machine, now);
    phase(&mut decision.machine, now);
    decision
}

/// Finalizer, labels and owners: those who made a part hand it over to the Machine.
fn adopt(seen: &Observed, decision: &mut Decision) {
    let machine = &mut decision.machine;
    if !machine.finalizers().iter().any(|finalizer| finalizer == MACHINE_FINALIZER) {
        machine.finalizers_mut().push(MACHINE_FINALIZER.to_owned());
    }
    machine.labels_mut().insert(CLUSTER_NAME_LABEL.to_owned(), seen.machine.spec.cluster_name.clone());
    if controller_of(machine, "KubeadmControlPlane").is_none()
        && let Some(cluster) = &seen.cluster
    {
        own(machine.meta_mut(), cluster, false);
    }
    if let Some(config) = &mut decision.config {
        config.labels_mut().insert(CLUSTER_NAME_LABEL.to_owned(), seen.machine.spec.cluster_name.clone());
        own(config.meta_mut(), &seen.machine, true);
    }
    if let Some(infrastructure) = &mut decision.infrastructure {
        infrastructure.labels_mut().insert(CLUSTER_NAME_LABEL.to_owned(), seen.machine.spec.cluster_name.clone());
        own(infrastructure.meta_mut(), &seen.machine, true);
    }
}

fn bootstrap(seen: &Observed, machine: &mut Machine) {
    let config = seen.config.as_ref().and_then(|config| config.status.as_ref());
    let created = |status: &&bessemer_api::bootstrap::KubeadmConfigStatus| {
        status.initialization.as_ref().is_some_and(|reached| reached.data_secret_created == Some(true))
    };
    if let Some(name) = config.filter(created).and_then(|status| status.data_secret_name.clone()) {
        machine.spec.bootstrap.data_secret_name = Some(name);
    }
    if machine.spec.bootstrap.data_secret_name.is_some() {
        let status = machine.status.get_or_insert_default();
        status.initialization.get_or_insert_default().bootstrap_data_secret_created = Some(true);
    }
}

fn infrastructure(seen: &Observed, machine: &mut Machine) {
    let Some(object) = &seen.infrastructure else { return };
    let theirs = object.status.clone().unwrap_or_default();
    let provisioned = theirs.initialization.is_some_and(|reached| reached.provisioned == Some(true));
    let (true, Some(id)) = (provisioned, &object.spec.provider_id) else { return };
    machine.spec.provider_id = Some(id.clone());
    let status = machine.status.get_or_insert_default();
    status.addresses = theirs.addresses;
    status.initialization.get_or_insert_default().infrastructure_provisioned = Some(true);
}

/// Takes over what the Node says; answers when to look again.
fn node(seen: &Observed, machine: &mut Machine) -> Option<Duration> {
    let status = machine.status.get_or_insert_default();
    match &seen.node {
        NodeLook::NotYet => None,
        NodeLook::Missing => Some(NODE_POLL),
        NodeLook::Unreachable(_) => Some(UNREACHABLE_POLL),
        NodeLook::Found(node) => {
            status.node_ref = Some(NameReference { name: node.name.clone() });
            status.node_info = serde_json::from_value(node.info.clone()).ok();
            for found in &node.addresses {
                let Some(kind) = AddressKind::from_word(&found.kind) else { continue };
                let address = MachineAddress { kind, address: found.address.clone() };
                if !status.addresses.contains(&address) {
                    status.addresses.push(address);
                }
            }
            let well = node.ready.as_ref().is_some_and(|(ready, _)| *ready);
            Some(if well { HEALTHY_POLL } else { NODE_POLL })
        }
    }
}

fn phase(machine: &mut Machine, now: Timestamp) {
    let provider_id = machine.spec.provider_id.is_some();
    let status = machine.status.get_or_insert_default();
    let phase = word(status, provider_id);
    if status.phase != Some(phase) {
        status.phase = Some(phase);
        status.last_updated = Some(time(now));
    }
}

fn word(status: &MachineStatus, provider_id: bool) -> MachinePhase {
    let reached = status.initialization.clone().unwrap_or_default();
    let infrastructure = reached.infrastructure_provisioned == Some(true);
    if infrastructure && status.node_ref.is_some() {
        MachinePhase::Running
    } else if infrastructure && provider_id {
        MachinePhase::Provisioned
    } else if reached.bootstrap_data_secret_created == Some(true) {
        MachinePhase::Provisioning
    } else {
        MachinePhase::Pending
    }
}

fn delete(seen: &Observed, decision: &mut Decision, now: Timestamp) {
    let (step, reason) = if seen.infrastructure.is_some() {
        (Some(Delete::Infrastructure), "WaitingForInfrastructureDeletion")
    } else if seen.config.is_some() {
        (Some(Delete::Bootstrap), "WaitingForBootstrapDeletion")
    } else {
        (None, "DeletionCompleted")
    };
    decision.delete = step;
    if step.is_none() {
        decision.machine.finalizers_mut().retain(|finalizer| finalizer != MACHINE_FINALIZER);
        return;
    }
    decision.wake = Some(DELETION_POLL);
    conditions::deleting(&mut decision.machine, reason, now);
    let status = decision.machine.status.get_or_insert_default();
    if status.phase != Some(MachinePhase::Deleting) {
        status.phase = Some(MachinePhase::Deleting);
        status.last_updated = Some(time(now));
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
