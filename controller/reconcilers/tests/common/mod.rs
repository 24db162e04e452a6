//! The outside, pretended: a Kubernetes API in memory's reach, BMCs, agents and workload clusters.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod hub;
mod workload;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bessemer_api::bessemer::HostRecord;
use bessemer_api::metal3::BareMetalHost;
use bessemer_apiserver::ApiServer;
use bessemer_bmc::Credentials;
use bessemer_bmc::fake::{FakeBmc, FakeConnector};
use bessemer_protocol::{HardwareIdentity, HostId};
use bessemer_reconcilers::outside::HostAuthority;
use bessemer_reconcilers::{BootSettings, Group, Hosts, Outside, Site};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub use hub::FakeHub;
pub use workload::FakeWorkload;

pub const NAMESPACE: &str = "metal";
pub const MAC: &str = "52:54:00:77:00:01";
/// For anything that should happen.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A site with one host's BMC, and nothing in the API yet.
pub struct Lab {
    pub client: Client,
    pub bmc: Arc<FakeBmc>,
    pub bmcs: Arc<FakeConnector>,
    pub hub: Arc<FakeHub>,
    pub workload: Arc<FakeWorkload>,
    pub hosts: Hosts,
    outside: Outside,
    pub server: ApiServer,
    shutdown: CancellationToken,
    _dir: tempfile::TempDir,
}

impl Lab {
    pub async fn start() -> Self {
        Self::start_with(Group::ALL).await
    }

