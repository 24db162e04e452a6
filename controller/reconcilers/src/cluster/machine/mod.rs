//! Machine: waits for bootstrap data and infrastructure, then for the Node. Watches both and the Cluster.

mod act;
mod conditions;
mod decide;
mod observe;

use std::sync::Arc;

use bessemer_api::bootstrap::KubeadmConfig;
use bessemer_api::cluster::{Cluster, Machine};
use bessemer_api::infrastructure::Metal3Machine;
use jiff::Timestamp;
use kube::runtime::Controller;
use kube::runtime::controller::Action;
use kube::{Client, ResourceExt};

use crate::kubernetes::{Key, ReconcileError, Reconciler, references};
use crate::outside::WorkloadClusters;
use crate::site::Site;

/// Brings Machines to where they should be.
pub(crate) struct MachineReconciler {
    client: Client,
    workload: Arc<dyn WorkloadClusters>,
}

impl MachineReconciler {
    pub(crate) fn new(client: Client, workload: Arc<dyn WorkloadClusters>) -> Self {
        Self { client, workload }
    }
}

impl Reconciler for MachineReconciler {
    async fn reconcile(&self, key: &Key) -> Result<Action, ReconcileError> {
        let Some(seen) = self.observe(key).await? else { return Ok(Action::await_change()) };
        let decision = decide::decide(&seen, Timestamp::now());
        Box::pin(self.act(key, &seen, decision)).await
    }
}

/// What triggers Machines. What they refer to is found by the reference, as the owner may not be set yet.
pub(crate) fn controller(site: &Site) -> Controller<Machine> {
    let (by_infra, by_config, by_cluster) = (site.machines.store(), site.machines.store(), site.machines.store());
    Controller::for_shared_stream(site.machines.changes(), site.machines.store())
        .watches_shared_stream(site.metal3_machines.changes(), move |object: Arc<Metal3Machine>| {
            let name = object.name_any();
            let refers = |machine: &Machine| {
                machine.namespace() == object.namespace() && machine.spec.infrastructure_ref.name == name
            };
            references(&by_infra, refers)
        })
        .watches_shared_stream(site.kubeadm_configs.changes(), move |object: Arc<KubeadmConfig>| {
            let name = object.name_any();
            let refers = |machine: &Machine| {
                let config = machine.spec.bootstrap.config_ref.as_ref();
                machine.namespace() == object.namespace() && config.is_some_and(|config| config.name == name)
            };
            references(&by_config, refers)
        })
        .watches_shared_stream(site.clusters.changes(), move |cluster: Arc<Cluster>| {
            let name = cluster.name_any();
            let of_it =
                |machine: &Machine| machine.namespace() == cluster.namespace() && machine.spec.cluster_name == name;
            references(&by_cluster, of_it)
        })
}
