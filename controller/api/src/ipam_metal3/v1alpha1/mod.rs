//! `ipam.metal3.io/v1alpha1`.

mod ip_address;
mod ip_claim;
mod ip_pool;

pub use ip_address::{IpAddress, IpAddressSpec};
pub use ip_claim::{IpClaim, IpClaimSpec, IpClaimStatus};
pub use ip_pool::{AllocationStrategy, IpPool, IpPoolSpec, IpPoolStatus, Pool};
