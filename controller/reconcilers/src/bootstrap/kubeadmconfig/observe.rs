//! Looks at one KubeadmConfig, its Machine and Cluster, and the Secrets that go into the data.

use std::collections::BTreeMap;

use bessemer_api::SecretKeyReference;
use bessemer_api::bootstrap::KubeadmConfig;
use bessemer_api::cluster::{Cluster, Machine};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;

use super::KubeadmConfigReconciler;
use crate::cluster::cluster_label;
use crate::controlplane::certificates::Purpose;
use crate::kubernetes::{Asking, Key, ReconcileError, owner_named};

/// What is known of one KubeadmConfig at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Observed {
    pub(super) config: KubeadmConfig,
    pub(super) machine: Option<Machine>,
    pub(super) cluster: Option<Cluster>,
    /// The cluster's CAs, those that exist.
    pub(super) certificates: Vec<(Purpose, KeyPair)>,
    /// What `contentFrom` and `passwdFrom` point to; none where that is missing.
    pub(super) referred: BTreeMap<(String, String), Option<String>>,
    /// The Secret with the data.
    pub(super) secret: Option<Secret>,
}

/// A certificate and its key, PEM.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct KeyPair {
    pub(super) certificate: String,
    pub(super) key: String,
}

impl std::fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyPair")
    }
}

impl KubeadmConfigReconciler {
    pub(super) async fn observe(&self, key: &Key) -> Result<Option<Observed>, ReconcileError> {
        let api: Api<KubeadmConfig> = Api::namespaced(self.client.clone(), &key.namespace);
        let Some(config) = api.get_opt(&key.name).await.asking("read", format!("KubeadmConfig {key}"))? else {
            return Ok(None);
        };
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        let machine = match owner_named(&config, "Machine") {
            Some(name) => machines.get_opt(&name).await.asking("read", format!("Machine {name}"))?,
            None => None,
        };
        let clusters: Api<Cluster> = Api::namespaced(self.client.clone(), &key.namespace);
        let cluster = match cluster_label(&config) {
            Some(name) => clusters.get_opt(name).await.asking("read", format!("Cluster {name}"))?,
            None => None,
        };
        let secret = self.secret(key, &key.name).await?;
        let certificates = match &cluster {
            // Only while there is something to render: they are the cluster's CA keys.
            Some(cluster) if secret.is_none() => {
                self.certificates(key, cluster.metadata.name.as_deref().unwrap_or_default()).await?
            }
            _ => Vec::new(),
        };
        let referred = if secret.is_none() { self.referred(key, &config).await? } else { BTreeMap::new() };
        Ok(Some(Observed { config, machine, cluster, certificates, referred, secret }))
    }

    async fn secret(&self, key: &Key, name: &str) -> Result<Option<Secret>, ReconcileError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &key.namespace);
        secrets.get_opt(name).await.asking("read", format!("Secret {}/{name}", key.namespace))
    }

    async fn certificates(&self, key: &Key, cluster: &str) -> Result<Vec<(Purpose, KeyPair)>, ReconcileError> {
        let mut found = Vec::new();
        for purpose in Purpose::ALL {
            let Some(secret) = self.secret(key, &purpose.secret(cluster)).await? else { continue };
            if let (Some(certificate), Some(key)) = (text(&secret, "tls.crt"), text(&secret, "tls.key")) {
                found.push((purpose, KeyPair { certificate, key }));
            }
        }
        Ok(found)
    }

    async fn referred(
        &self,
        key: &Key,
        config: &KubeadmConfig,
    ) -> Result<BTreeMap<(String, String), Option<String>>, ReconcileError> {
        let files = config.spec.files.iter().filter_map(|file| file.content_from.as_ref()).map(|from| &from.secret);
        let users = config.spec.users.iter().filter_map(|user| user.passwd_from.as_ref()).map(|from| &from.secret);
        let mut referred = BTreeMap::new();
        for SecretKeyReference { name, key: field } in files.chain(users) {
            let secret = self.secret(key, name).await?;
            referred.insert((name.clone(), field.clone()), secret.and_then(|secret| text(&secret, field)));
        }
        Ok(referred)
    }
}

fn text(secret: &Secret, key: &str) -> Option<String> {
    let bytes = secret.data.as_ref().and_then(|data| data.get(key))?;
    String::from_utf8(bytes.0.clone()).ok()
}
