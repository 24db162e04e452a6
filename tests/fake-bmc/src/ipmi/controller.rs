//! One controller's state, and which layer a datagram goes to. No sockets here.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rand::RngExt as _;
use tokio::time::Instant;

use super::boot_options::BootOptions;
use super::faults::{Faults, due};
use super::login::Login;
use super::message::{self, Outcome, Request};
use super::sensors::Sensors;
use super::server::Options;
use super::session::Session;
use super::sol::{self, Line, Port};
use super::wire::{self, Datagram, Packet};
use crate::Host;
use crate::host::locked;

/// §6.12.15.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// What others may look at and change while the controller runs.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) faults: Mutex<Faults>,
    pub(super) sensors: Mutex<Sensors>,
    pub(super) counts: Mutex<Counts>,
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) open: usize,
    pub(super) opened: u64,
    pub(super) requests: u64,
    pub(super) breaks: u64,
    pub(super) cold_resets: u64,
    pub(super) warm_resets: u64,
}

/// One controller.
pub(super) struct Controller {
    pub(super) host: Arc<Host>,
    pub(super) shared: Arc<Shared>,
    pub(super) suites: Vec<u8>,
    pub(super) options: Options,
    pub(super) boot_options: BootOptions,
    pub(super) sessions: HashMap<u32, Session>,
    pub(super) logins: HashMap<u32, Login>,
    /// The last session to be established, and the message that said so.
    pub(super) admitted: Option<(u32, Vec<u8>)>,
    /// The session that ends with the answer under way.
    pub(super) closing: Option<u32>,
    /// For consoles that have just lost the serial line.
    pub(super) last_words: Vec<(SocketAddr, Vec<u8>)>,
    pub(super) reservation: u16,
    pub(super) identify_until: Option<Instant>,
    pub(super) port: Port,
    /// Deaf until then: starting anew, or overrun.
    pub(super) deaf_until: Option<Instant>,
    pub(super) recent: Vec<Instant>,
    pub(super) udp_port: u16,
}

impl Controller {
    pub(super) fn new(host: Arc<Host>, shared: Arc<Shared>, options: Options, port: Port, udp_port: u16) -> Self {
        Self {
            host,
            shared,
            suites: options.suites.clone(),
            boot_options: BootOptions::new(options.boot_flags_hold),
            options,
            sessions: HashMap::new(),
            logins: HashMap::new(),
            admitted: None,
            closing: None,
            last_words: Vec::new(),
            reservation: 1,
            identify_until: None,
            port,
            deaf_until: None,
            recent: Vec::new(),
            udp_port,
        }
    }

