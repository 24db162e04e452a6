//! Metal3Machine: the InfraMachine, which claims a BareMetalHost.

use bessemer_api_macros::api;
use k8s_openapi::api::core::v1::SecretReference;

use super::{CustomDeploy, HostSelector, InfraImage, InfraInitialization, ObjectName, V1Beta1MachineFailure};
use crate::cluster::{Deprecated, MachineAddress};
use crate::metal3::CleaningMode;
use crate::{Condition, Time};

/// One machine of a cluster on one host.
#[api(optional_spec)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3Machine",
    plural = "metal3machines",
    shortname = "m3m",
    shortname = "m3machine",
    shortname = "m3machines",
    shortname = "metal3m",
    shortname = "metal3machine",
    category = "cluster-api",
    namespaced,
    status = "Metal3MachineStatus"
)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
#[column("ProviderID", string, ".spec.providerID", "Its Node's provider id")]
#[column("Provisioned", string, ".status.initialization.provisioned", "It can be used")]
#[column("Cluster", string, ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name", "Its cluster")]
pub struct Metal3MachineSpec {
    /// What is erased from the host when it is prepared and when it is taken back; the host says unless given.
    pub automated_cleaning_mode: Option<CleaningMode>,
    /// A deployment in place of an image.
    pub custom_deploy: Option<CustomDeploy>,
    /// Metal3DataTemplate that metadata and network data are made from.
    pub data_template: Option<ObjectName>,
    /// Failure domain that it shall run in.
    #[text(1..=256)]
    pub failure_domain: Option<String>,
    /// Which hosts may be chosen; all of the namespace if empty.
    pub host_selector: Option<HostSelector>,
    /// What to write to the host.
    pub image: Option<InfraImage>,
    /// Secret with metadata for cloud-init.
    pub meta_data: Option<SecretReference>,
    /// Secret with network data for cloud-init.
    pub network_data: Option<SecretReference>,
    /// `metal3://<namespace>/<host>/<metal3machine>`, once the host has left its ramdisk.
    #[serde(rename = "providerID")]
    #[text(1..=512)]
    pub provider_id: Option<String>,
    /// Secret with bootstrap data, in place of the Machine's.
    pub user_data: Option<SecretReference>,
}

/// What is observed of it.
#[api]
pub struct Metal3MachineStatus {
    /// Addresses of the machine.
    #[list(atomic, 1..=32)]
    pub addresses: Vec<MachineAddress>,
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// What v1beta1 said.
    pub deprecated: Option<Deprecated<V1Beta1MachineFailure>>,
    /// Whether it can be used.
    pub initialization: Option<InfraInitialization>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// The Secret with the metadata that the host was given.
    pub meta_data: Option<SecretReference>,
    /// The Secret with the network data that the host was given.
    pub network_data: Option<SecretReference>,
    /// The Metal3Data that was made for it.
    pub rendered_data: Option<ObjectName>,
    /// The Secret with the bootstrap data that the host was given.
    pub user_data: Option<SecretReference>,
}
