//! Metal3DataTemplate: how the data of machines is made.

use bessemer_api_macros::api;

use super::{MetaData, NetworkData};
use crate::Time;

/// A recipe for metadata and network data, each rendered once per machine.
#[api(optional_spec)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3DataTemplate",
    plural = "metal3datatemplates",
    shortname = "m3dt",
    shortname = "m3datatemplate",
    shortname = "m3datatemplates",
    shortname = "metal3dt",
    shortname = "metal3datatemplate",
    category = "cluster-api",
    namespaced,
    status = "Metal3DataTemplateStatus"
)]
#[column("Cluster", string, ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name", "Its cluster")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct Metal3DataTemplateSpec {
    /// Cluster it is for. Deprecated: the label says so.
    #[text(..=512)]
    pub cluster_name: Option<String>,
    /// Recipe for the metadata.
    pub meta_data: Option<MetaData>,
    /// Recipe for the network data.
    pub network_data: Option<NetworkData>,
}

/// What is observed of it.
#[api]
#[derive(Eq)]
pub struct Metal3DataTemplateStatus {
    /// Numbers that are taken.
    #[list(map(index), 1..=512)]
    pub indexes: Vec<DataIndex>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
}

/// A number that is taken.
#[api]
#[derive(Eq)]
pub struct DataIndex {
    /// The number.
    #[number(0..)]
    pub index: i32,
    /// Metal3Data or claim that has it.
    #[text(1..=512)]
    pub name: String,
}
