//! How every reconciler of this crate meets the Kubernetes API: caches that feed controllers, merge patches of what
//! changed, retries. Must not know any kind in particular.

mod backoff;
mod drive;
mod error;
mod feed;
mod key;
mod owners;
mod patch;

pub(crate) use backoff::{Backoff, jitter};
pub(crate) use drive::{Reconciler, drive};
pub(crate) use error::{Asking, ReconcileError};
pub(crate) use feed::{Feed, references};
pub(crate) use key::Key;
pub(crate) use owners::{controller_of, is_deleting, own, owner_named};
pub(crate) use patch::{create_or_get, delete, write};

use k8s_openapi::jiff::Timestamp;

/// Whole seconds, as the API keeps them: what is written reads back equal.
pub(crate) fn time(at: Timestamp) -> bessemer_api::Time {
    bessemer_api::Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}
