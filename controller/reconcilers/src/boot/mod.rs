//! What the boot servers ask of the Kubernetes API and leave in it: whose machine, what it shall boot, which address it
//! has, and what was said. Knows objects and machines' names only; how a packet looks is the boot server's business.

mod directory;
mod discovery;
mod journal;
mod leases;
pub(crate) mod smbios;
mod strangers;

pub(crate) use discovery::Discovery;
pub use journal::Journal;
pub(crate) use leases::{AT_ONCE, Ledger, Looks};

use crate::kubernetes::ReconcileError;
use crate::outside::DirectoryError;

fn api_trouble(what: impl Into<String>, source: kube::Error) -> DirectoryError {
    DirectoryError::Api { what: what.into(), source: Box::new(source) }
}

fn write_trouble(error: ReconcileError) -> DirectoryError {
    match error {
        ReconcileError::Api { what, source, .. } => DirectoryError::Api { what, source },
        other => DirectoryError::Busy(other.to_string()),
    }
}

/// Six octets in hexadecimal, with colons.
fn is_mac(text: &str) -> bool {
    let octets: Vec<&str> = text.split(':').collect();
    octets.len() == 6 && octets.iter().all(|octet| octet.len() == 2 && u8::from_str_radix(octet, 16).is_ok())
}

#[cfg(test)]
mod tests {
    use super::is_mac;

    #[test]
    fn a_hardware_address_is_six_octets() {
        for (text, is) in
            [("52:54:00:aa:bb:cc", true), ("52:54:00:aa:bb", false), ("", false), ("../../x:y:z:1:2", false)]
        {
            assert_eq!(is_mac(text), is, "{text}");
        }
    }
}
