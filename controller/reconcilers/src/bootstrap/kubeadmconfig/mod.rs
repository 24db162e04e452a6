//! KubeadmConfig: renders the bootstrap data of one machine into a Secret, once. Watches its Machine and Cluster.

mod act;
mod cloud_config;
mod decide;
mod kubeadm;
mod observe;

use std::sync::Arc;

use bessemer_api::bootstrap::KubeadmConfig;
use bessemer_api::cluster::{Cluster, Machine};
use jiff::Timestamp;
use kube::runtime::Controller;
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::{Client, ResourceExt};

use crate::cluster::cluster_label;
use crate::kubernetes::{Key, ReconcileError, Reconciler, references};
use crate::site::Site;

/// Brings KubeadmConfigs to where they should be.
pub(crate) struct KubeadmConfigReconciler {
    client: Client,
}

impl KubeadmConfigReconciler {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }
}

impl Reconciler for KubeadmConfigReconciler {
    async fn reconcile(&self, key: &Key) -> Result<Action, ReconcileError> {
        let Some(seen) = self.observe(key).await? else { return Ok(Action::await_change()) };
        let decision = decide::decide(&seen, Timestamp::now());
        Box::pin(self.act(key, &seen, decision)).await
    }
}

/// What triggers KubeadmConfigs.
pub(crate) fn controller(site: &Site) -> Controller<KubeadmConfig> {
    let configs = site.kubeadm_configs.store();
    Controller::for_shared_stream(site.kubeadm_configs.changes(), site.kubeadm_configs.store())
        .watches_shared_stream(site.machines.changes(), |machine: Arc<Machine>| {
            let reference = machine.spec.bootstrap.config_ref.as_ref()?;
            let ours = reference.kind == "KubeadmConfig";
            ours.then(|| ObjectRef::new(&reference.name).within(&machine.namespace().unwrap_or_default()))
        })
        .watches_shared_stream(site.clusters.changes(), move |cluster: Arc<Cluster>| {
            let name = cluster.name_any();
            let of_it = |config: &KubeadmConfig| {
                config.namespace() == cluster.namespace() && cluster_label(config) == Some(name.as_str())
            };
            references(&configs, of_it)
        })
}
