//! Starts the caches and, over them, every controller.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bessemer_api::bessemer::{BootLease, HostRecord};
use bessemer_api::bootstrap::KubeadmConfig;
use bessemer_api::cluster::{Cluster, Machine};
use bessemer_api::controlplane::KubeadmControlPlane;
use bessemer_api::infrastructure::{Metal3Cluster, Metal3Machine};
use bessemer_api::metal3::BareMetalHost;
use bessemer_api::well_known::{ENVIRONMENT_LABEL, ENVIRONMENT_VALUE};
use bessemer_bmc::BmcConnector;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::bootstrap::kubeadmconfig::{self, KubeadmConfigReconciler};
use crate::cluster::cluster::{self, ClusterReconciler};
use crate::cluster::machine::{self, MachineReconciler};
use crate::controlplane::kubeadmcontrolplane::{self, ControlPlaneReconciler};
use crate::hosts::Hosts;
use crate::infrastructure::metal3cluster::{self, Metal3ClusterReconciler};
use crate::infrastructure::metal3machine::{self, Metal3MachineReconciler};
use crate::kubernetes::{Feed, drive};
use crate::metal3::baremetalhost::{self, HostReconciler};
use crate::metal3::unserved;
use crate::outside::{AgentHub, WorkloadClusters};
use crate::settings::BootSettings;

/// For every cache to be filled at the start.
const SYNC_DEADLINE: Duration = Duration::from_secs(60);

/// The world outside the Kubernetes API, as reconcilers need it.
#[derive(Clone)]
pub struct Outside {
    /// The BMCs.
    pub bmc: Arc<dyn BmcConnector>,
    /// The agents.
    pub agents: Arc<dyn AgentHub>,
    /// The clusters being built.
    pub workload: Arc<dyn WorkloadClusters>,
    /// How hosts are booted.
    pub boot: BootSettings,
}

/// Controllers that are switched on and off together: those of one API group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Hosts.
    Metal3,
    /// What Cluster API asks of a provider of machines.
    Infrastructure,
    /// Cluster API's core.
    Cluster,
    /// Bootstrap data.
    Bootstrap,
    /// Control planes.
    ControlPlane,
}

impl Group {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Metal3, Self::Infrastructure, Self::Cluster, Self::Bootstrap, Self::ControlPlane];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Metal3 => "metal3",
            Self::Infrastructure => "infrastructure",
            Self::Cluster => "cluster",
            Self::Bootstrap => "bootstrap",
            Self::ControlPlane => "controlplane",
        }
    }
}

/// The caches could not be filled.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The API did not list a kind in time.
    #[error(
        "the Kubernetes API did not list {kind} within {SYNC_DEADLINE:?}: are the CRDs installed, and may we list and watch it?"
    )]
    NotSynced {
        /// Which kind.
        kind: Cow<'static, str>,
    },
}

/// When caches that start to be filled now have to be.
pub(crate) fn sync_deadline() -> Instant {
    Instant::now() + SYNC_DEADLINE
}

/// Waits until the cache of a kind is filled.
pub(crate) async fn filled<K>(feed: &Feed<K>, deadline: Instant) -> Result<(), StartError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    match tokio::time::timeout_at(deadline, feed.store().wait_until_ready()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(StartError::NotSynced { kind: K::kind(&()) }),
    }
}

/// One shared cache for each kind, and what is built on them.
#[derive(Clone)]
pub struct Site {
    pub(crate) client: Client,
    pub(crate) hosts: Feed<BareMetalHost>,
    pub(crate) records: Feed<HostRecord>,
    pub(crate) leases: Feed<BootLease>,
    pub(crate) secrets: Feed<Secret>,
    pub(crate) metal3_clusters: Feed<Metal3Cluster>,
    pub(crate) metal3_machines: Feed<Metal3Machine>,
    pub(crate) clusters: Feed<Cluster>,
    pub(crate) machines: Feed<Machine>,
    pub(crate) kubeadm_configs: Feed<KubeadmConfig>,
    pub(crate) control_planes: Feed<KubeadmControlPlane>,
    shutdown: CancellationToken,
}

