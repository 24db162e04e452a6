//! Makes key pairs, kubeconfig and machines, and writes what machines shall show.

use std::time::Duration;

use bessemer_api::bootstrap::KubeadmConfig;
use bessemer_api::cluster::Machine;
use bessemer_api::controlplane::KubeadmControlPlane;
use bessemer_api::infrastructure::{Metal3Machine, Metal3MachineTemplate};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use time::OffsetDateTime;

use super::ControlPlaneReconciler;
use super::decide::{Decision, Make};
use super::observe::Observed;
use super::parts::Parts;
use crate::controlplane::certificates::{self, Purpose};
use crate::kubernetes::{Asking, Key, ReconcileError, create_or_get, delete, own, write};
use crate::workload::kubeconfig_secret;

impl ControlPlaneReconciler {
    pub(super) async fn act(&self, key: &Key, seen: &Observed, decision: Decision) -> Result<Action, ReconcileError> {
        let api: Api<KubeadmControlPlane> = Api::namespaced(self.client.clone(), &key.namespace);
        write(&api, &seen.object, &decision.object).await?;
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        for (before, after) in seen.machines.iter().zip(&decision.machines) {
            if decision.delete {
                delete(&machines, before).await?;
            } else {
                write(&machines, before, after).await?;
            }
        }
        let cluster = seen.cluster.as_ref().map(ResourceExt::name_any).unwrap_or_default();
        match decision.make {
            None => return Ok(decision.wake.map_or_else(Action::await_change, Action::requeue)),
            Some(Make::Certificates(purposes)) => {
                for purpose in purposes {
                    self.certificate(key, &seen.object, &cluster, purpose).await?;
                }
            }
            Some(Make::Kubeconfig { server }) => self.kubeconfig(key, &seen.object, &cluster, &server).await?,
            Some(Make::Machine { name }) => {
                if let Some(template) = &seen.template {
                    self.machine(key, &seen.object, template, &cluster, &name).await?;
                }
            }
        }
        // The next thing to make does not show in any watch.
        Ok(Action::requeue(Duration::ZERO))
    }

    async fn certificate(
        &self,
        key: &Key,
        object: &KubeadmControlPlane,
        cluster: &str,
        purpose: Purpose,
    ) -> Result<(), ReconcileError> {
        let name = purpose.secret(cluster);
        let data = certificates::generate(purpose, now()).map_err(|error| unmade(&name, &error))?;
        self.store(key, object, certificates::secret(&key.namespace, name, cluster, data)).await
    }

    async fn kubeconfig(
        &self,
        key: &Key,
        object: &KubeadmControlPlane,
        cluster: &str,
        server: &str,
    ) -> Result<(), ReconcileError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &key.namespace);
        let ca = Purpose::Cluster.secret(cluster);
        let ca = secrets.get(&ca).await.asking("read", format!("Secret {}/{ca}", key.namespace))?;
        let name = kubeconfig_secret(cluster);
        let text = certificates::kubeconfig(cluster, server, &ca.data.unwrap_or_default(), now())
            .map_err(|error| unmade(&name, &error))?;
        let data = [("value".to_owned(), ByteString(text.into_bytes()))].into();
        self.store(key, object, certificates::secret(&key.namespace, name, cluster, data)).await
    }

    async fn store(&self, key: &Key, owner: &KubeadmControlPlane, mut secret: Secret) -> Result<(), ReconcileError> {
        own(&mut secret.metadata, owner, true);
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &key.namespace);
        create_or_get(&secrets, &secret).await.map(drop)
    }

    /// In an order in which each finds what it refers to; safe to repeat under the same name.
    async fn machine(
        &self,
        key: &Key,
        object: &KubeadmControlPlane,
        template: &Metal3MachineTemplate,
        cluster: &str,
        name: &str,
    ) -> Result<(), ReconcileError> {
        let parts = Parts::new(object, template, cluster, name);
        let infrastructures: Api<Metal3Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        create_or_get(&infrastructures, &parts.infrastructure).await?;
        let configs: Api<KubeadmConfig> = Api::namespaced(self.client.clone(), &key.namespace);
        create_or_get(&configs, &parts.config).await?;
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        create_or_get(&machines, &parts.machine).await?;
        tracing::info!(controlplane = %key, machine = name, "machine made");
        Ok(())
    }
}

fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

fn unmade(name: &str, error: &rcgen::Error) -> ReconcileError {
    ReconcileError::Shape { what: format!("Secret {name}"), why: error.to_string() }
}
