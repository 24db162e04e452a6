//! Serial over LAN (§15), the controller's end: one packet in flight each way.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

/// The payload's type.
pub(super) const PAYLOAD: u8 = 0x01;
/// How much a packet carries.
pub(super) const PACKET_MAX: usize = 64;
/// A packet that is not acknowledged goes out again after this long, so many times.
const REPEAT_AFTER: Duration = Duration::from_millis(200);
const REPEATS: u32 = 12;
const NACK: u8 = 0x40;
const BREAK: u8 = 0x10;

/// What the serial port hangs on.
pub(super) enum Port {
    /// Sends back what it gets.
    Echo,
    /// Whoever holds the [`HostConsole`].
    Host { to_host: mpsc::Sender<Vec<u8>>, from_host: mpsc::Receiver<Vec<u8>> },
}

/// The server's side of its serial port.
pub struct HostConsole {
    /// What consoles type. Full, it makes the controller refuse characters.
    pub typed: mpsc::Receiver<Vec<u8>>,
    /// What the server prints.
    pub prints: mpsc::Sender<Vec<u8>>,
}

/// A port and the server's side of it.
pub(super) fn host_port() -> (Port, HostConsole) {
    let (to_host, typed) = mpsc::channel(16);
    let (prints, from_host) = mpsc::channel(64);
    (Port::Host { to_host, from_host }, HostConsole { typed, prints })
}

/// One console's line.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: VecDeque<u8>,
    sequence: u8,
    flight: Option<Flight>,
    /// The console's last packet, and how much of it was taken.
    received: (u8, u8),
    refusing: bool,
}

#[derive(Debug)]
struct Flight {
    data: Vec<u8>,
    sent: Instant,
    repeats: u32,
}

/// What a packet from the console brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Typed {
    pub(super) data: Vec<u8>,
    pub(super) is_break: bool,
}

impl Line {
    /// Characters for the console.
    pub(super) fn print(&mut self, characters: &[u8]) {
        self.waiting.extend(characters);
    }

    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < 64 * 1024
    }

    /// Takes a packet in; `room` is whether the port takes characters now. The acknowledgement is the second part.
    pub(super) fn receive(&mut self, payload: &[u8], room: bool) -> Option<(Typed, Option<Vec<u8>>)> {
        let ([sequence, acknowledged, accepted, operation], data) = payload.split_first_chunk::<4>()?;
        if *acknowledged == self.sequence && *acknowledged != 0 {
            self.on_acknowledged(usize::from(*accepted), operation & NACK != 0);
        }
        if operation & NACK == 0 {
            self.refusing = false;
        }
        if *sequence == 0 {
            return Some((Typed::default(), None));
        }
        let mut typed = Typed::default();
        if self.received.0 != *sequence {
            let taken = if room { data } else { &[] };
            typed = Typed { data: taken.to_vec(), is_break: operation & BREAK != 0 };
            self.received = (*sequence, u8::try_from(taken.len()).unwrap_or(u8::MAX));
        }
        let (number, count) = self.received;
        let flags = if usize::from(count) < data.len() { NACK } else { 0 };
        Some((typed, Some(vec![0, number, count, flags])))
    }

    fn on_acknowledged(&mut self, accepted: usize, refused: bool) {
        let Some(flight) = self.flight.take() else { return };
        flight.data.iter().skip(accepted).rev().for_each(|byte| self.waiting.push_front(*byte));
        self.refusing = refused;
    }

    /// What is to be sent now: something new, or the last once more.
    pub(super) fn transmit(&mut self) -> Option<Vec<u8>> {
        let now = Instant::now();
        if let Some(flight) = &mut self.flight {
            if now < flight.sent + REPEAT_AFTER {
                return None;
            }
            if flight.repeats == REPEATS {
                // Given up, as §15.11 has it.
                self.flight = None;
                return None;
            }
            flight.repeats += 1;
            flight.sent = now;
            return Some([&[self.sequence, 0, 0, 0][..], &flight.data].concat());
        }
        if self.waiting.is_empty() || self.refusing {
            return None;
        }
        let count = self.waiting.len().min(PACKET_MAX);
        let data: Vec<u8> = self.waiting.drain(..count).collect();
        self.sequence = self.sequence % 15 + 1;
        let packet = [&[self.sequence, 0, 0, 0][..], &data].concat();
        self.flight = Some(Flight { data, sent: now, repeats: 0 });
        Some(packet)
    }

    /// When to look again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.flight.as_ref().map(|flight| flight.sent + REPEAT_AFTER)
    }
}
