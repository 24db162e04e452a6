//! IPAddress: an address given to a claim.

use bessemer_api_macros::api;
use k8s_openapi::api::core::v1::ObjectReference;

use crate::addresses::IpText;

/// An address given to a claim, and what else a host must know to use it.
#[api(optional_spec)]
#[kube(
    group = "ipam.metal3.io",
    version = "v1alpha1",
    kind = "IPAddress",
    plural = "ipaddresses",
    shortname = "ipa",
    shortname = "ipaddress",
    shortname = "m3ipa",
    shortname = "m3ipaddress",
    shortname = "m3ipaddresses",
    shortname = "metal3ipa",
    shortname = "metal3ipaddress",
    shortname = "metal3ipaddresses",
    category = "metal3",
    namespaced,
    root = "IpAddress"
)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
#[serde(default)]
pub struct IpAddressSpec {
    /// The address.
    pub address: IpText,
    /// IPClaim it was given to.
    pub claim: ObjectReference,
    /// DNS servers.
    pub dns_servers: Vec<IpText>,
    /// Gateway.
    pub gateway: Option<IpText>,
    /// IPPool it is of.
    pub pool: ObjectReference,
    /// Length of the prefix.
    #[number(..=128)]
    #[schemars(extend("format" = null))]
    pub prefix: Option<i64>,
}
