//! Looks at one Machine, what it refers to, and its Node.

use bessemer_api::bootstrap::KubeadmConfig;
use bessemer_api::cluster::{Cluster, Machine};
use bessemer_api::infrastructure::Metal3Machine;
use kube::Api;

use super::MachineReconciler;
use crate::kubernetes::{Asking, Key, ReconcileError, is_deleting};
use crate::outside::{ClusterKey, NodeView, WorkloadError};

/// What is known of one Machine at one moment.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    pub(super) machine: Machine,
    pub(super) cluster: Option<Cluster>,
    pub(super) config: Option<KubeadmConfig>,
    pub(super) infrastructure: Option<Metal3Machine>,
    pub(super) node: NodeLook,
}

/// What looking for the Node showed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NodeLook {
    /// It is too early to look.
    NotYet,
    /// There.
    Found(NodeView),
    /// The cluster answers and has no such Node.
    Missing,
    /// The cluster does not answer.
    Unreachable(WorkloadError),
}

impl MachineReconciler {
    pub(super) async fn observe(&self, key: &Key) -> Result<Option<Observed>, ReconcileError> {
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        let Some(machine) = machines.get_opt(&key.name).await.asking("read", format!("Machine {key}"))? else {
            return Ok(None);
        };
        let clusters: Api<Cluster> = Api::namespaced(self.client.clone(), &key.namespace);
        let name = &machine.spec.cluster_name;
        let cluster = clusters.get_opt(name).await.asking("read", format!("Cluster {name}"))?;
        let config = match &machine.spec.bootstrap.config_ref {
            Some(reference) if reference.kind == "KubeadmConfig" => {
                let api: Api<KubeadmConfig> = Api::namespaced(self.client.clone(), &key.namespace);
                api.get_opt(&reference.name).await.asking("read", format!("KubeadmConfig {}", reference.name))?
            }
            _ => None,
        };
        let reference = &machine.spec.infrastructure_ref;
        let infrastructure = if reference.kind == "Metal3Machine" {
            let api: Api<Metal3Machine> = Api::namespaced(self.client.clone(), &key.namespace);
            api.get_opt(&reference.name).await.asking("read", format!("Metal3Machine {}", reference.name))?
        } else {
            None
        };
        let node = self.look(key, &machine, infrastructure.as_ref()).await;
        Ok(Some(Observed { machine, cluster, config, infrastructure, node }))
    }

    async fn look(&self, key: &Key, machine: &Machine, infrastructure: Option<&Metal3Machine>) -> NodeLook {
        let id = machine.spec.provider_id.clone();
        let Some(id) = id.or_else(|| infrastructure.and_then(|object| object.spec.provider_id.clone())) else {
            return NodeLook::NotYet;
        };
        if is_deleting(machine) {
            return NodeLook::NotYet;
        }
        let cluster = ClusterKey { namespace: key.namespace.clone(), name: machine.spec.cluster_name.clone() };
        match self.workload.node(&cluster, &id).await {
            Ok(Some(node)) => NodeLook::Found(node),
            Ok(None) => NodeLook::Missing,
            Err(error) => NodeLook::Unreachable(error),
        }
    }
}
