//! Writes what a Cluster and its parts shall be, and deletes parts in their order.

use std::time::Duration;

use bessemer_api::cluster::{Cluster, Machine};
use bessemer_api::controlplane::KubeadmControlPlane;
use bessemer_api::infrastructure::Metal3Cluster;
use kube::Api;
use kube::runtime::controller::Action;

use super::ClusterReconciler;
use super::decide::{Decision, Delete};
use super::observe::Observed;
use crate::kubernetes::{Key, ReconcileError, delete, write};

/// Deletions are seen by watches; this is for one that was missed.
const DELETION_POLL: Duration = Duration::from_secs(10);

impl ClusterReconciler {
    pub(super) async fn act(&self, key: &Key, seen: &Observed, decision: Decision) -> Result<Action, ReconcileError> {
        let clusters: Api<Cluster> = Api::namespaced(self.client.clone(), &key.namespace);
        let infrastructures: Api<Metal3Cluster> = Api::namespaced(self.client.clone(), &key.namespace);
        let control_planes: Api<KubeadmControlPlane> = Api::namespaced(self.client.clone(), &key.namespace);
        if let (Some(before), Some(after)) = (&seen.infrastructure, &decision.infrastructure) {
            write(&infrastructures, before, after).await?;
        }
        if let (Some(before), Some(after)) = (&seen.control_plane, &decision.control_plane) {
            write(&control_planes, before, after).await?;
        }
        write(&clusters, &seen.cluster, &decision.cluster).await?;
        match decision.delete {
            None => return Ok(Action::await_change()),
            Some(Delete::Workers) => {
                let machines: Api<Machine> = Api::namespaced(self.client.clone(), &key.namespace);
                for machine in &seen.workers {
                    delete(&machines, machine).await?;
                }
            }
            Some(Delete::ControlPlane) => {
                if let Some(object) = &seen.control_plane {
                    delete(&control_planes, object).await?;
                }
            }
            Some(Delete::Infrastructure) => {
                if let Some(object) = &seen.infrastructure {
                    delete(&infrastructures, object).await?;
                }
            }
        }
        Ok(Action::requeue(DELETION_POLL))
    }
}
