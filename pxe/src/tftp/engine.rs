//! All transfers of one boot server on one thread: it waits on the sockets and the earliest deadline, hands messages to
//! the [`Transfer`] they belong to, and sends what that says.
//!
//! A thread of its own, not tasks: a client without windows waits for each block, so its speed is the time from one
//! message to the next, and that is three system calls here (wait, receive, send), with no timer to be moved and no
//! other task to be scheduled in between.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

use super::admission::{Admitted, admit};
use super::clients::Clients;
use super::files::Files;
use super::limits::TftpLimits;
use super::send::Sender;
use super::server::Listener;
use super::trace::{End, Progress, Reporter};
use super::transfer::{Step, Transfer};

/// Tokens of what is waited for: the order to stop, then the listeners by their index, then transfers.
const STOP: u64 = u64::MAX;
const FIRST_TRANSFER: u64 = 1 << 32;
/// Requests taken from one listener before transfers get their turn.
const REQUESTS_AT_ONCE: usize = 64;
/// Requests, acknowledgements and errors are shorter; what does not fit is cut.
const LONGEST_MESSAGE: usize = 2048;

struct Active {
    transfer: Transfer,
    name: String,
    /// Octet for octet, to know it when it comes again.
    request: Box<[u8]>,
    listener: usize,
    peer: SocketAddr,
    /// Of this transfer alone; `None` where all share the listener's port.
    socket: Option<UdpSocket>,
    started: Instant,
    /// When the client last acknowledged something.
    moved: Instant,
    deadline: Instant,
}

/// See the module.
pub(super) struct Engine {
    listeners: Vec<Listener>,
    files: Files,
    clients: Clients,
    limits: TftpLimits,
    reporter: Reporter,
    poll: OwnedFd,
    /// Kept open: one that is closed is forgotten, with what was written to it.
    _stop: Arc<OwnedFd>,
    sender: Sender,
    active: HashMap<u64, Active>,
    by_peer: HashMap<(usize, SocketAddr), u64>,
    by_address: HashMap<IpAddr, usize>,
    /// One entry for each transfer, at or before its deadline.
    alarms: BinaryHeap<Reverse<(Instant, u64)>>,
    next: u64,
    out: Vec<u8>,
}

