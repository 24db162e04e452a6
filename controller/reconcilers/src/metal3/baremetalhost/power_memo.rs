//! The last power reading of each host, so that an agent's progress message costs no call to the BMC. A cache: lost
//! with the process, rebuilt by asking.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::kubernetes::Key;

/// The last power reading of each host.
#[derive(Debug, Default)]
pub(crate) struct PowerMemo(Mutex<HashMap<Key, (bool, Timestamp)>>);

impl PowerMemo {
    pub(crate) fn known(&self, host: &Key) -> Option<(bool, Timestamp)> {
        self.lock().get(host).copied()
    }

    pub(crate) fn remember(&self, host: &Key, on: bool, at: Timestamp) {
        self.lock().insert(host.clone(), (on, at));
    }

    /// The next one who needs it asks the BMC.
    pub(crate) fn forget(&self, host: &Key) {
        self.lock().remove(host);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, (bool, Timestamp)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
