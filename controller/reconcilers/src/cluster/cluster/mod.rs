//! Cluster: ties infrastructure and control plane together. Watches both, and its Machines.

mod act;
mod decide;
mod observe;

use std::sync::Arc;

use bessemer_api::cluster::{Cluster, Machine};
use bessemer_api::controlplane::KubeadmControlPlane;
use bessemer_api::infrastructure::Metal3Cluster;
use jiff::Timestamp;
use kube::runtime::Controller;
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::{Client, ResourceExt};

use crate::kubernetes::{Key, ReconcileError, Reconciler, owner_named};
use crate::site::Site;

/// Brings Clusters to where they should be.
pub(crate) struct ClusterReconciler {
    client: Client,
}

impl ClusterReconciler {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }
}

impl Reconciler for ClusterReconciler {
    async fn reconcile(&self, key: &Key) -> Result<Action, ReconcileError> {
        let Some(seen) = self.observe(key).await? else { return Ok(Action::await_change()) };
        let decision = decide::decide(&seen, Timestamp::now());
        Box::pin(self.act(key, &seen, decision)).await
    }
}

/// What triggers Clusters.
pub(crate) fn controller(site: &Site) -> Controller<Cluster> {
    Controller::for_shared_stream(site.clusters.changes(), site.clusters.store())
        .watches_shared_stream(site.metal3_clusters.changes(), |object: Arc<Metal3Cluster>| owner(object.as_ref()))
        .watches_shared_stream(site.control_planes.changes(), |object: Arc<KubeadmControlPlane>| owner(object.as_ref()))
        .watches_shared_stream(site.machines.changes(), |machine: Arc<Machine>| {
            Some(ObjectRef::new(&machine.spec.cluster_name).within(&machine.namespace()?))
        })
}

/// The owner, or before there is one, the cluster of the same name: its reference may be what is waited for.
fn owner(object: &impl ResourceExt) -> Option<ObjectRef<Cluster>> {
    let own = object.name_any();
    let name = owner_named(object, "Cluster").unwrap_or(own);
    Some(ObjectRef::new(&name).within(&object.namespace()?))
}