    /// As [`Lab::start`], with the controllers of these groups alone.
    pub async fn start_with(groups: &[Group]) -> Self {
        let boot = BootSettings::default();
        let dir = tempfile::tempdir().unwrap();
        let server = ApiServer::open(dir.path()).await.unwrap();
        let crds: Vec<Value> = bessemer_api::crds().iter().map(|crd| serde_json::to_value(crd).unwrap()).collect();
        server.install_crds(&crds).await.unwrap();
        let client = Client::new(server.router(), "default");
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
        let namespace = serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } })).unwrap();
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();

        let bmc = FakeBmc::new("ipmi://10.0.0.1".parse().unwrap(), Credentials::new("admin", "right"));
        let bmcs = Arc::new(FakeConnector::new());
        bmcs.add(Arc::clone(&bmc));
        let (hub, workload) = (FakeHub::new(), Arc::new(FakeWorkload::default()));
        let shutdown = CancellationToken::new();
        let site = Site::start(client.clone(), shutdown.clone()).await.unwrap();
        let hosts = site.hosts();
        let outside = Outside { bmc: bmcs.clone(), agents: hub.clone(), workload: workload.clone(), boot };
        tokio::spawn(site.run(outside.clone(), groups.iter().copied().collect()));
        Self { client, bmc, bmcs, hub, workload, hosts, outside, server, shutdown, _dir: dir }
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    pub async fn create<K>(&self, object: Value) -> K
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + serde::Serialize
            + DeserializeOwned
            + Clone
            + Debug,
    {
        let object = serde_json::from_value(object).unwrap();
        self.api::<K>().create(&PostParams::default(), &object).await.unwrap()
    }

    pub async fn patch<K>(&self, name: &str, patch: Value)
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + Debug,
    {
        self.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    /// As [`Lab::patch`], of the status.
    pub async fn patch_status<K>(&self, name: &str, patch: Value)
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + Debug,
    {
        self.api::<K>().patch_status(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    /// The Secret and the host.
    pub async fn add_host(&self, password: &str) {
        self.secret("r7-u12-bmc", password).await;
        self.add_host_with("r7-u12", MAC, json!({ "address": "ipmi://10.0.0.1", "credentialsName": "r7-u12-bmc" }))
            .await;
    }

    /// A host alone, with this `spec.bmc`.
    pub async fn add_host_with(&self, name: &str, mac: &str, bmc: Value) {
        self.create::<BareMetalHost>(json!({
            "apiVersion": "metal3.io/v1alpha1",
            "kind": "BareMetalHost",
            "metadata": { "name": name },
            "spec": { "online": true, "bootMACAddress": mac, "bmc": bmc },
        }))
        .await;
    }

    pub async fn secret(&self, name: &str, password: &str) {
        self.create::<Secret>(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": name },
            "stringData": { "username": "admin", "password": password },
        }))
        .await;
    }

    /// The objects of a one-node cluster, as the demo applies them.
    pub async fn add_cluster(&self) {
        use bessemer_api::cluster::Cluster;
        use bessemer_api::controlplane::KubeadmControlPlane;
        use bessemer_api::infrastructure::{GROUP, Metal3Cluster, Metal3MachineTemplate};
        self.create::<Cluster>(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": { "name": "first" },
            "spec": {
                "clusterNetwork": { "pods": { "cidrBlocks": ["10.244.0.0/16"] } },
                "controlPlaneRef": { "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "first-cp" },
                "infrastructureRef": { "apiGroup": GROUP, "kind": "Metal3Cluster", "name": "first" },
            },
        }))
        .await;
        self.create::<Metal3Cluster>(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "Metal3Cluster",
            "metadata": { "name": "first" },
            "spec": { "controlPlaneEndpoint": { "host": "10.77.0.10", "port": 6443 } },
        }))
        .await;
        self.create::<Metal3MachineTemplate>(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "Metal3MachineTemplate",
            "metadata": { "name": "first-cp" },
            "spec": { "template": { "spec": { "image": {
                "url": "http://10.77.0.1:8080/images/debian.raw.zst",
                "checksum": "ab".repeat(32),
                "checksumType": "sha256",
                "diskFormat": "raw",
            } } } },
        }))
        .await;
        self.create::<KubeadmControlPlane>(json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmControlPlane",
            "metadata": { "name": "first-cp" },
            "spec": {
                "replicas": 1,
                "version": "v1.36.3",
                "machineTemplate": { "spec": { "infrastructureRef": {
                    "apiGroup": GROUP, "kind": "Metal3MachineTemplate", "name": "first-cp",
                } } },
                "kubeadmConfigSpec": { "initConfiguration": { "nodeRegistration": { "kubeletExtraArgs": [
                    { "name": "fail-cgroupv1", "value": "false" },
                ] } } },
            },
        }))
        .await;
    }

    /// The object once `holds`; the last one seen is shown when it never does.
    pub async fn until<K>(&self, name: &str, holds: impl Fn(&K) -> bool) -> K
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + DeserializeOwned
            + serde::Serialize
            + Clone
            + Debug,
    {
        let api = self.api::<K>();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let object = api.get_opt(name).await.unwrap();
            if let Some(object) = object.clone().filter(|object| holds(object)) {
                return object;
            }
            if tokio::time::Instant::now() > deadline {
                let shown = serde_json::to_string_pretty(&object).unwrap();
                panic!("{} {name} does not get there: {shown}", K::kind(&()));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub async fn host_until(&self, holds: impl Fn(&BareMetalHost) -> bool) -> BareMetalHost {
        self.until::<BareMetalHost>("r7-u12", holds).await
    }

    /// What a host does by itself once it is powered on for its current boot: enrols and opens its stream.
    pub async fn enrol(&self) -> HostId {
        use bessemer_api::bessemer::BootStep;
        let record = self
            .until::<HostRecord>("r7-u12", |record| {
                let boot = record.status.as_ref().and_then(|status| status.boot.as_ref());
                boot.is_some_and(|boot| boot.step == BootStep::Waiting)
            })
            .await;
        let boot = record.status.unwrap().boot.unwrap().id.parse().unwrap();
        let identity =
            HardwareIdentity { macs: vec![MAC.to_owned()], serial: Some("ABC".to_owned()), smbios_uuid: None };
        let host = self.hosts.admit(boot, &identity, "0.1.0").await.unwrap();
        self.hub.connect_ramdisk(host, boot);
        host
    }

    /// A controller that starts anew beside the first: it looks at everything.
    pub async fn another(&self) -> CancellationToken {
        let shutdown = self.shutdown.child_token();
        let site = Site::start(self.client.clone(), shutdown.clone()).await.unwrap();
        tokio::spawn(site.run(self.outside.clone(), Group::ALL.iter().copied().collect()));
        shutdown
    }

    pub fn stop(&self) {
        self.shutdown.cancel();
        self.server.close();
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.stop();
    }
}
