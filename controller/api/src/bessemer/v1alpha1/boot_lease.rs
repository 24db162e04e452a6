//! BootLease: the address of one booting machine.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Time;

/// The address of one MAC, named after it with dashes. Written when allocated, never on renewal; spec, so that a move
/// keeps it.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "bessemer.dev",
    version = "v1alpha1",
    kind = "BootLease",
    plural = "bootleases",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"MAC","type":"string","jsonPath":".spec.mac"}"#,
    printcolumn = r#"{"name":"Address","type":"string","jsonPath":".spec.address"}"#,
    printcolumn = r#"{"name":"Host","type":"string","jsonPath":".spec.host"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct BootLeaseSpec {
    /// MAC address, lower case with colons.
    pub mac: String,
    /// IPv4 address.
    pub address: String,
    /// The subnet it is of, in CIDR form.
    pub subnet: String,
    /// Name of the BareMetalHost.
    pub host: String,
    /// When it was allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seen: Option<Time>,
}
