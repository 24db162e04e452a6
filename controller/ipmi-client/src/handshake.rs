//! Setting up a session: Open Session, then RAKP messages 1 to 4 (§13.15), as a state machine without I/O.
//!
//! The driver sends [`Handshake::datagram`], hands every datagram it receives to [`Handshake::receive`], and sends
//! again after a while when nothing moved.

use std::mem;

use zeroize::Zeroizing;

use crate::crypto::matches;
use crate::packet::{self, PayloadType};
use crate::rakp::{self, Answer};
use crate::session::Session;
use crate::{CipherSuite, IpmiError, Login, Malformed, SetupStatus};

const OPEN_SESSION: &str = "open session request";
const RAKP_1: &str = "rakp message 1";
const RAKP_3: &str = "rakp message 3";

/// Random numbers a handshake needs, drawn by the driver.
pub struct Randomness {
    /// Our session id; 0 is reserved.
    pub session_id: u32,
    /// The console's nonce.
    pub nonce: [u8; 16],
    /// The first message's tag.
    pub tag: u8,
}

/// What a received datagram changed.
#[derive(Debug)]
pub enum Progress {
    /// Nothing: it was not for us, or came twice.
    Ignored,
    /// There is a new [`Handshake::datagram`] to send.
    Next,
    /// The session is there.
    Established(Box<Session>),
    /// The BMC does not do this cipher suite.
    SuiteRefused,
    /// The BMC has proven that it uses this password and calls our proof of it wrong: it answered a message 1 that was
    /// sent again with another nonce, and the first answer was the one that came. Beginning anew heals it.
    Crossed,
    /// No session will come of this. When `farewell` is set, sending it frees the BMC's half-open session.
    Failed {
        /// Why.
        error: IpmiError,
        /// Last words to the BMC.
        farewell: Option<Vec<u8>>,
    },
}

/// One attempt to set up a session with one cipher suite.
pub struct Handshake {
    login: Login,
    suite: &'static CipherSuite,
    session_id: u32,
    nonce: [u8; 16],
    tag: u8,
    state: State,
    datagram: Vec<u8>,
}

enum State {
    Opening,
    Challenged { bmc_session_id: u32 },
    Proving { bmc_session_id: u32, bmc_guid: [u8; 16], sik: Zeroizing<Vec<u8>> },
    Over,
}

impl Handshake {
    /// Begins; [`Handshake::datagram`] is the Open Session Request.
    #[must_use]
    pub fn new(login: Login, suite: &'static CipherSuite, random: Randomness) -> Self {
        let payload = rakp::open_session_request(random.tag, login.privilege() as u8, random.session_id, suite);
        Self {
            login,
            suite,
            session_id: random.session_id,
            nonce: random.nonce,
            tag: random.tag,
            state: State::Opening,
            datagram: packet::encode_plain(PayloadType::OpenSessionRequest, &payload),
        }
    }

    /// The message that waits for an answer.
    #[must_use]
    pub fn datagram(&self) -> &[u8] {
        &self.datagram
    }

