//! Workload clusters through their own kubeconfig Secrets: one client for each, a deadline on every call.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{ConfigMap, Node, NodeCondition, Secret};
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};

use crate::outside::{ClusterKey, NodeAddressView, NodeView, WorkloadClusters, WorkloadError};

/// For one answer of a workload cluster.
const CALL_DEADLINE: Duration = Duration::from_secs(10);
/// Node conditions that are bad when true.
const PRESSURES: [&str; 3] = ["MemoryPressure", "DiskPressure", "PIDPressure"];

/// The real workload clusters.
pub struct KubeWorkloadClusters {
    management: Client,
    known: Mutex<HashMap<ClusterKey, Known>>,
}

struct Known {
    /// resourceVersion of the Secret that the client was made from.
    version: String,
    client: Client,
}

impl KubeWorkloadClusters {
    /// Finds kubeconfigs through the management cluster's client.
    #[must_use]
    pub fn new(management: Client) -> Self {
        Self { management, known: Mutex::default() }
    }

    async fn client(&self, cluster: &ClusterKey) -> Result<Client, WorkloadError> {
        let name = kubeconfig_secret(&cluster.name);
        let secrets: Api<Secret> = Api::namespaced(self.management.clone(), &cluster.namespace);
        let unreachable = |why: String| WorkloadError::Unreachable { cluster: cluster.clone(), why };
        let secret = secrets.get_opt(&name).await.map_err(|error| unreachable(cause(&error)))?;
        let Some(secret) = secret else {
            return Err(WorkloadError::NoKubeconfig { namespace: cluster.namespace.clone(), secret: name });
        };
        let version = secret.resource_version().unwrap_or_default();
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = known.get(cluster).filter(|known| known.version == version) {
                return Ok(known.client.clone());
            }
        }
        let bad = |why: String| WorkloadError::BadKubeconfig { secret: format!("{}/{name}", cluster.namespace), why };
        let text =
            secret.data.as_ref().and_then(|data| data.get("value")).ok_or_else(|| bad("no key value".to_owned()))?;
        let text = std::str::from_utf8(&text.0).map_err(|error| bad(error.to_string()))?;
        let client = connect(text).await.map_err(bad)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(cluster.clone(), Known { version, client: client.clone() });
        Ok(client)
    }

    async fn ask<T>(
        &self,
        cluster: &ClusterKey,
        answer: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, WorkloadError> {
        let unreachable = |why: String| WorkloadError::Unreachable { cluster: cluster.clone(), why };
        match tokio::time::timeout(CALL_DEADLINE, answer).await {
            Ok(result) => result.map_err(|error| unreachable(cause(&error))),
            Err(_) => Err(unreachable(format!("no answer within {CALL_DEADLINE:?}"))),
        }
    }
}

#[async_trait]
impl WorkloadClusters for KubeWorkloadClusters {
    async fn node(&self, cluster: &ClusterKey, provider_id: &str) -> Result<Option<NodeView>, WorkloadError> {
        let nodes: Api<Node> = Api::all(self.client(cluster).await?);
        let nodes = self.ask(cluster, nodes.list(&ListParams::default())).await?;
        let ours = |node: &&Node| node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()) == Some(provider_id);
        Ok(nodes.iter().find(ours).map(view))
    }

    async fn initialized(&self, cluster: &ClusterKey) -> Result<bool, WorkloadError> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client(cluster).await?, "kube-system");
        Ok(self.ask(cluster, maps.get_opt("kubeadm-config")).await?.is_some())
    }
}

/// Name of a cluster's kubeconfig Secret.
pub(crate) fn kubeconfig_secret(cluster: &str) -> String {
    format!("{cluster}-kubeconfig")
}

/// A client that runs no foreign program and reads no file here: a kubeconfig from the API may be anybody's.
async fn connect(kubeconfig: &str) -> Result<Client, String> {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).map_err(|error| error.to_string())?;
    let foreign = kubeconfig.auth_infos.iter().filter_map(|user| user.auth_info.as_ref());
    if foreign.into_iter().any(|user| user.exec.is_some() || user.auth_provider.is_some()) {
        return Err("it asks for an exec or auth provider, which is not run".to_owned());
    }
    if let Some(field) = local_file(&kubeconfig) {
        return Err(format!("its {field} names a file on this machine, which is not read: give the content itself"));
    }
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| error.to_string())?;
    config.connect_timeout = Some(CALL_DEADLINE);
    config.read_timeout = Some(CALL_DEADLINE);
    config.write_timeout = Some(CALL_DEADLINE);
    // What proxies this process was started with says nothing about the way to a node.
    config.proxy_url = None;
    Client::try_from(config).map_err(|error| error.to_string())
}

/// The first field that names a file.
fn local_file(kubeconfig: &Kubeconfig) -> Option<&'static str> {
    let clusters = kubeconfig.clusters.iter().filter_map(|cluster| cluster.cluster.as_ref());
    let users = kubeconfig.auth_infos.iter().filter_map(|user| user.auth_info.as_ref());
    let authorities = clusters.map(|cluster| ("certificate-authority", &cluster.certificate_authority));
    let credentials = users.flat_map(|user| {
        [
            ("tokenFile", &user.token_file),
            ("client-certificate", &user.client_certificate),
            ("client-key", &user.client_key),
        ]
    });
    authorities.chain(credentials).find(|(_, path)| path.is_some()).map(|(field, _)| field)
}

/// The innermost error: what wraps it says only that something failed.
fn cause(error: &kube::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn view(node: &Node) -> NodeView {
    let status = node.status.clone().unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default();
    let message = |condition: &NodeCondition| condition.message.clone().unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
    let addresses = status.addresses.unwrap_or_default().into_iter();
    NodeView {
        name: node.name_any(),
        ready: ready.map(|condition| (condition.status == "True", message(condition))),
        addresses: addresses.map(|address| NodeAddressView { kind: address.type_, address: address.address }).collect(),
        info: serde_json::to_value(status.node_info).unwrap_or_default(),
        pressures: conditions
            .iter()
            .filter(|condition| PRESSURES.contains(&condition.type_.as_str()) && condition.status == "True")
            .map(|condition| format!("{}: {}", condition.type_, message(condition)))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_here_is_read_for_a_kubeconfig() {
        for (cluster, user, found) in [
            ("certificate-authority: /etc/ca.crt", "token: x", Some("certificate-authority")),
            ("server: https://x", "tokenFile: /run/token", Some("tokenFile")),
            ("server: https://x", "client-certificate: /tmp/a", Some("client-certificate")),
            ("server: https://x", "client-key: /tmp/a", Some("client-key")),
            ("certificate-authority-data: eA==", "client-key-data: eA==", None),
        ] {
            let yaml = format!(
                "clusters: [{{ name: c, cluster: {{ {cluster} }} }}]\nusers: [{{ name: u, user: {{ {user} }} }}]"
            );
            assert_eq!(local_file(&Kubeconfig::from_yaml(&yaml).unwrap()), found, "{yaml}");
        }
    }
}
