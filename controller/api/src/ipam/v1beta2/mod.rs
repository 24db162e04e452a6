//! Version v1beta2: what every provider of addresses keeps to.

mod ip_address;
mod ip_address_claim;

pub use ip_address::*;
pub use ip_address_claim::*;
