//! Looks at one Metal3Machine: its Machine, its Cluster, its host and what the host's agent says.

use std::sync::Arc;

use bessemer_api::cluster::{Cluster, Machine};
use bessemer_api::infrastructure::Metal3Machine;
use bessemer_api::metal3::BareMetalHost;
use bessemer_api::well_known::HOST_ANNOTATION;
use bessemer_protocol::NodeReport;
use kube::{Api, ResourceExt};

use super::Metal3MachineReconciler;
use crate::cluster::cluster_label;
use crate::kubernetes::{Asking, Key, ReconcileError, jitter, owner_named};
use crate::metal3::baremetalhost::{claim, host_id};

/// What is known of one Metal3Machine at one moment.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    pub(super) object: Metal3Machine,
    pub(super) machine: Option<Machine>,
    pub(super) cluster: Option<Cluster>,
    /// The host that it has, as it is now.
    pub(super) host: Option<BareMetalHost>,
    /// The host that it means to claim, as it is now.
    pub(super) intended: Option<BareMetalHost>,
    /// Every host of the namespace, as the cache has it; only when there is none yet.
    pub(super) hosts: Vec<Arc<BareMetalHost>>,
    /// What the installed host says of itself.
    pub(super) node: Option<NodeReport>,
    /// From 0 to 1.
    pub(super) seed: f64,
}

impl Metal3MachineReconciler {
    pub(super) async fn observe(&self, key: &Key) -> Result<Option<Observed>, ReconcileError> {
        let api: Api<Metal3Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        let Some(object) = api.get_opt(&key.name).await.asking("read", format!("Metal3Machine {key}"))? else {
            return Ok(None);
        };
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        let machine = match owner_named(&object, "Machine") {
            Some(name) => machines.get_opt(&name).await.asking("read", format!("Machine {name}"))?,
            None => None,
        };
        let clusters: Api<Cluster> = Api::namespaced(self.client.clone(), &key.namespace);
        let cluster = match cluster_label(&object) {
            Some(name) => clusters.get_opt(name).await.asking("read", format!("Cluster {name}"))?,
            None => None,
        };
        let (host, intended) = self.host(key, &object).await?;
        let hosts = match host.as_ref().or(intended.as_ref()) {
            Some(_) => Vec::new(),
            None => self.hosts.state_filter(|host| host.namespace().as_deref() == Some(key.namespace.as_str())),
        };
        let node = host.as_ref().and_then(host_id).and_then(|id| self.agents.view(&id).node);
        Ok(Some(Observed { object, machine, cluster, host, intended, hosts, node, seed: jitter() }))
    }

    /// The host that carries this machine's claim, or else the one that the machine means to claim. The annotation is
    /// written before the claim: a cache that does not show the claim yet can thus not lead to a second one.
    async fn host(
        &self,
        key: &Key,
        object: &Metal3Machine,
    ) -> Result<(Option<BareMetalHost>, Option<BareMetalHost>), ReconcileError> {
        let ours = |host: &BareMetalHost| claim(host).as_deref() == Some(key.to_string().as_str());
        let named = object.annotations().get(HOST_ANNOTATION).and_then(|text| text.rsplit_once('/'));
        let name = match named {
            Some((_, name)) => Some(name.to_owned()),
            None => self.hosts.find(|host| ours(host)).map(|host| host.name_any()),
        };
        let Some(name) = name else { return Ok((None, None)) };
        let hosts: Api<BareMetalHost> = Api::namespaced(self.client.clone(), &key.namespace);
        let host = hosts.get_opt(&name).await.asking("read", format!("BareMetalHost {}/{name}", key.namespace))?;
        Ok(match host {
            Some(host) if ours(&host) => (Some(host), None),
            other => (None, other),
        })
    }
}
