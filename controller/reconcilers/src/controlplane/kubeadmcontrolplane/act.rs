//! Makes key pairs, kubeconfig and machines, and says which machines are as the spec says.

use std::time::Duration;

use bessemer_api::ContractReference;
use bessemer_api::bootstrap::KubeadmConfig;
use bessemer_api::cluster::{Machine, MachineBootstrap};
use bessemer_api::conditions::{self, wanted};
use bessemer_api::controlplane::KubeadmControlPlane;
use bessemer_api::infrastructure::{Metal3Machine, Metal3MachineTemplate};
use bessemer_api::well_known::{
    CLONED_FROM_GROUP_KIND_ANNOTATION, CLONED_FROM_NAME_ANNOTATION, CLUSTER_NAME_LABEL, CONTROL_PLANE_LABEL,
    CONTROL_PLANE_NAME_LABEL,
};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use time::OffsetDateTime;

use super::ControlPlaneReconciler;
use super::decide::{Decision, Make};
use super::observe::Observed;
use crate::controlplane::certificates::{self, Purpose};
use crate::kubernetes::{Asking, Key, ReconcileError, create_or_get, delete, is_deleting, own, time, write};
use crate::workload::kubeconfig_secret;

impl ControlPlaneReconciler {
    pub(super) async fn act(&self, key: &Key, seen: &Observed, decision: Decision) -> Result<Action, ReconcileError> {
        let api: Api<KubeadmControlPlane> = Api::namespaced(self.client.clone(), &key.namespace);
        write(&api, &seen.object, &decision.object).await?;
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        for machine in &seen.machines {
            if decision.delete {
                delete(&machines, machine).await?;
            } else {
                write(&machines, machine, &up_to_date(&seen.object, machine)).await?;
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
        let metadata = metadata(object, cluster, name);
        let mut cloned = metadata.clone();
        own(&mut cloned, object, false);
        let own_metadata = template.spec.template.metadata.clone().unwrap_or_default();
        cloned.labels.get_or_insert_default().extend(own_metadata.labels);
        let annotations = cloned.annotations.get_or_insert_default();
        annotations.extend(own_metadata.annotations);
        annotations.insert(CLONED_FROM_NAME_ANNOTATION.to_owned(), template.name_any());
        let group_kind = format!("Metal3MachineTemplate.{}", bessemer_api::infrastructure::GROUP);
        annotations.insert(CLONED_FROM_GROUP_KIND_ANNOTATION.to_owned(), group_kind);
        let infrastructures: Api<Metal3Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        let spec = template.spec.template.spec.clone();
        create_or_get(&infrastructures, &Metal3Machine { metadata: cloned, spec, status: None }).await?;

        let mut config = KubeadmConfig { metadata: metadata.clone(), spec: Default::default(), status: None };
        own(&mut config.metadata, object, false);
        config.spec = object.spec.kubeadm_config_spec.clone().unwrap_or_default();
        // The first machine never joins.
        config.spec.join_configuration = None;
        // An empty spec is refused.
        config.spec.format.get_or_insert_default();
        let configs: Api<KubeadmConfig> = Api::namespaced(self.client.clone(), &key.namespace);
        create_or_get(&configs, &config).await?;

        let mut machine = Machine { metadata, ..Machine::default() };
        own(&mut machine.metadata, object, true);
        machine.spec.cluster_name = cluster.to_owned();
        machine.spec.version = Some(object.spec.version.clone());
        machine.spec.bootstrap = MachineBootstrap {
            config_ref: Some(reference(bessemer_api::bootstrap::GROUP, "KubeadmConfig", name)),
            data_secret_name: None,
        };
        machine.spec.infrastructure_ref = reference(bessemer_api::infrastructure::GROUP, "Metal3Machine", name);
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        create_or_get(&machines, &machine).await?;
        tracing::info!(controlplane = %key, machine = name, "machine made");
        Ok(())
    }
}

fn metadata(object: &KubeadmControlPlane, cluster: &str, name: &str) -> ObjectMeta {
    let template = object.spec.machine_template.metadata.clone().unwrap_or_default();
    let mut labels = template.labels;
    labels.insert(CLUSTER_NAME_LABEL.to_owned(), cluster.to_owned());
    labels.insert(CONTROL_PLANE_LABEL.to_owned(), String::new());
    labels.insert(CONTROL_PLANE_NAME_LABEL.to_owned(), object.name_any());
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: object.namespace(),
        labels: Some(labels),
        annotations: Some(template.annotations),
        ..ObjectMeta::default()
    }
}

fn reference(group: &str, kind: &str, name: &str) -> ContractReference {
    ContractReference { api_group: group.to_owned(), kind: kind.to_owned(), name: name.to_owned() }
}

/// The Machine with its condition `UpToDate`, which is the control plane's to set.
fn up_to_date(object: &KubeadmControlPlane, machine: &Machine) -> Machine {
    let mut after = machine.clone();
    if is_deleting(machine) {
        return after;
    }
    let condition = if machine.spec.version.as_deref() == Some(object.spec.version.as_str()) {
        wanted("UpToDate", true, "UpToDate", "")
    } else {
        wanted("UpToDate", false, "NotUpToDate", "the version differs; rolling out is not built yet")
    };
    let generation = machine.metadata.generation;
    let status = after.status.get_or_insert_default();
    conditions::set(&mut status.conditions, condition, generation, time(Timestamp::now()));
    after
}

fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

fn unmade(name: &str, error: &rcgen::Error) -> ReconcileError {
    ReconcileError::Shape { what: format!("Secret {name}"), why: error.to_string() }
}