impl Engine {
    /// Ends when `stop` becomes readable.
    pub(super) fn new(
        listeners: Vec<Listener>,
        files: Files,
        clients: Clients,
        limits: TftpLimits,
        reporter: Reporter,
        stop: &Arc<OwnedFd>,
    ) -> io::Result<Self> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poll, stop, epoll::EventData::new_u64(STOP), epoll::EventFlags::IN)?;
        for (index, listener) in listeners.iter().enumerate() {
            epoll::add(&poll, &listener.socket, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
        }
        Ok(Self {
            listeners,
            files,
            clients,
            limits,
            reporter,
            poll,
            _stop: stop.clone(),
            sender: Sender::new(),
            active: HashMap::new(),
            by_peer: HashMap::new(),
            by_address: HashMap::new(),
            alarms: BinaryHeap::new(),
            next: FIRST_TRANSFER,
            out: Vec::new(),
        })
    }

    /// Serves until told to stop.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(128);
        loop {
            let wait = self.until_next_alarm();
            match epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), wait.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    STOP => return Ok(()),
                    key if key >= FIRST_TRANSFER => self.converse(key),
                    listener => self.hear(usize::try_from(listener).unwrap_or(usize::MAX)),
                }
            }
            self.ring();
        }
    }

    fn until_next_alarm(&self) -> Option<Timespec> {
        let Reverse((at, _)) = self.alarms.peek()?;
        // The system's resolution may be a millisecond, rounded down.
        let left = at.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        Timespec::try_from(left).ok()
    }

    /// Takes what has arrived at a listener.
    fn hear(&mut self, index: usize) {
        let mut buffer = [0; LONGEST_MESSAGE];
        for _ in 0..REQUESTS_AT_ONCE {
            let Some(listener) = self.listeners.get(index) else { return };
            let (len, peer) = match listener.socket.recv_from(&mut buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // An earlier answer came back as unreachable; the next message is not concerned.
                Err(_) => continue,
            };
            let message = buffer.get(..len).unwrap_or_default();
            if !self.clients.contain(peer.ip()) {
                self.reporter.foreign();
                continue;
            }
            let known = self.by_peer.get(&(index, peer)).copied();
            let is_request = matches!(message, [0, 1 | 2, ..]);
            match known {
                Some(key) if !is_request => self.receive(key, message),
                _ => self.request(index, peer, message, known),
            }
        }
    }

    fn request(&mut self, index: usize, peer: SocketAddr, message: &[u8], known: Option<u64>) {
        let Some(listener) = self.listeners.get(index) else { return };
        let interface = listener.interface.clone();
        match admit(message, &self.files, &self.limits, listener.largest_block()) {
            Ok(admitted) => self.begin(index, peer, message, known, admitted),
            Err(refusal) => {
                // A lost refusal is the client's timeout.
                if let Some(error) = refusal.message() {
                    let _ = listener.socket.send_to(&error, peer);
                }
                self.reporter.refused(peer, interface, &refusal);
            }
        }
    }

    fn begin(&mut self, index: usize, peer: SocketAddr, request: &[u8], known: Option<u64>, admitted: Admitted) {
        let Admitted { name, transfer } = admitted;
        if let Some(key) = known {
            match self.active.get_mut(&key) {
                // Our first message was lost or late: the same transfer, not a second one beside it.
                Some(active) if *active.request == *request && active.transfer.is_fresh() => {
                    let step = active.transfer.overdue();
                    return self.act(key, step);
                }
                // A copy that was late on the wire, while the client goes on at the port it knows. One that did begin anew
                // asks again.
                Some(active)
                    if *active.request == *request && active.moved.elapsed() < active.transfer.terms().timeout =>
                {
                    return;
                }
                // The client has begun anew from the same port, as ROMs with a fixed one do.
                _ => self.end(key, End::Superseded),
            }
        }
        let Some(listener) = self.listeners.get(index) else { return };
        let interface = listener.interface.clone();
        if self.active.len() >= self.limits.transfers {
            return self.reporter.busy(peer, interface, &name);
        }
        if self.by_address.get(&peer.ip()).is_some_and(|count| *count >= self.limits.transfers_each) {
            return self.reporter.flood(peer, interface, &name);
        }
        let key = self.next;
        let socket = match self.socket_of(index, peer, key) {
            Ok(socket) => socket,
            Err(error) => return self.reporter.ended(peer, interface, &name, &Progress::NONE, End::NotSent(error)),
        };
        self.next += 1;
        let now = Instant::now();
        let mut active = Active {
            transfer,
            name,
            request: request.into(),
            listener: index,
            peer,
            socket,
            started: now,
            moved: now,
            deadline: now,
        };
        let first = active.transfer.start();
        self.active.insert(key, active);
        self.by_peer.insert((index, peer), key);
        *self.by_address.entry(peer.ip()).or_default() += 1;
        self.act(key, first);
        if let Some(active) = self.active.get(&key) {
            self.alarms.push(Reverse((active.deadline, key)));
        }
    }

    /// The port that identifies the transfer (RFC 1350, section 4), connected so that the kernel turns away others.
    fn socket_of(&self, index: usize, peer: SocketAddr, key: u64) -> io::Result<Option<UdpSocket>> {
        let Some(listener) = self.listeners.get(index).filter(|_| !self.limits.single_port) else { return Ok(None) };
        let mut from = listener.socket.local_addr()?;
        from.set_port(0);
        let socket = UdpSocket::bind(from)?;
        socket.connect(peer)?;
        socket.set_nonblocking(true)?;
        epoll::add(&self.poll, &socket, epoll::EventData::new_u64(key), epoll::EventFlags::IN)?;
        Ok(Some(socket))
    }

    /// A transfer's own socket has something. One message, so that all transfers get their turn.
    fn converse(&mut self, key: u64) {
        let mut buffer = [0; LONGEST_MESSAGE];
        let Some(socket) = self.active.get(&key).and_then(|active| active.socket.as_ref()) else { return };
        match socket.recv(&mut buffer) {
            Ok(len) => self.receive(key, buffer.get(..len).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.end(key, End::Gone),
        }
    }

    fn receive(&mut self, key: u64, message: &[u8]) {
        if let Some(active) = self.active.get_mut(&key) {
            let step = active.transfer.receive(message);
            if step == Step::Send {
                active.moved = Instant::now();
            }
            self.act(key, step);
        }
    }

    fn act(&mut self, key: u64, step: Step) {
        let end = match step {
            Step::Send => match self.send(key) {
                Ok(()) => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => End::Gone,
                Err(error) => End::NotSent(error),
            },
            Step::Wait => return,
            Step::Done => End::Done,
            Step::Ended { code, message } => End::Ended { code, message },
            Step::GaveUp => End::NoAnswer,
        };
        self.end(key, end);
    }

    fn send(&mut self, key: u64) -> io::Result<()> {
        let Some(active) = self.active.get_mut(&key) else { return Ok(()) };
        self.out.clear();
        let segment = active.transfer.write(&mut self.out);
        active.deadline = Instant::now() + active.transfer.terms().timeout;
        match (&active.socket, self.listeners.get(active.listener)) {
            (Some(own), _) => self.sender.send(own, None, &self.out, segment),
            (None, Some(listener)) => self.sender.send(&listener.socket, Some(active.peer), &self.out, segment),
            (None, None) => Ok(()),
        }
    }

    /// Handles the deadlines that have passed.
    fn ring(&mut self) {
        let now = Instant::now();
        while let Some(Reverse((at, key))) = self.alarms.peek().copied() {
            if at > now {
                return;
            }
            self.alarms.pop();
            let Some(active) = self.active.get_mut(&key) else { continue };
            if now >= active.started + self.limits.whole {
                self.end(key, End::TooLong);
                continue;
            }
            if active.deadline <= now {
                let step = active.transfer.overdue();
                self.act(key, step);
            }
            if let Some(active) = self.active.get(&key) {
                let end = active.started + self.limits.whole;
                self.alarms.push(Reverse((active.deadline.min(end), key)));
            }
        }
    }

    fn end(&mut self, key: u64, end: End) {
        let Some(active) = self.active.remove(&key) else { return };
        if self.by_peer.get(&(active.listener, active.peer)) == Some(&key) {
            self.by_peer.remove(&(active.listener, active.peer));
        }
        if let Some(count) = self.by_address.get_mut(&active.peer.ip()) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_address.remove(&active.peer.ip());
            }
        }
        let Some(listener) = self.listeners.get(active.listener) else { return };
        if let Some(error) = end.message() {
            // For a client that still waits, sooner than its own timeout.
            let socket = active.socket.as_ref();
            let _ = match socket {
                Some(own) => own.send(&error),
                None => listener.socket.send_to(&error, active.peer),
            };
        }
        let progress = Progress {
            bytes: active.transfer.octets_acknowledged(),
            took: active.started.elapsed(),
            resent: active.transfer.sent_again(),
            block_size: active.transfer.terms().block_size,
            window: active.transfer.terms().window,
        };
        self.reporter.ended(active.peer, listener.interface.clone(), &active.name, &progress, end);
    }
}
