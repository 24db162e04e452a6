//! Which key stands for which boot. In memory only: after a restart the certificates in agents' hands are still verified
//! and authorised, and the boot's record says that it has enrolled.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bessemer_protocol::{BootId, EnrolResponse, HostId};

use crate::identity::KeyDigest;

#[derive(Default)]
pub(super) struct Enrolments {
    boots: Mutex<HashMap<BootId, Enrolment>>,
}

struct Enrolment {
    host: HostId,
    key: KeyDigest,
    /// The answer that was given; none when this process has only seen the stream.
    answer: Option<EnrolResponse>,
    /// The agent has opened its stream: it has its certificate, the token is spent.
    used: bool,
    /// A second key came while the first was connected: neither is good for anything.
    quarantined: bool,
}

/// What a further enrolment of a boot may have.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// A certificate: nobody has enrolled, or somebody whose stream never came (a reset before the answer arrived).
    Open,
    /// The same answer again.
    Same(EnrolResponse),
    /// Nothing: see [`Enrolments::quarantine`].
    Quarantined,
    /// Nothing: the token is spent.
    Spent {
        /// Whose stream spent it.
        host: HostId,
        /// By this very key.
        same_key: bool,
    },
}

impl Enrolments {
    pub(super) fn standing(&self, boot: BootId, key: KeyDigest) -> Standing {
        match self.boots().get(&boot) {
            None => Standing::Open,
            Some(known) if known.quarantined => Standing::Quarantined,
            Some(known) if known.used => Standing::Spent { host: known.host, same_key: known.key == key },
            Some(Enrolment { answer: Some(answer), key: known, .. }) if *known == key => Standing::Same(answer.clone()),
            Some(_) => Standing::Open,
        }
    }

    /// Keeps the answer to an enrolment. Whoever enrolled for that boot before, and other boots of that host, lose theirs.
    pub(super) fn admit(&self, boot: BootId, key: KeyDigest, answer: EnrolResponse) {
        let mut boots = self.boots();
        let host = answer.host_id;
        boots.retain(|_, known| known.host != host);
        boots.insert(boot, Enrolment { host, key, answer: Some(answer), used: false, quarantined: false });
    }

    /// The stream of this boot has come.
    pub(super) fn used(&self, boot: BootId, host: HostId, key: KeyDigest) {
        let mut boots = self.boots();
        boots.retain(|other, known| known.host != host || *other == boot);
        boots.entry(boot).or_insert(Enrolment { host, key, answer: None, used: true, quarantined: false }).used = true;
    }

    /// Nothing more of this boot is believed, whichever key asks.
    pub(super) fn quarantine(&self, boot: BootId, host: HostId) {
        if let Some(known) = self.boots().get_mut(&boot).filter(|known| known.host == host) {
            known.quarantined = true;
        }
    }

    /// False when another key has taken this boot over, or tried to.
    pub(super) fn is_current(&self, boot: BootId, key: KeyDigest) -> bool {
        self.boots().get(&boot).is_none_or(|known| known.key == key && !known.quarantined)
    }

    fn boots(&self) -> MutexGuard<'_, HashMap<BootId, Enrolment>> {
        self.boots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(certificate: &str, host_id: HostId) -> EnrolResponse {
        EnrolResponse { certificate: certificate.into(), host_id, protocol: 2 }
    }

    fn key(name: &str) -> KeyDigest {
        KeyDigest::of(name.as_bytes())
    }

    #[test]
    fn a_key_gets_the_same_answer_until_its_stream_comes() {
        let (enrolments, boot, host) = (Enrolments::default(), BootId::random(), HostId::random());
        assert_eq!(enrolments.standing(boot, key("a")), Standing::Open);
        let first = answer("A", host);
        enrolments.admit(boot, key("a"), first.clone());
        assert_eq!(enrolments.standing(boot, key("a")), Standing::Same(first));
        // The machine was reset before its agent could use the answer.
        assert_eq!(enrolments.standing(boot, key("b")), Standing::Open);
        enrolments.admit(boot, key("b"), answer("B", host));
        assert!(!enrolments.is_current(boot, key("a")));
        assert!(enrolments.is_current(boot, key("b")));
        enrolments.used(boot, host, key("b"));
        assert_eq!(enrolments.standing(boot, key("b")), Standing::Spent { host, same_key: true });
        assert_eq!(enrolments.standing(boot, key("c")), Standing::Spent { host, same_key: false });
    }

    #[test]
    fn a_stream_that_a_restarted_controller_meets_spends_the_token_too() {
        let (enrolments, boot, host) = (Enrolments::default(), BootId::random(), HostId::random());
        assert!(enrolments.is_current(boot, key("a")));
        enrolments.used(boot, host, key("a"));
        assert!(matches!(enrolments.standing(boot, key("b")), Standing::Spent { same_key: false, .. }));
        assert!(!enrolments.is_current(boot, key("b")));
    }

    #[test]
    fn of_a_quarantined_boot_no_key_is_believed() {
        let (enrolments, boot, host) = (Enrolments::default(), BootId::random(), HostId::random());
        enrolments.used(boot, host, key("a"));
        enrolments.quarantine(boot, host);
        assert_eq!(enrolments.standing(boot, key("a")), Standing::Quarantined);
        assert_eq!(enrolments.standing(boot, key("b")), Standing::Quarantined);
        assert!(!enrolments.is_current(boot, key("a")) && !enrolments.is_current(boot, key("b")));
    }

    #[test]
    fn a_host_has_one_boot_at_a_time() {
        let (enrolments, host) = (Enrolments::default(), HostId::random());
        let (first, second) = (BootId::random(), BootId::random());
        enrolments.used(first, host, key("a"));
        enrolments.admit(second, key("b"), answer("B", host));
        assert_eq!(enrolments.boots().len(), 1);
        enrolments.used(second, host, key("b"));
        assert_eq!(enrolments.boots().len(), 1);
    }
}
