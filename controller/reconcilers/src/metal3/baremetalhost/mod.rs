//! BareMetalHost: from an address and a password to a machine that runs what its consumer wants.
//!
//! Watches hosts, their records and the Secrets of their BMCs, and listens to the agents. The rules are in [`decide`].

mod act;
mod authority;
mod budgets;
mod decide;
mod effect;
mod observe;
mod observed;
mod power_memo;
mod ramdisk_network;
mod seed_data;

use std::sync::Arc;

use bessemer_api::bessemer::HostRecord;
use bessemer_api::metal3::BareMetalHost;
use bessemer_bmc::BmcConnector;
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::Controller;
use kube::runtime::controller::Action;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Client, ResourceExt};

pub(crate) use decide::node_phase;
pub(crate) use observed::{claim, host_id};
use power_memo::PowerMemo;

use crate::kubernetes::{Key, ReconcileError, Reconciler, references};
use crate::outside::AgentHub;
use crate::settings::BootSettings;
use crate::site::Site;

/// Brings hosts to where they should be.
pub(crate) struct HostReconciler {
    client: Client,
    hosts: Store<BareMetalHost>,
    bmcs: Arc<dyn BmcConnector>,
    agents: Arc<dyn AgentHub>,
    power: PowerMemo,
    boot: BootSettings,
    started: Timestamp,
}

impl HostReconciler {
    pub(crate) fn new(
        client: Client,
        hosts: Store<BareMetalHost>,
        bmcs: Arc<dyn BmcConnector>,
        agents: Arc<dyn AgentHub>,
        boot: BootSettings,
    ) -> Self {
        Self { client, hosts, bmcs, agents, power: PowerMemo::default(), boot, started: Timestamp::now() }
    }
}

impl Reconciler for HostReconciler {
    async fn reconcile(&self, key: &Key) -> Result<Action, ReconcileError> {
        let Some(sight) = self.observe(key).await? else { return Ok(Action::await_change()) };
        let decision = decide::decide(&sight.observed, Timestamp::now());
        Box::pin(self.act(key, sight, decision)).await
    }
}

/// What triggers hosts.
pub(crate) fn controller(site: &Site, agents: &Arc<dyn AgentHub>) -> Controller<BareMetalHost> {
    let (by_secret, by_agent) = (site.hosts.store(), site.hosts.store());
    let changed = agents.changes().flat_map(move |id| {
        futures::stream::iter(references(&by_agent, |host: &BareMetalHost| host_id(host) == Some(id)))
    });
    Controller::for_shared_stream(site.hosts.changes(), site.hosts.store())
        .watches_shared_stream(site.records.changes(), |record: Arc<HostRecord>| same_name(record.as_ref()))
        .watches_shared_stream(site.secrets.changes(), move |secret: Arc<Secret>| using(&by_secret, &secret))
        .reconcile_on(changed)
}

fn same_name(object: &impl ResourceExt) -> Option<ObjectRef<BareMetalHost>> {
    Some(ObjectRef::new(&object.name_any()).within(&object.namespace()?))
}

/// The hosts whose BMC uses this Secret.
fn using(hosts: &Store<BareMetalHost>, secret: &Secret) -> Vec<ObjectRef<BareMetalHost>> {
    let name = secret.name_any();
    let uses = |host: &BareMetalHost| {
        host.namespace() == secret.namespace() && host.spec.bmc.as_ref().is_some_and(|bmc| bmc.credentials_name == name)
    };
    references(hosts, uses)
}
