//! HostClaim: a tenant's wish for a host of another namespace.

use std::collections::BTreeMap;

use bessemer_api_macros::api;
use k8s_openapi::api::core::v1::{ObjectReference, SecretReference};

use super::{CustomDeploy, Image, NamespacedName};
use crate::{Condition, Time};

/// A wish for a host, and what shall be written to it.
#[api(optional_spec)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "HostClaim",
    plural = "hostclaims",
    namespaced,
    status = "HostClaimStatus"
)]
pub struct HostClaimSpec {
    /// Who uses this claim.
    pub consumer_ref: Option<ObjectReference>,
    /// A deployment in place of an image.
    pub custom_deploy: Option<CustomDeploy>,
    /// Failure domain in which the host should be.
    pub failure_domain: Option<String>,
    /// Which hosts may be chosen.
    pub host_selector: Option<ClaimSelector>,
    /// What shall be on its disk.
    pub image: Option<Image>,
    /// Secret with metadata for cloud-init.
    pub meta_data: Option<SecretReference>,
    /// Secret with network data for cloud-init.
    pub network_data: Option<SecretReference>,
    /// Whether it shall be powered on.
    #[serde(default)]
    pub powered_on: bool,
    /// Secret with the bootstrap data.
    pub user_data: Option<SecretReference>,
}

/// Which hosts a claim may get.
#[api]
#[derive(Eq)]
pub struct ClaimSelector {
    /// Namespace of the hosts; any that lets this one claim unless given.
    pub in_namespace: Option<String>,
    /// Labels that the host must carry.
    pub match_labels: BTreeMap<String, String>,
    /// What else must hold of its labels.
    pub match_expressions: Vec<ClaimRequirement>,
}

/// What must hold of one label.
#[api]
#[derive(Eq)]
pub struct ClaimRequirement {
    /// Key.
    pub key: String,
    /// A selection operator: `in`, `notin`, `exists`, …
    pub operator: String,
    /// Values it is about.
    #[required]
    pub values: Vec<String>,
}

/// What is observed of it.
#[api]
pub struct HostClaimStatus {
    /// The host that was given.
    pub bare_metal_host: Option<NamespacedName>,
    /// Conditions: `Associated`, `Synchronized`, `Available`, …
    pub conditions: Vec<Condition>,
    /// That host's HardwareData.
    pub hardware_data: Option<NamespacedName>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// Whether the host is on.
    pub powered_on: Option<bool>,
}
