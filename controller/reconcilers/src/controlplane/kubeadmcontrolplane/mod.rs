//! KubeadmControlPlane: the cluster's CAs, and the first control plane machine. Watches its Cluster and Machines.

mod act;
mod decide;
mod observe;
mod parts;

use std::sync::Arc;

use bessemer_api::cluster::{Cluster, Machine};
use bessemer_api::controlplane::KubeadmControlPlane;
use jiff::Timestamp;
use kube::runtime::Controller;
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::{Client, ResourceExt};

use crate::kubernetes::{Key, ReconcileError, Reconciler, controller_of};
use crate::outside::WorkloadClusters;
use crate::site::Site;

/// Brings KubeadmControlPlanes to where they should be.
pub(crate) struct ControlPlaneReconciler {
    client: Client,
    workload: Arc<dyn WorkloadClusters>,
}

impl ControlPlaneReconciler {
    pub(crate) fn new(client: Client, workload: Arc<dyn WorkloadClusters>) -> Self {
        Self { client, workload }
    }
}

impl Reconciler for ControlPlaneReconciler {
    async fn reconcile(&self, key: &Key) -> Result<Action, ReconcileError> {
        let Some(seen) = self.observe(key).await? else { return Ok(Action::await_change()) };
        let decision = decide::decide(&seen, Timestamp::now());
        Box::pin(self.act(key, &seen, decision)).await
    }
}

/// What triggers KubeadmControlPlanes.
pub(crate) fn controller(site: &Site) -> Controller<KubeadmControlPlane> {
    Controller::for_shared_stream(site.control_planes.changes(), site.control_planes.store())
        .watches_shared_stream(site.clusters.changes(), |cluster: Arc<Cluster>| {
            let reference = cluster.spec.control_plane_ref.as_ref()?;
            let ours = reference.kind == "KubeadmControlPlane";
            ours.then(|| ObjectRef::new(&reference.name).within(&cluster.namespace().unwrap_or_default()))
        })
        .watches_shared_stream(site.machines.changes(), |machine: Arc<Machine>| {
            let owner = controller_of(machine.as_ref(), "KubeadmControlPlane")?;
            Some(ObjectRef::new(&owner.name).within(&machine.namespace()?))
        })
}
