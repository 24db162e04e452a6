//! Metal3Cluster: passes on where the control plane is reached. Watches its Cluster.

mod decide;

use std::sync::Arc;

use bessemer_api::cluster::Cluster;
use bessemer_api::infrastructure::Metal3Cluster;
use jiff::Timestamp;
use kube::runtime::Controller;
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::{Api, Client, ResourceExt};

use crate::kubernetes::{Asking, Key, ReconcileError, Reconciler, owner_named, write};
use crate::site::Site;
use decide::{Observed, decide};

/// Brings Metal3Clusters to where they should be.
pub(crate) struct Metal3ClusterReconciler {
    client: Client,
}

impl Metal3ClusterReconciler {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    async fn observe(&self, key: &Key) -> Result<Option<Observed>, ReconcileError> {
        let api: Api<Metal3Cluster> = Api::namespaced(self.client.clone(), &key.namespace);
        let Some(object) = api.get_opt(&key.name).await.asking("read", format!("Metal3Cluster {key}"))? else {
            return Ok(None);
        };
        let clusters: Api<Cluster> = Api::namespaced(self.client.clone(), &key.namespace);
        let owner = match owner_named(&object, "Cluster") {
            Some(name) => clusters.get_opt(&name).await.asking("read", format!("Cluster {name}"))?,
            None => None,
        };
        Ok(Some(Observed { object, owner }))
    }
}

impl Reconciler for Metal3ClusterReconciler {
    async fn reconcile(&self, key: &Key) -> Result<Action, ReconcileError> {
        let Some(seen) = self.observe(key).await? else { return Ok(Action::await_change()) };
        let api: Api<Metal3Cluster> = Api::namespaced(self.client.clone(), &key.namespace);
        write(&api, &seen.object, &decide(&seen, Timestamp::now())).await?;
        Ok(Action::await_change())
    }
}

/// What triggers Metal3Clusters.
pub(crate) fn controller(site: &Site) -> Controller<Metal3Cluster> {
    Controller::for_shared_stream(site.metal3_clusters.changes(), site.metal3_clusters.store()).watches_shared_stream(
        site.clusters.changes(),
        |cluster: Arc<Cluster>| {
            let reference = cluster.spec.infrastructure_ref.as_ref()?;
            let ours = reference.kind == "Metal3Cluster";
            ours.then(|| ObjectRef::new(&reference.name).within(&cluster.namespace().unwrap_or_default()))
        },
    )
}
