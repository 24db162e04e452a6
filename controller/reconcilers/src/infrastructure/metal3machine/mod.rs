//! Metal3Machine: claims a BareMetalHost for a Machine and passes on what becomes of it.
//!
//! Watches hosts, Machines and Clusters, and listens to the agents of installed hosts.

mod act;
mod choose;
mod decide;
mod observe;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bessemer_api::cluster::{Cluster, Machine};
use bessemer_api::infrastructure::Metal3Machine;
use bessemer_api::metal3::BareMetalHost;
use futures::StreamExt;
use jiff::Timestamp;
use kube::runtime::Controller;
use kube::runtime::controller::Action;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Client, ResourceExt};

use crate::cluster::cluster_label;
use crate::kubernetes::{Key, ReconcileError, Reconciler, references};
use crate::metal3::baremetalhost::{claim, host_id};
use crate::outside::AgentHub;
use crate::site::Site;

/// Brings Metal3Machines to where they should be.
pub(crate) struct Metal3MachineReconciler {
    client: Client,
    hosts: Store<BareMetalHost>,
    agents: Arc<dyn AgentHub>,
}

impl Metal3MachineReconciler {
    pub(crate) fn new(client: Client, hosts: Store<BareMetalHost>, agents: Arc<dyn AgentHub>) -> Self {
        Self { client, hosts, agents }
    }
}

impl Reconciler for Metal3MachineReconciler {
    async fn reconcile(&self, key: &Key) -> Result<Action, ReconcileError> {
        let Some(seen) = self.observe(key).await? else { return Ok(Action::await_change()) };
        let decision = decide::decide(&seen, Timestamp::now());
        // It holds whole objects while it writes: too large for the stack of whoever waits for it.
        Box::pin(self.act(key, &seen, decision)).await
    }
}

/// What triggers Metal3Machines.
pub(crate) fn controller(site: &Site, agents: &Arc<dyn AgentHub>) -> Controller<Metal3Machine> {
    let (by_host, by_cluster) = (site.metal3_machines.store(), site.metal3_machines.store());
    let hosts = site.hosts.store();
    let changed = agents.changes().flat_map(move |id| {
        let host = hosts.find(|host| host_id(host) == Some(id));
        futures::stream::iter(host.and_then(|host| consumer(&host)))
    });
    Controller::for_shared_stream(site.metal3_machines.changes(), site.metal3_machines.store())
        .watches_shared_stream(site.hosts.changes(), move |host: Arc<BareMetalHost>| concerned(&by_host, &host))
        .watches_shared_stream(site.machines.changes(), |machine: Arc<Machine>| {
            let reference = &machine.spec.infrastructure_ref;
            let ours = reference.kind == "Metal3Machine";
            ours.then(|| ObjectRef::new(&reference.name).within(&machine.namespace().unwrap_or_default()))
        })
        .watches_shared_stream(site.clusters.changes(), move |cluster: Arc<Cluster>| {
            let name = cluster.name_any();
            let of_it = |machine: &Metal3Machine| {
                machine.namespace() == cluster.namespace() && cluster_label(machine) == Some(name.as_str())
            };
            references(&by_cluster, of_it)
        })
        .reconcile_on(changed)
}

/// Whoever has the host, or else everybody who waits for one.
fn concerned(machines: &Store<Metal3Machine>, host: &BareMetalHost) -> Vec<ObjectRef<Metal3Machine>> {
    if let Some(consumer) = consumer(host) {
        return vec![consumer];
    }
    let waits = |machine: &Metal3Machine| {
        machine.namespace() == host.namespace()
            && (machine.spec.provider_id.is_none() || machine.metadata.deletion_timestamp.is_some())
    };
    references(machines, waits)
}

fn consumer(host: &BareMetalHost) -> Option<ObjectRef<Metal3Machine>> {
    let claim = claim(host)?;
    let (namespace, name) = claim.split_once('/')?;
    Some(ObjectRef::new(name).within(namespace))
}
