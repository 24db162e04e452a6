//! HardwareData: the inventory of a host, kept apart from the host so that it outlives a move or a restore.

use bessemer_api_macros::api;

use super::HardwareDetails;

/// What an inspection found, under the name of its BareMetalHost.
#[api(optional_spec)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "HardwareData",
    plural = "hardwaredata",
    shortname = "hd",
    namespaced
)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct HardwareDataSpec {
    /// The inventory.
    pub hardware: Option<HardwareDetails>,
}
