//! Looks at one Cluster and what it refers to.

use bessemer_api::cluster::{Cluster, Machine};
use bessemer_api::controlplane::KubeadmControlPlane;
use bessemer_api::infrastructure::Metal3Cluster;
use bessemer_api::well_known::CLUSTER_NAME_LABEL;
use kube::Api;
use kube::api::ListParams;

use super::ClusterReconciler;
use crate::kubernetes::{Asking, Key, ReconcileError};

/// What is known of one Cluster at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Observed {
    pub(super) cluster: Cluster,
    pub(super) infrastructure: Option<Metal3Cluster>,
    pub(super) control_plane: Option<KubeadmControlPlane>,
    /// Machines of the cluster that no control plane made.
    pub(super) workers: Vec<Machine>,
}

impl ClusterReconciler {
    pub(super) async fn observe(&self, key: &Key) -> Result<Option<Observed>, ReconcileError> {
        let clusters: Api<Cluster> = Api::namespaced(self.client.clone(), &key.namespace);
        let Some(cluster) = clusters.get_opt(&key.name).await.asking("read", format!("Cluster {key}"))? else {
            return Ok(None);
        };
        let infrastructure = match &cluster.spec.infrastructure_ref {
            Some(reference) if reference.kind == "Metal3Cluster" => {
                let api: Api<Metal3Cluster> = Api::namespaced(self.client.clone(), &key.namespace);
                api.get_opt(&reference.name).await.asking("read", format!("Metal3Cluster {}", reference.name))?
            }
            _ => None,
        };
        let control_plane = match &cluster.spec.control_plane_ref {
            Some(reference) if reference.kind == "KubeadmControlPlane" => {
                let api: Api<KubeadmControlPlane> = Api::namespaced(self.client.clone(), &key.namespace);
                api.get_opt(&reference.name).await.asking("read", format!("KubeadmControlPlane {}", reference.name))?
            }
            _ => None,
        };
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        let selector = format!("{CLUSTER_NAME_LABEL}={},!{}", key.name, bessemer_api::well_known::CONTROL_PLANE_LABEL);
        let workers = machines.list(&ListParams::default().labels(&selector)).await.asking("list", "Machines")?.items;
        Ok(Some(Observed { cluster, infrastructure, control_plane, workers }))
    }
}
