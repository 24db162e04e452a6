//! The last power reading of each host, so that an agent's progress message costs no call to the BMC, and a dead BMC holds
//! nothing up. A cache: lost with the process, rebuilt by asking.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::observed::PowerView;
use crate::kubernetes::Key;

/// The last power reading of each host.
#[derive(Debug, Default)]
pub(crate) struct PowerMemo(Mutex<HashMap<Key, (PowerView, Timestamp)>>);

impl PowerMemo {
    /// What was read, and when.
    pub(crate) fn known(&self, host: &Key) -> Option<(PowerView, Timestamp)> {
        self.lock().get(host).cloned()
    }

    pub(crate) fn remember(&self, host: &Key, view: PowerView, at: Timestamp) {
        self.lock().insert(host.clone(), (view, at));
    }

    /// The next one who needs it asks the BMC.
    pub(crate) fn forget(&self, host: &Key) {
        self.lock().remove(host);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, (PowerView, Timestamp)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