impl Site {
    /// Starts watching, until `shutdown`, and waits until every cache is filled. The CRDs of [`bessemer_api::crds`] must
    /// be installed.
    ///
    /// # Errors
    /// [`StartError`] when that takes too long.
    pub async fn start(client: Client, shutdown: CancellationToken) -> Result<Self, StartError> {
        macro_rules! feed {
            () => {
                Feed::start(Api::all(client.clone()), watcher::Config::default(), |_| {}, shutdown.clone())
            };
        }
        let labelled = watcher::Config::default().labels(&format!("{ENVIRONMENT_LABEL}={ENVIRONMENT_VALUE}"));
        let forget_content = |secret: &mut Secret| {
            secret.data = None;
            secret.string_data = None;
        };
        let site = Self {
            hosts: feed!(),
            records: feed!(),
            leases: feed!(),
            secrets: Feed::start(Api::all(client.clone()), labelled, forget_content, shutdown.clone()),
            metal3_clusters: feed!(),
            metal3_machines: feed!(),
            clusters: feed!(),
            machines: feed!(),
            kubeadm_configs: feed!(),
            control_planes: feed!(),
            client,
            shutdown,
        };
        site.synced().await?;
        Ok(site)
    }

    async fn synced(&self) -> Result<(), StartError> {
        let deadline = sync_deadline();
        macro_rules! wait {
            ($($feed:ident),*) => {
                $(filled(&self.$feed, deadline).await?;)*
            };
        }
        wait!(hosts, records, leases, secrets, metal3_clusters, metal3_machines, clusters, machines);
        wait!(kubeadm_configs, control_planes);
        Ok(())
    }

    /// What the agents' endpoint and the boot server may ask. Clones share their locks.
    #[must_use]
    pub fn hosts(&self) -> Hosts {
        Hosts::new(self.client.clone(), self.hosts.store(), self.records.store(), self.leases.store())
    }

    /// Runs the controllers of `groups` until `shutdown`, and until the reconciles under way have ended.
    pub async fn run(self, outside: Outside, groups: BTreeSet<Group>) {
        let Outside { bmc, agents, workload, boot } = outside;
        let (client, stop) = (&self.client, &self.shutdown);
        let hosts = drive(
            "baremetalhost",
            baremetalhost::controller(&self, &agents),
            HostReconciler::new(client.clone(), self.hosts.store(), bmc, Arc::clone(&agents), boot),
            stop.clone(),
        );
        let metal3_clusters = drive(
            "metal3cluster",
            metal3cluster::controller(&self),
            Metal3ClusterReconciler::new(client.clone()),
            stop.clone(),
        );
        let metal3_machines = drive(
            "metal3machine",
            metal3machine::controller(&self, &agents),
            Metal3MachineReconciler::new(client.clone(), self.hosts.store(), Arc::clone(&agents)),
            stop.clone(),
        );
        let clusters =
            drive("cluster", cluster::controller(&self), ClusterReconciler::new(client.clone()), stop.clone());
        let machines = drive(
            "machine",
            machine::controller(&self),
            MachineReconciler::new(client.clone(), Arc::clone(&workload)),
            stop.clone(),
        );
        let configs = drive(
            "kubeadmconfig",
            kubeadmconfig::controller(&self),
            KubeadmConfigReconciler::new(client.clone()),
            stop.clone(),
        );
        let control_planes = drive(
            "kubeadmcontrolplane",
            kubeadmcontrolplane::controller(&self),
            ControlPlaneReconciler::new(client.clone(), workload),
            stop.clone(),
        );
        // Boxed: each is a large state machine, and together they would be one future of hundreds of kilobytes.
        let controllers: [(Group, BoxFuture<'_, ()>); 7] = [
            (Group::Metal3, hosts.boxed()),
            (Group::Infrastructure, metal3_clusters.boxed()),
            (Group::Infrastructure, metal3_machines.boxed()),
            (Group::Cluster, clusters.boxed()),
            (Group::Cluster, machines.boxed()),
            (Group::Bootstrap, configs.boxed()),
            (Group::ControlPlane, control_planes.boxed()),
        ];
        let controllers = controllers.into_iter().chain(unserved::controllers(client, stop));
        let chosen = controllers.filter(|(group, _)| groups.contains(group));
        futures::future::join_all(chosen.map(|(_, controller)| controller)).await;
        // With no controller at all, ending is still asked for.
        stop.cancelled().await;
    }
}