    /// The name of the message that waits for an answer.
    #[must_use]
    pub fn stage(&self) -> &'static str {
        match self.state {
            State::Opening => OPEN_SESSION,
            State::Challenged { .. } => RAKP_1,
            State::Proving { .. } | State::Over => RAKP_3,
        }
    }

    /// Whether the BMC has not yet said a word to the proposal.
    #[must_use]
    pub fn is_unheard(&self) -> bool {
        matches!(self.state, State::Opening)
    }

    /// Takes in whatever came over the network. Malformed datagrams are ignored: anyone could have sent them.
    pub fn receive(&mut self, datagram: &[u8]) -> Progress {
        self.try_receive(datagram).unwrap_or_else(|why| {
            tracing::debug!(%why, stage = self.stage(), "ignoring a datagram");
            Progress::Ignored
        })
    }

    fn try_receive(&mut self, datagram: &[u8]) -> Result<Progress, Malformed> {
        let packet = packet::decode(datagram)?;
        if packet.session_id != 0 || packet.signed.is_some() {
            return Ok(Progress::Ignored);
        }
        match (&self.state, packet.payload_type) {
            (State::Opening, PayloadType::OpenSessionResponse) => self.on_open(packet.payload),
            (State::Challenged { bmc_session_id }, PayloadType::Rakp2) => {
                self.on_rakp2(*bmc_session_id, packet.payload)
            }
            (State::Proving { .. }, PayloadType::Rakp4) => self.on_rakp4(packet.payload),
            _ => Ok(Progress::Ignored),
        }
    }

    fn on_open(&mut self, payload: &[u8]) -> Result<Progress, Malformed> {
        let opened = match rakp::parse_open_session_response(payload, self.tag, self.session_id)? {
            None => return Ok(Progress::Ignored),
            Some(Answer::Refused(status)) if status.refuses_suite() => return Ok(Progress::SuiteRefused),
            Some(Answer::Refused(status)) => return Ok(self.refused(status)),
            Some(Answer::Accepted(opened)) => opened,
        };
        // What we did not propose we do not accept: it would be a downgrade.
        if opened.algorithms != [self.suite.authentication, self.suite.integrity, self.suite.confidentiality] {
            return Ok(Progress::SuiteRefused);
        }
        let (role, name) = self.login.role_and_name();
        self.tag = self.tag.wrapping_add(1);
        let payload = rakp::rakp1(self.tag, opened.bmc_session_id, &self.nonce, role, name);
        self.datagram = packet::encode_plain(PayloadType::Rakp1, &payload);
        self.state = State::Challenged { bmc_session_id: opened.bmc_session_id };
        Ok(Progress::Next)
    }

    fn on_rakp2(&mut self, bmc_session_id: u32, payload: &[u8]) -> Result<Progress, Malformed> {
        let theirs = match rakp::parse_rakp2(payload, self.tag, self.session_id)? {
            None => return Ok(Progress::Ignored),
            Some(Answer::Refused(status)) => return Ok(self.refused(status)),
            Some(Answer::Accepted(theirs)) => theirs,
        };
        let hash = self.suite.hash;
        let identity = self.login.identity();
        let (ours, bmcs) = (self.session_id.to_le_bytes(), bmc_session_id.to_le_bytes());
        let expected =
            hash.hmac(self.login.key(), &[&ours, &bmcs, &self.nonce, &theirs.bmc_nonce, &theirs.bmc_guid, &identity]);
        self.tag = self.tag.wrapping_add(1);
        if !matches(&expected, theirs.code, hash.len()) {
            self.state = State::Over;
            let payload = rakp::rakp3(self.tag, SetupStatus::INVALID_INTEGRITY_CHECK, bmc_session_id, &[]);
            return Ok(Progress::Failed {
                error: self.wrong_password(),
                farewell: Some(packet::encode_plain(PayloadType::Rakp3, &payload)),
            });
        }
        let proof = hash.hmac(self.login.key(), &[&theirs.bmc_nonce, &ours, &identity]);
        let payload = rakp::rakp3(self.tag, SetupStatus::OK, bmc_session_id, &proof);
        self.datagram = packet::encode_plain(PayloadType::Rakp3, &payload);
        // Without a BMC key K_G the user's key takes its place (§13.31).
        let sik = hash.hmac(self.login.key(), &[&self.nonce, &theirs.bmc_nonce, &identity]);
        self.state = State::Proving { bmc_session_id, bmc_guid: theirs.bmc_guid, sik };
        Ok(Progress::Next)
    }

    fn on_rakp4(&mut self, payload: &[u8]) -> Result<Progress, Malformed> {
        let code = match rakp::parse_rakp4(payload, self.tag, self.session_id)? {
            None => return Ok(Progress::Ignored),
            // message 2 has shown that the password is right
            Some(Answer::Refused(SetupStatus::INVALID_INTEGRITY_CHECK)) => {
                self.state = State::Over;
                return Ok(Progress::Crossed);
            }
            Some(Answer::Refused(status)) => return Ok(self.refused(status)),
            Some(Answer::Accepted(code)) => code,
        };
        let State::Proving { bmc_session_id, bmc_guid, sik } = mem::replace(&mut self.state, State::Over) else {
            return Ok(Progress::Ignored);
        };
        let expected = self.suite.hash.hmac(&sik, &[&self.nonce, &bmc_session_id.to_le_bytes(), &bmc_guid]);
        if !matches(&expected, code, self.suite.integrity_len) {
            return Ok(Progress::Failed {
                error: IpmiError::AuthenticationRejected { why: "the bmc could not prove that it has the session key" },
                farewell: None,
            });
        }
        Ok(Progress::Established(Box::new(Session::new(self.suite, self.session_id, bmc_session_id, &sik))))
    }

    fn wrong_password(&self) -> IpmiError {
        IpmiError::AuthenticationRejected {
            why: if self.login.has_long_password() {
                "the bmc uses another password for this user; some keep 16 bytes of a longer one and no more"
            } else {
                "the bmc uses another password for this user"
            },
        }
    }

    fn refused(&mut self, status: SetupStatus) -> Progress {
        let stage = self.stage();
        self.state = State::Over;
        let error = match status {
            SetupStatus::UNAUTHORIZED_NAME => {
                IpmiError::AuthenticationRejected { why: "the bmc knows no such user, or has no password for it" }
            }
            SetupStatus::INVALID_INTEGRITY_CHECK => self.wrong_password(),
            SetupStatus::UNAUTHORIZED_ROLE => {
                IpmiError::PrivilegeRefused { wanted: self.login.privilege(), why: status.to_string() }
            }
            status => IpmiError::SessionRefused { stage, status },
        };
        Progress::Failed { error, farewell: None }
    }
}
