//! From an address and credentials to a [`Bmc`], with one session per BMC.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Address, Bmc, BmcError, Credentials, Scheme};

/// Hands out BMCs. Reconcilers hold this, so that a test can be the racks.
pub trait BmcConnector: Send + Sync {
    /// The BMC at `address`, for this user. Does no I/O: a wrong password or a dead address shows at the first call.
    ///
    /// # Errors
    /// When nothing we have speaks to such an address.
    fn connect(&self, address: &Address, credentials: Credentials) -> Result<Arc<dyn Bmc>, BmcError>;

    /// Lets go of what is kept for `address`, as when its host is deleted.
    fn forget(&self, address: &Address);
}

/// The real thing: one client, and so at most one session, per BMC. New credentials for an address replace its
/// client.
#[derive(Default)]
pub struct Connector {
    known: Mutex<HashMap<Address, Known>>,
}

struct Known {
    credentials: Credentials,
    bmc: Arc<dyn Bmc>,
}

impl Connector {
    /// A connector that knows no BMC yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl BmcConnector for Connector {
    fn connect(&self, address: &Address, credentials: Credentials) -> Result<Arc<dyn Bmc>, BmcError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.entry(address.clone()) {
            Entry::Occupied(entry) if entry.get().credentials == credentials => Ok(Arc::clone(&entry.get().bmc)),
            entry => {
                let bmc = connect(address, credentials.clone())?;
                entry.insert_entry(Known { credentials, bmc: Arc::clone(&bmc) });
                Ok(bmc)
            }
        }
    }

    fn forget(&self, address: &Address) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(address);
    }
}

/// A client of its own for the BMC at `address`, shared with nobody. Does no I/O.
///
/// # Errors
/// When nothing we have speaks to such an address.
pub fn connect(address: &Address, _credentials: Credentials) -> Result<Arc<dyn Bmc>, BmcError> {
    match address.scheme() {
        Scheme::Ipmi => {
            Err(BmcError::Unsupported { act: format!("talking to {address}"), why: "being built".to_owned() })
        }
    }
}
