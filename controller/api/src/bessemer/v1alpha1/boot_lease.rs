//! BootLease: the address of one booting machine.

use bessemer_api_macros::api;

use crate::Time;
use crate::addresses::IpText;

/// A MAC address as we write it: lower case, with colons.
const MAC: &str = "^[0-9a-f]{2}(:[0-9a-f]{2}){5}$";
/// A network, with the length of its prefix.
const SUBNET: &str = "^[0-9a-f.:]+/[0-9]{1,3}$";

/// The address of one MAC, named after it with dashes. Written when allocated, never on renewal; spec, so that a move
/// keeps it.
#[api(optional_spec)]
#[kube(group = "bessemer.dev", version = "v1alpha1", kind = "BootLease", plural = "bootleases", namespaced)]
#[column("MAC", string, ".spec.mac", "Whose")]
#[column("Address", string, ".spec.address", "The address")]
#[column("Host", string, ".spec.host", "BareMetalHost")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
#[rule("self.mac == oldSelf.mac", "a lease stays with its MAC address")]
#[serde(default)]
pub struct BootLeaseSpec {
    /// MAC address, lower case with colons.
    #[text(17..=17, MAC)]
    pub mac: String,
    /// IP address.
    pub address: IpText,
    /// The subnet it is of, in CIDR form.
    #[text(1..=43, SUBNET)]
    pub subnet: String,
    /// Name of the BareMetalHost.
    #[text(1..=253)]
    pub host: String,
    /// When it was allocated.
    pub first_seen: Option<Time>,
}
