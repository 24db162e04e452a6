//! What the boot servers ask of the Kubernetes API and leave in it: whose machine, what it shall boot, which address it
//! has, and what was said. Knows objects and machines' names only; how a packet looks is the boot server's business.

mod directory;
mod discovery;
mod journal;
mod leases;
mod strangers;

pub(crate) use discovery::Discovery;
pub use journal::Journal;

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
