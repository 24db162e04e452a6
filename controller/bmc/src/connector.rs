//! From an address and credentials to a [`Bmc`], with one session per BMC.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use redfish_client::Client;

use crate::ipmi::IpmiBmc;
use crate::redfish::{self, RedfishBmc};
use crate::{Address, Bmc, BmcError, BootVia, Credentials, Protocol, Trust};

/// Hands out BMCs. Reconcilers hold this, so that a test can be the racks.
pub trait BmcConnector: Send + Sync {
    /// The BMC at `address`, for this user, believed as `trust` says. Does no I/O: a wrong password or a dead address
    /// shows at the first call.
    ///
    /// # Errors
    /// When nothing we have speaks to such an address.
    fn connect(&self, address: &Address, credentials: Credentials, trust: Trust) -> Result<Arc<dyn Bmc>, BmcError>;

    /// Lets go of what is kept for `address`, as when its host is deleted.
    fn forget(&self, address: &Address);
}

/// The real thing: one client, and so at most one session and two requests under way, per BMC, also where several
/// servers share it. New credentials or another trust for an address replace its client.
#[derive(Default)]
pub struct Connector {
    known: Mutex<HashMap<Address, Known>>,
}

struct Known {
    credentials: Credentials,
    trust: Trust,
    bmc: Arc<dyn Bmc>,
    /// The client beneath, and the service it is of, where it can be shared.
    shared: Option<(String, Client)>,
}

impl Connector {
    /// A connector that knows no BMC yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl BmcConnector for Connector {
    fn connect(&self, address: &Address, credentials: Credentials, trust: Trust) -> Result<Arc<dyn Bmc>, BmcError> {
        boots_hosts(address)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |other: &&Known| other.credentials == credentials && other.trust == trust;
        if let Some(own) = known.get(address).filter(same) {
            return Ok(Arc::clone(&own.bmc));
        }
        let (bmc, shared): (Arc<dyn Bmc>, _) = match address.scheme().protocol() {
            Protocol::Ipmi => (connect(address, credentials.clone(), trust.clone())?, None),
            Protocol::Redfish => {
                let service = address.service_url();
                let mut others = known.values().filter(same).filter_map(|other| other.shared.as_ref());
                let client = match others.find(|(other, _)| *other == service) {
                    Some((_, client)) => client.clone(),
                    None => redfish::client(address, &credentials, trust.clone())?,
                };
                (Arc::new(RedfishBmc::new(address, &credentials, client.clone())), Some((service, client)))
            }
        };
        known.insert(address.clone(), Known { credentials, trust, bmc: Arc::clone(&bmc), shared });
        Ok(bmc)
    }

    fn forget(&self, address: &Address) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(address);
    }
}

/// A client of its own for the BMC at `address`, shared with nobody. Does no I/O.
///
/// # Errors
/// When the credentials do not fit the protocol the address asks for, or the trust cannot be set up.
pub fn connect(address: &Address, credentials: Credentials, trust: Trust) -> Result<Arc<dyn Bmc>, BmcError> {
    match address.scheme().protocol() {
        Protocol::Ipmi => Ok(Arc::new(IpmiBmc::new(address, &credentials)?)),
        Protocol::Redfish => {
            Ok(Arc::new(RedfishBmc::new(address, &credentials, redfish::client(address, &credentials, trust)?)))
        }
    }
}

/// How a host boots is not the BMC's business, but not every way is there for hosts yet.
fn boots_hosts(address: &Address) -> Result<(), BmcError> {
    if address.scheme().boots_via() == BootVia::UefiHttp {
        return Err(BmcError::Unsupported {
            act: format!("booting a host by {}", address.scheme()),
            why: "a URL cannot be given to its firmware yet; use redfish:// with the host's network card on the \
                  provisioning network (its firmware may boot over HTTP there, too), or redfish-virtualmedia://"
                .to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &Arc<dyn Bmc>, other: &Arc<dyn Bmc>) -> bool {
        Arc::ptr_eq(one, other)
    }

    #[test]
    fn one_client_per_bmc_and_credentials() {
        let connector = Connector::new();
        let (a, b): (Address, Address) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let (old, new) = (Credentials::new("admin", "old"), Credentials::new("admin", "new"));
        let first = connector.connect(&a, old.clone(), Trust::System).unwrap();
        assert!(same(
            &first,
            &connector.connect(&"ipmi://10.0.0.1:623".parse().unwrap(), old.clone(), Trust::System).unwrap()
        ));
        assert!(!same(&first, &connector.connect(&b, old.clone(), Trust::System).unwrap()));
        let renewed = connector.connect(&a, new.clone(), Trust::System).unwrap();
        assert!(!same(&first, &renewed));
        assert!(same(&renewed, &connector.connect(&a, new.clone(), Trust::System).unwrap()));
        connector.forget(&a);
        assert!(!same(&renewed, &connector.connect(&a, new, Trust::System).unwrap()));
    }

    #[test]
    fn another_trust_is_another_client() {
        let connector = Connector::new();
        let (bmc, user): (Address, _) = ("redfish://10.0.0.1".parse().unwrap(), Credentials::new("admin", "x"));
        let first = connector.connect(&bmc, user.clone(), Trust::System).unwrap();
        assert!(same(&first, &connector.connect(&bmc, user.clone(), Trust::System).unwrap()));
        assert!(!same(&first, &connector.connect(&bmc, user, Trust::Anyone).unwrap()));
    }

    #[test]
    fn a_way_to_boot_that_is_not_there_is_refused_in_words() {
        let address: Address = "redfish-uefihttp://10.0.0.1".parse().unwrap();
        let user = || Credentials::new("admin", "x");
        let Err(error) = Connector::new().connect(&address, user(), Trust::System) else { panic!() };
        assert!(error.to_string().contains("use redfish://"), "{error}");
        let media: Address = "redfish-virtualmedia://10.0.0.1".parse().unwrap();
        assert!(Connector::new().connect(&media, user(), Trust::System).is_ok());
        assert!(connect(&address, user(), Trust::System).is_ok(), "by itself a bmc boots nothing");
    }

    #[test]
    fn a_password_ipmi_cannot_carry_is_refused_unseen() {
        let address: Address = "10.0.0.1".parse().unwrap();
        let password = "twenty-one-bytes-long";
        let Err(error) = Connector::new().connect(&address, Credentials::new("admin", password), Trust::System) else {
            panic!()
        };
        assert!(matches!(error, BmcError::BadCredentials { .. }), "{error}");
        assert!(!error.to_string().contains(password) && error.to_string().contains("21 bytes"), "{error}");
    }
}
