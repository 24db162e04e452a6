//! Setting up a session, the controller's side (§13.17–§13.24).

use std::net::SocketAddr;

use rand::RngExt as _;

use super::controller::Controller;
use super::crypto::Suite;
use super::session::Session;
use super::wire;
use crate::host::users::Account;

const OPEN_RESPONSE: u8 = 0x11;
const RAKP_2: u8 = 0x13;
const RAKP_4: u8 = 0x15;

/// A session on its way.
pub(super) struct Login {
    suite: Suite,
    console: u32,
    privilege: u8,
    challenge: Option<Challenge>,
}

struct Challenge {
    account: Account,
    role: u8,
    theirs: [u8; 16],
    ours: [u8; 16],
}

impl Challenge {
    /// Role, length of the name, name.
    fn identity(&self) -> Vec<u8> {
        let name = self.account.name.as_bytes();
        [&[self.role, u8::try_from(name.len()).unwrap_or_default()], name].concat()
    }
}

/// IPMI's number of a role.
pub(super) fn privilege_of(account: &Account) -> u8 {
    match account.role.as_str() {
        "Administrator" => 4,
        "Operator" => 3,
        _ => 2,
    }
}

fn refusal(kind: u8, tag: u8, status: u8, console: u32) -> Vec<u8> {
    wire::open(kind, &[&[tag, status, 0, 0][..], &console.to_le_bytes()].concat())
}

impl Controller {
    /// Answers a packet of the handshake; `None` when it is to be dropped.
    pub(super) fn log_in(&mut self, kind: u8, payload: &[u8], peer: SocketAddr) -> Option<Vec<u8>> {
        match kind {
            0x10 => self.on_open(payload),
            0x12 => self.on_rakp1(payload),
            0x14 => self.on_rakp3(payload, peer),
            _ => None,
        }
    }

    fn on_open(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        let ([tag, privilege, _, _, c0, c1, c2, c3], proposals) = payload.split_first_chunk::<8>()?;
        let console = u32::from_le_bytes([*c0, *c1, *c2, *c3]);
        let mut algorithms = [0; 3];
        for (kind, place) in algorithms.iter_mut().enumerate() {
            let proposal = proposals.get(kind * 8..kind * 8 + 8)?;
            *place = proposal.get(4)? & 0x3f;
        }
        let known = Suite::ALL.into_iter().find(|suite| suite.algorithms() == algorithms);
        let Some(suite) = known.filter(|suite| self.suites.contains(&suite.number())) else {
            let drops = self.faults().drops_unknown_suites;
            return (!drops).then(|| refusal(OPEN_RESPONSE, *tag, 0x11, console));
        };
        let used = self.sessions.len() + self.logins.len();
        if self.faults().sessions_max.is_some_and(|max| used >= max) {
            return Some(refusal(OPEN_RESPONSE, *tag, 0x01, console));
        }
        let session = self.fresh_id();
        self.logins.insert(session, Login { suite, console, privilege: privilege & 0x0f, challenge: None });
        let mut answer = vec![*tag, 0, (privilege & 0x0f).min(4), 0];
        answer.extend(console.to_le_bytes());
        answer.extend(session.to_le_bytes());
        for (kind, algorithm) in (0u8..).zip(suite.algorithms()) {
            answer.extend([kind, 0, 0, 8, algorithm, 0, 0, 0]);
        }
        Some(wire::open(OPEN_RESPONSE, &answer))
    }

    fn on_rakp1(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        let ([tag, _, _, _, s0, s1, s2, s3], rest) = payload.split_first_chunk::<8>()?;
        let (theirs, rest) = rest.split_first_chunk::<16>()?;
        let ([role, _, _, length], name) = rest.split_first_chunk::<4>()?;
        let session = u32::from_le_bytes([*s0, *s1, *s2, *s3]);
        let name = str::from_utf8(name.get(..usize::from(*length))?).ok()?;
        let account = self.host.users().named(name).cloned();
        let wrong = self.faults().wrong_rakp2;
        let guid = self.guid();
        let login = self.logins.get_mut(&session)?;
        let console = login.console;
        let Some(account) = account.filter(|account| account.enabled && !account.locked) else {
            self.logins.remove(&session);
            return Some(refusal(RAKP_2, *tag, 0x0d, console));
        };
        if role & 0x0f > privilege_of(&account) {
            self.logins.remove(&session);
            return Some(refusal(RAKP_2, *tag, 0x09, console));
        }
        let key = account.password.clone();
        let challenge = Challenge { account, role: *role, theirs: *theirs, ours: rand::rng().random() };
        let text =
            [&console.to_le_bytes()[..], &session.to_le_bytes(), theirs, &challenge.ours, &guid, &challenge.identity()]
                .concat();
        let mut code = login.suite.hmac(key.as_bytes(), &text);
        if wrong {
            code.reverse();
        }
        let head = [&[*tag, 0, 0, 0][..], &console.to_le_bytes()].concat();
        let answer = [&head[..], &challenge.ours, &guid, &code].concat();
        login.challenge = Some(challenge);
        Some(wire::open(RAKP_2, &answer))
    }

    fn on_rakp3(&mut self, payload: &[u8], peer: SocketAddr) -> Option<Vec<u8>> {
        let ([tag, status, _, _, s0, s1, s2, s3], code) = payload.split_first_chunk::<8>()?;
        let id = u32::from_le_bytes([*s0, *s1, *s2, *s3]);
        // Sent again because message 4 was lost: the session is there, and so is its answer.
        if let Some((_, answer)) = self.admitted.as_ref().filter(|(session, _)| *session == id) {
            return Some(answer.clone());
        }
        let Login { suite, console, privilege, challenge } = self.logins.remove(&id)?;
        let challenge = challenge?;
        if *status != 0 {
            return None;
        }
        let key = challenge.account.password.as_bytes();
        let proof = [&challenge.ours[..], &console.to_le_bytes(), &challenge.identity()].concat();
        if suite.hmac(key, &proof) != code {
            // Counts for the lock, as a wrong password anywhere does.
            let _ = self.host.users().log_in(&challenge.account.name, "");
            return Some(refusal(RAKP_4, *tag, 0x0f, console));
        }
        let sik = suite.hmac(key, &[&challenge.theirs[..], &challenge.ours, &challenge.identity()].concat());
        let mut check = suite.hmac(&sik, &[&challenge.theirs[..], &id.to_le_bytes(), &self.guid()].concat());
        check.truncate(suite.code_length());
        if self.faults().wrong_rakp4 {
            check.reverse();
        }
        let privilege = if privilege == 0 { challenge.role & 0x0f } else { privilege.min(challenge.role & 0x0f) };
        self.sessions.insert(id, Session::new(suite, &sik, console, peer, privilege));
        let answer = wire::open(RAKP_4, &[&[*tag, 0, 0, 0][..], &console.to_le_bytes(), &check].concat());
        self.admitted = Some((id, answer.clone()));
        Some(answer)
    }
}
