//! BootLease: the address of one booting machine.

use std::net::IpAddr;

use bessemer_api_macros::api;

use crate::Time;
use crate::addresses::IpText;

/// A MAC address as we write it: lower case, with colons.
const MAC: &str = "^[0-9a-f]{2}(:[0-9a-f]{2}){5}$";
/// A network, with the length of its prefix.
const SUBNET: &str = "^[0-9a-f.:]+/[0-9]{1,3}$";

/// The address of one MAC in one subnet, named after both. Written when allocated, never on renewal; spec, so that a move
/// keeps it. Its label [`BootLeaseSpec::ADDRESS_LABEL`] finds who has an address.
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
    /// Name of the BareMetalHost; none for an unknown machine that may be discovered.
    #[text(1..=253)]
    pub host: Option<String>,
    /// When it was allocated.
    pub first_seen: Option<Time>,
    /// Whether nobody else was found to have the address. Only then is it given to the machine.
    pub confirmed: bool,
    /// Addresses of this subnet that the machine found in use by another; given to nobody for a while.
    #[list(atomic, ..=8)]
    pub declined: Vec<DeclinedAddress>,
}

impl BootLeaseSpec {
    /// Label with the address as [`BootLeaseSpec::label_of`] writes it.
    pub const ADDRESS_LABEL: &str = "bessemer.dev/address";

    /// Declined addresses kept.
    pub const DECLINED: usize = 8;

    /// An address as a label's value: its octets in hexadecimal, as colons are not allowed there.
    #[must_use]
    pub fn label_of(address: IpAddr) -> String {
        match address {
            IpAddr::V4(address) => format!("{:08x}", address.to_bits()),
            IpAddr::V6(address) => format!("{:032x}", address.to_bits()),
        }
    }
}

/// An address that is in use by somebody who did not get it from here.
#[api(no_default)]
#[derive(Eq)]
pub struct DeclinedAddress {
    /// IP address.
    pub address: IpText,
    /// When the machine said so.
    pub at: Time,
}
