//! The controller's event log, which Redfish calls log entries and IPMI the SEL. Bounded: the oldest go first.

use std::collections::VecDeque;
use std::time::SystemTime;

/// How many entries are kept.
pub const LIMIT: usize = 512;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// From 1, rising, never used twice until the log is cleared.
    pub id: u32,
    /// When it was made.
    pub at: SystemTime,
    /// `OK`, `Warning` or `Critical`.
    pub severity: String,
    /// What happened.
    pub message: String,
}

/// The log.
#[derive(Debug, Clone, Default)]
pub struct Log {
    entries: VecDeque<Entry>,
    last: u32,
}

impl Log {
    /// Adds an entry of this moment and gives its id.
    pub fn add(&mut self, severity: &str, message: impl Into<String>) -> u32 {
        if self.entries.len() == LIMIT {
            self.entries.pop_front();
        }
        self.last += 1;
        let (severity, message) = (severity.to_owned(), message.into());
        self.entries.push_back(Entry { id: self.last, at: SystemTime::now(), severity, message });
        self.last
    }

    /// The oldest first.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
