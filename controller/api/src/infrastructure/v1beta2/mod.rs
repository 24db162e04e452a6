//! `infrastructure.cluster.x-k8s.io/v1beta2`.

mod metal3_cluster;
mod metal3_machine;
mod metal3_machine_template;

pub use metal3_cluster::{Metal3Cluster, Metal3ClusterSpec, Metal3ClusterStatus};
pub use metal3_machine::{HostSelector, InfraImage, Metal3Machine, Metal3MachineSpec, Metal3MachineStatus};
pub use metal3_machine_template::{Metal3MachineTemplate, Metal3MachineTemplateResource, Metal3MachineTemplateSpec};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `status.initialization` of infrastructure kinds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InfraInitialization {
    /// Set once, when it can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioned: Option<bool>,
}
