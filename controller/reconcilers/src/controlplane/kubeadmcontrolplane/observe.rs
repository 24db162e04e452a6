//! Looks at one KubeadmControlPlane: its Cluster, Secrets, template, Machines, and whether the cluster serves.

use bessemer_api::cluster::{Cluster, Machine};
use bessemer_api::controlplane::KubeadmControlPlane;
use bessemer_api::infrastructure::{Metal3Machine, Metal3MachineTemplate};
use bessemer_api::well_known::CONTROL_PLANE_NAME_LABEL;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::ControlPlaneReconciler;
use crate::controlplane::certificates::Purpose;
use crate::kubernetes::{Asking, Key, ReconcileError, is_deleting, owner_named};
use crate::outside::{ClusterKey, WorkloadError};
use crate::workload::kubeconfig_secret;

/// What is known of one KubeadmControlPlane at one moment.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    pub(super) object: KubeadmControlPlane,
    pub(super) cluster: Option<Cluster>,
    pub(super) template: Option<Metal3MachineTemplate>,
    /// CAs whose Secrets do not exist.
    pub(super) missing: Vec<Purpose>,
    pub(super) kubeconfig: bool,
    pub(super) machines: Vec<Machine>,
    /// A machine that was begun and not finished: its infrastructure exists, its Machine does not.
    pub(super) begun: Option<String>,
    pub(super) serves: Serves,
    /// Five letters for a name.
    pub(super) seed: String,
}

/// Whether the cluster serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Serves {
    /// It is too early to ask.
    NotYet,
    Yes,
    No,
    Unreachable(WorkloadError),
}

impl ControlPlaneReconciler {
    pub(super) async fn observe(&self, key: &Key) -> Result<Option<Observed>, ReconcileError> {
        let api: Api<KubeadmControlPlane> = Api::namespaced(self.client.clone(), &key.namespace);
        let object = api.get_opt(&key.name).await.asking("read", format!("KubeadmControlPlane {key}"))?;
        let Some(object) = object else { return Ok(None) };
        let clusters: Api<Cluster> = Api::namespaced(self.client.clone(), &key.namespace);
        let cluster = match owner_named(&object, "Cluster") {
            Some(name) => clusters.get_opt(&name).await.asking("read", format!("Cluster {name}"))?,
            None => None,
        };
        let reference = &object.spec.machine_template.spec.infrastructure_ref;
        let templates: Api<Metal3MachineTemplate> = Api::namespaced(self.client.clone(), &key.namespace);
        let template = if reference.kind == "Metal3MachineTemplate" {
            templates
                .get_opt(&reference.name)
                .await
                .asking("read", format!("Metal3MachineTemplate {}", reference.name))?
        } else {
            None
        };
        let name = cluster.as_ref().map(ResourceExt::name_any).unwrap_or_default();
        let mut missing = Vec::new();
        for purpose in Purpose::ALL {
            if !self.exists(key, &purpose.secret(&name)).await? {
                missing.push(purpose);
            }
        }
        let kubeconfig = self.exists(key, &kubeconfig_secret(&name)).await?;
        let of_it = ListParams::default().labels(&format!("{CONTROL_PLANE_NAME_LABEL}={}", key.name));
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        let machines = machines.list(&of_it).await.asking("list", "Machines")?.items;
        let infrastructures: Api<Metal3Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        let infrastructures = infrastructures.list(&of_it).await.asking("list", "Metal3Machines")?.items;
        let finished = |name: &String| machines.iter().any(|machine| machine.name_any() == *name);
        let begun = infrastructures
            .iter()
            .filter(|object| !is_deleting(*object))
            .map(ResourceExt::name_any)
            .find(|name| !finished(name));
        let serves = self.serves(key, &object, &name, &machines).await;
        let seed = letters();
        Ok(Some(Observed { object, cluster, template, missing, kubeconfig, machines, begun, serves, seed }))
    }

    async fn exists(&self, key: &Key, secret: &str) -> Result<bool, ReconcileError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &key.namespace);
        let found = secrets.get_opt(secret).await.asking("read", format!("Secret {}/{secret}", key.namespace))?;
        Ok(found.is_some())
    }

    /// Asked until it does, once there is a machine that may answer.
    async fn serves(&self, key: &Key, object: &KubeadmControlPlane, cluster: &str, machines: &[Machine]) -> Serves {
        let reached = object.status.as_ref().and_then(|status| status.initialization.as_ref());
        if reached.is_some_and(|reached| reached.control_plane_initialized == Some(true)) {
            return Serves::Yes;
        }
        if !machines.iter().any(|machine| machine.spec.provider_id.is_some()) {
            return Serves::NotYet;
        }
        let cluster = ClusterKey { namespace: key.namespace.clone(), name: cluster.to_owned() };
        match self.workload.initialized(&cluster).await {
            Ok(true) => Serves::Yes,
            Ok(false) => Serves::No,
            Err(error) => Serves::Unreachable(error),
        }
    }
}

/// Five letters without vowels, as Kubernetes makes names: no words come about.
fn letters() -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let bytes = uuid::Uuid::new_v4().into_bytes();
    let letter = |byte: &u8| ALPHABET.get(usize::from(*byte) % ALPHABET.len()).copied().unwrap_or(b'x');
    bytes.iter().take(5).map(letter).map(char::from).collect()
}