    pub(super) fn faults(&self) -> MutexGuard<'_, Faults> {
        locked(&self.shared.faults)
    }

    pub(super) fn counts(&self) -> MutexGuard<'_, Counts> {
        locked(&self.shared.counts)
    }

    /// As IPMI writes an SMBIOS UUID: backwards.
    pub(super) fn guid(&self) -> [u8; 16] {
        let mut guid = self.host.identity().uuid.into_bytes();
        guid.reverse();
        guid
    }

    pub(super) fn fresh_id(&self) -> u32 {
        loop {
            let id = rand::rng().random_range(1..=u32::MAX);
            if !self.sessions.contains_key(&id) && !self.logins.contains_key(&id) {
                return id;
            }
        }
    }

    /// As after a restart: nobody is logged in.
    pub(super) fn forget_sessions(&mut self) {
        self.sessions.clear();
        self.logins.clear();
        self.admitted = None;
    }

    /// What a datagram is answered with.
    pub(super) fn receive(&mut self, datagram: &[u8], peer: SocketAddr) -> Vec<Vec<u8>> {
        if self.deaf_until.is_some_and(|until| Instant::now() < until) {
            return Vec::new();
        }
        self.sessions.retain(|_, session| session.heard.elapsed() < IDLE_MAX);
        self.boot_options.expire(&self.host);
        if self.is_overrun() || due(&mut self.faults().lose_requests) {
            return Vec::new();
        }
        let answers = match wire::read(datagram) {
            None => Vec::new(),
            Some(Datagram::Ping { tag }) => vec![wire::pong(tag)],
            Some(Datagram::Plain { session: 0, message }) => self.without_session(message).into_iter().collect(),
            Some(Datagram::Plain { .. }) => Vec::new(),
            Some(Datagram::Plus(packet)) if packet.session == 0 => match packet.kind {
                0 => self.without_session(packet.payload).into_iter().collect(),
                kind => self.log_in(kind, packet.payload, peer).into_iter().collect(),
            },
            Some(Datagram::Plus(packet)) => self.in_session(&packet),
        };
        self.count_sessions();
        answers
    }

    /// What falls due without a datagram: characters to be sent, lamps and flags to go out.
    pub(super) fn tick(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        self.boot_options.expire(&self.host);
        if self.identify_until.is_some_and(|until| Instant::now() >= until) {
            self.identify_until = None;
            self.host.set_identify(false);
        }
        let mut out = Vec::new();
        for session in self.sessions.values_mut() {
            if let Some(payload) = session.line.as_mut().and_then(Line::transmit) {
                out.push((session.peer, session.seal(sol::PAYLOAD, &payload)));
            }
        }
        out
    }

    /// When [`tick`](Self::tick) is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let lines = self.sessions.values().filter_map(|session| session.line.as_ref()?.deadline());
        lines.chain(self.boot_options.deadline()).chain(self.identify_until).min()
    }

    /// What the server printed goes to whoever has the console.
    pub(super) fn print(&mut self, characters: &[u8]) {
        if let Some(line) = self.sessions.values_mut().find_map(|session| session.line.as_mut()) {
            line.print(characters);
        }
    }

    /// Whether there is room for what the server prints: a serial line does not wait for nobody.
    pub(super) fn has_room(&self) -> bool {
        self.sessions.values().find_map(|session| session.line.as_ref()).is_none_or(Line::has_room)
    }

    fn is_overrun(&mut self) -> bool {
        let Some(burst) = self.faults().burst else { return false };
        let now = Instant::now();
        self.recent.retain(|at| now.duration_since(*at) < burst.within);
        self.recent.push(now);
        let overrun = self.recent.len() > burst.requests;
        if overrun {
            self.deaf_until = Some(now + burst.deaf_for);
        }
        overrun
    }

    fn count_sessions(&self) {
        let mut counts = self.counts();
        if self.sessions.len() > counts.open {
            counts.opened += 1;
        }
        counts.open = self.sessions.len();
    }

    fn without_session(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let request = message::read(message)?;
        let outcome = self.before_login(&request);
        Some(wire::plain(&message::respond(&request, &outcome)))
    }

    fn in_session(&mut self, packet: &Packet<'_>) -> Vec<Vec<u8>> {
        let Some(session) = self.sessions.get_mut(&packet.session) else { return Vec::new() };
        let Some(payload) = session.unseal(packet) else { return Vec::new() };
        // The console has message 4, or it would not be here.
        self.admitted.take_if(|(id, _)| *id == packet.session);
        match packet.kind {
            0 => self.on_message(packet.session, &payload),
            sol::PAYLOAD => self.on_serial(packet.session, &payload),
            _ => Vec::new(),
        }
    }

    fn on_message(&mut self, id: u32, message: &[u8]) -> Vec<Vec<u8>> {
        let Some(request) = message::read(message) else { return Vec::new() };
        self.counts().requests += 1;
        let key = [request.sequence, request.function, request.command];
        let known = self.sessions.get(&id).and_then(|session| session.answered.clone());
        let response = match known.filter(|(answered, _)| *answered == key) {
            Some((_, response)) => response,
            None => {
                let outcome = self.judge(&request).unwrap_or_else(|| self.carry_out(id, &request));
                message::respond(&request, &outcome)
            }
        };
        let lost = self.faults().lose_answer_to.take_if(|lost| *lost == (request.function, request.command));
        let datagrams = if lost.is_some() { Vec::new() } else { self.garble(id, key, response) };
        if let Some(closed) = self.closing.take() {
            self.sessions.remove(&closed);
        }
        datagrams
    }

    /// A verdict that a test has ordered.
    fn judge(&self, request: &Request<'_>) -> Option<Outcome> {
        let mut faults = self.faults();
        let verdict = faults.verdicts.iter_mut().find(|verdict| {
            verdict.times > 0
                && (verdict.function, verdict.command) == (request.function, request.command)
                && verdict.first.is_none_or(|first| request.data.first() == Some(&first))
        })?;
        verdict.times -= 1;
        Some(Err(verdict.code))
    }

    /// Seals a response, and spoils it as ordered.
    fn garble(&mut self, id: u32, key: [u8; 3], mut response: Vec<u8>) -> Vec<Vec<u8>> {
        let mut faults = locked(&self.shared.faults);
        let Some(session) = self.sessions.get_mut(&id) else { return Vec::new() };
        session.answered = Some((key, response.clone()));
        if let Some(max) = faults.cut_answers {
            // Header of seven bytes with the code; the checksum is made good.
            response.truncate(7 + max);
            let sum = response.get(3..).unwrap_or_default().iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
            response.push(sum.wrapping_neg());
        }
        if due(&mut faults.break_checksums)
            && let Some(last) = response.last_mut()
        {
            *last ^= 0x5a;
        }
        let mut datagrams = Vec::new();
        if due(&mut faults.garbage) {
            datagrams.extend([vec![], vec![6, 0, 0xff], rand::rng().random::<[u8; 32]>().to_vec()]);
        }
        if due(&mut faults.bare_answers) {
            let mut bare = wire::open(0, &response);
            bare.get_mut(6..10).into_iter().for_each(|place| place.copy_from_slice(&session.console.to_le_bytes()));
            datagrams.push(bare);
        }
        if due(&mut faults.forge_answers) {
            let mut forged = session.seal(0, &response);
            forged.last_mut().into_iter().for_each(|byte| *byte ^= 1);
            datagrams.push(forged);
        }
        if due(&mut faults.replay_answers) {
            datagrams.extend(session.first.clone());
        }
        let sealed = session.seal(0, &response);
        session.first.get_or_insert_with(|| sealed.clone());
        if due(&mut faults.double_answers) {
            datagrams.push(sealed.clone());
        }
        datagrams.push(sealed);
        datagrams
    }

    fn on_serial(&mut self, id: u32, payload: &[u8]) -> Vec<Vec<u8>> {
        let room = match &self.port {
            Port::Echo => true,
            Port::Host { to_host, .. } => to_host.capacity() > 0,
        };
        let Some(session) = self.sessions.get_mut(&id) else { return Vec::new() };
        let Some(line) = session.line.as_mut() else { return Vec::new() };
        let Some((typed, acknowledgement)) = line.receive(payload, room) else { return Vec::new() };
        match &self.port {
            Port::Echo => line.print(&typed.data),
            // There is room: it was looked for above, and nobody else sends.
            Port::Host { to_host, .. } if !typed.data.is_empty() => {
                let _ = to_host.try_send(typed.data);
            }
            Port::Host { .. } => {}
        }
        let answers = acknowledgement.map(|payload| session.seal(sol::PAYLOAD, &payload)).into_iter().collect();
        if typed.is_break {
            self.counts().breaks += 1;
        }
        answers
    }
}
