//! Counters of exchanges, of fixed number whatever strangers send. The embedding program renders them in its own way.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::trace::{Answer, Phase, Protocol};

const CELLS: usize = Protocol::ALL.len() * Phase::ALL.len() * Answer::NAMES.len();

/// Why something was dropped or left unanswered that should worry the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// Not a message of its protocol.
    Malformed,
    /// One source sends more than it may.
    Flood,
    /// More at once than the server does.
    Busy,
    /// From an address of no subnet of ours.
    Foreign,
    /// A relay agent (`giaddr`) of a subnet that is not configured.
    ForeignRelay,
    /// The pool has no address left.
    PoolExhausted,
    /// A machine that may be one or another.
    Contradiction,
    /// The directory failed or took too long.
    Directory,
    /// The system did not take the answer.
    NotSent,
}

impl Trouble {
    const ALL: [Self; 9] = [
        Self::Malformed,
        Self::Flood,
        Self::Busy,
        Self::Foreign,
        Self::ForeignRelay,
        Self::PoolExhausted,
        Self::Contradiction,
        Self::Directory,
        Self::NotSent,
    ];

    /// The word for metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Flood => "flood",
            Self::Busy => "busy",
            Self::Foreign => "foreign",
            Self::ForeignRelay => "foreign-relay",
            Self::PoolExhausted => "pool-exhausted",
            Self::Contradiction => "contradiction",
            Self::Directory => "directory",
            Self::NotSent => "not-sent",
        }
    }
}

/// Counters since the start.
#[derive(Debug)]
pub struct Metrics {
    exchanges: [AtomicU64; CELLS],
    troubles: [[AtomicU64; Trouble::ALL.len()]; Protocol::ALL.len()],
    sent_bytes: [AtomicU64; Protocol::ALL.len()],
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            exchanges: [const { AtomicU64::new(0) }; CELLS],
            troubles: [const { [const { AtomicU64::new(0) }; Trouble::ALL.len()] }; Protocol::ALL.len()],
            sent_bytes: [const { AtomicU64::new(0) }; Protocol::ALL.len()],
        }
    }
}

/// Exchanges of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeCount {
    /// How they were spoken.
    pub protocol: Protocol,
    /// By whom.
    pub phase: Phase,
    /// [`Answer::name`].
    pub answer: &'static str,
    /// How many.
    pub count: u64,
}

impl Metrics {
    pub(crate) fn count(&self, protocol: Protocol, phase: Phase, answer: &Answer) {
        add(self.exchanges.get(cell(protocol, phase, answer.index())), 1);
        if let Answer::Sent { bytes, .. } = answer {
            add(self.sent_bytes.get(protocol as usize), *bytes);
        }
    }

    pub(crate) fn trouble(&self, protocol: Protocol, trouble: Trouble) {
        add(self.troubles.get(protocol as usize).and_then(|row| row.get(trouble as usize)), 1);
    }

    /// All counts of exchanges that are not zero.
    pub fn exchanges(&self) -> Vec<ExchangeCount> {
        let mut counts = Vec::new();
        for protocol in Protocol::ALL {
            for phase in Phase::ALL {
                for (index, answer) in Answer::NAMES.into_iter().enumerate() {
                    let count = read(self.exchanges.get(cell(protocol, phase, index)));
                    if count > 0 {
                        counts.push(ExchangeCount { protocol, phase, answer, count });
                    }
                }
            }
        }
        counts
    }

    /// All counts of troubles that are not zero.
    pub fn troubles(&self) -> Vec<(Protocol, Trouble, u64)> {
        let all = Protocol::ALL.into_iter().flat_map(|protocol| Trouble::ALL.map(|trouble| (protocol, trouble)));
        all.map(|(protocol, trouble)| (protocol, trouble, self.troubles_of(protocol, trouble)))
            .filter(|(.., count)| *count > 0)
            .collect()
    }

    /// How often there was this trouble.
    pub fn troubles_of(&self, protocol: Protocol, trouble: Trouble) -> u64 {
        read(self.troubles.get(protocol as usize).and_then(|row| row.get(trouble as usize)))
    }

    /// Octets of files sent.
    pub fn sent_bytes(&self, protocol: Protocol) -> u64 {
        read(self.sent_bytes.get(protocol as usize))
    }
}

fn cell(protocol: Protocol, phase: Phase, answer: usize) -> usize {
    (protocol as usize * Phase::ALL.len() + phase as usize) * Answer::NAMES.len() + answer
}

fn add(counter: Option<&AtomicU64>, more: u64) {
    if let Some(counter) = counter {
        counter.fetch_add(more, Ordering::Relaxed);
    }
}

fn read(counter: Option<&AtomicU64>) -> u64 {
    counter.map_or(0, |counter| counter.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_has_a_counter_of_its_own() {
        let mut cells = BTreeSet::new();
        for protocol in Protocol::ALL {
            for phase in Phase::ALL {
                for answer in 0..Answer::NAMES.len() {
                    let cell = cell(protocol, phase, answer);
                    assert!(cell < CELLS && cells.insert(cell), "{protocol:?} {phase:?} {answer}");
                }
            }
        }
    }

    #[test]
    fn what_happened_is_counted_and_the_rest_is_not_listed() {
        let metrics = Metrics::default();
        metrics.count(Protocol::Http, Phase::Ipxe, &Answer::Sent { bytes: 5, took: Default::default(), resent: 0 });
        metrics.count(Protocol::Http, Phase::Ipxe, &Answer::Sent { bytes: 7, took: Default::default(), resent: 0 });
        metrics.trouble(Protocol::Dhcp4, Trouble::ForeignRelay);
        let sent = ExchangeCount { protocol: Protocol::Http, phase: Phase::Ipxe, answer: "sent", count: 2 };
        assert_eq!(metrics.exchanges(), [sent]);
        assert_eq!((metrics.sent_bytes(Protocol::Http), metrics.sent_bytes(Protocol::Tftp)), (12, 0));
        assert_eq!(metrics.troubles(), [(Protocol::Dhcp4, Trouble::ForeignRelay, 1)]);
    }
}
