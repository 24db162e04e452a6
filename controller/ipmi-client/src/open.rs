//! An open session on its socket: one command on its way, from sealing it to making out the answer.

use std::time::Duration;

use rand::RngExt;
use tokio::time::Instant;

use crate::command::{CloseSession, Command};
use crate::message::{self, RequestSequence};
use crate::session::Session;
use crate::wire::{Exchange, NoAnswer, Wire};
use crate::{CompletionCode, IpmiError, Malformed};

/// A session, and the socket it goes over.
///
/// Dropping it ends the session without waiting for the answer, whoever drops it: BMCs have few sessions, and a caller
/// who is cancelled halfway would else take one of them along.
pub(crate) struct Open {
    pub(crate) wire: Wire,
    pub(crate) session: Session,
    last_heard: Instant,
}

impl Open {
    /// A session that has just been established.
    pub(crate) fn new(wire: Wire, session: Session) -> Self {
        Self { wire, session, last_heard: Instant::now() }
    }

    /// For how long the BMC has said nothing.
    pub(crate) fn silent_for(&self) -> Duration {
        self.last_heard.elapsed()
    }
}

/// Why a command has no answer.
pub(crate) enum Unanswered {
    Silence(NoAnswer),
    Error(IpmiError),
}

impl Open {
    /// Carries out a command before `end`, sending it again after ever longer pauses.
    pub(crate) async fn execute<C: Command>(
        &mut self,
        command: &C,
        retransmit_after: Duration,
        end: Instant,
    ) -> Result<C::Answer, Unanswered> {
        let sequence = self.session.next_request();
        let mut call = Call { session: &mut self.session, command, sequence, malformed: None };
        let answer = self.wire.ask(&mut call, retransmit_after, end).await;
        let answer = match (answer, call.malformed) {
            (Ok(answer), _) => answer,
            (Err(_), Some(malformed)) => Err(NotDone::Malformed(malformed)),
            (Err(silence), None) => return Err(Unanswered::Silence(silence)),
        };
        self.last_heard = Instant::now();
        let command = C::NAME;
        match answer {
            Ok(answer) => Ok(answer),
            Err(NotDone::Refused(code)) => Err(Unanswered::Error(IpmiError::Completion { command, code })),
            Err(NotDone::Malformed(malformed)) => Err(Unanswered::Error(malformed.into())),
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let command = CloseSession(self.session.bmc_session_id());
        let sequence = self.session.next_request();
        let datagram = Call { session: &mut self.session, command: &command, sequence, malformed: None }.datagram();
        self.wire.tell(&datagram);
    }
}

/// One command on its way through a session.
struct Call<'a, C> {
    session: &'a mut Session,
    command: &'a C,
    sequence: RequestSequence,
    /// What was wrong with an authentic answer that was passed over.
    malformed: Option<Malformed>,
}

enum NotDone {
    Refused(CompletionCode),
    Malformed(Malformed),
}

impl<C: Command> Exchange for Call<'_, C> {
    type Outcome = Result<C::Answer, NotDone>;

    fn datagram(&mut self) -> Vec<u8> {
        let (lun, data) = (self.command.lun(), self.command.data());
        let message = message::encode_request_to_lun(lun, C::NETWORK_FUNCTION, C::NUMBER, self.sequence, &data);
        self.session.seal(&message, rand::rng().random())
    }

    fn receive(&mut self, datagram: &[u8]) -> Option<Self::Outcome> {
        let message = self
            .session
            .open(datagram)
            .inspect_err(|why| tracing::debug!(%why, command = C::NAME, "ignoring a datagram"))
            .ok()?;
        let response = match message::decode_response(&message) {
            Ok(response) => response,
            // Dropped, as §13.8 wants it: the same question may yet be answered properly.
            Err(malformed) => {
                self.malformed = Some(malformed);
                return None;
            }
        };
        // A late answer to an earlier question, or to this one's first transmission after it was answered.
        if (response.network_function, response.command, response.sequence)
            != (C::NETWORK_FUNCTION, C::NUMBER, self.sequence)
        {
            return None;
        }
        Some(match response.completion {
            CompletionCode::SUCCESS => C::parse(response.data).map_err(NotDone::Malformed),
            code => Err(NotDone::Refused(code)),
        })
    }
}
