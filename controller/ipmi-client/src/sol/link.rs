//! The console's end of a serial line, without sockets or clocks.

use std::collections::VecDeque;
use std::mem;

use super::packet::{BREAK_OR_DEACTIVATED, NACK, OVERRUN, SolPacket, UNAVAILABLE};
use crate::Malformed;

/// Typed characters kept for the BMC; more are not taken.
const QUEUE_MAX: usize = 4096;

/// What a packet from the BMC brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incoming {
    /// New characters, each once.
    pub data: Vec<u8>,
    /// Whether the BMC lost characters before these.
    pub overrun: bool,
    /// Whether the BMC has ended the payload.
    pub deactivated: bool,
}

/// The console's end.
#[derive(Debug)]
pub struct Link {
    /// Characters a packet may carry to the BMC.
    packet_max: usize,
    queue: VecDeque<u8>,
    wants_break: bool,
    sequence: u8,
    in_flight: Option<InFlight>,
    /// The BMC refused characters; it is left alone until it speaks or time passes.
    held: bool,
    received: u8,
    accepted: usize,
    refusing: bool,
    acknowledge: bool,
}

#[derive(Debug)]
struct InFlight {
    sequence: u8,
    flags: u8,
    data: Vec<u8>,
}

impl Link {
    /// A line over which packets may carry `payload_max` bytes to the BMC, their headers included.
    #[must_use]
    pub fn new(payload_max: u16) -> Self {
        // BMCs that say 0, or too much for one count of accepted characters, exist.
        let packet_max = usize::from(payload_max).saturating_sub(4).clamp(1, 200);
        Self {
            packet_max,
            queue: VecDeque::new(),
            wants_break: false,
            sequence: 0,
            in_flight: None,
            held: false,
            received: 0,
            accepted: 0,
            refusing: false,
            acknowledge: false,
        }
    }

    /// How many typed characters are taken now.
    #[must_use]
    pub fn room(&self) -> usize {
        QUEUE_MAX.saturating_sub(self.queue.len())
    }

    /// Takes typed characters, as many as there is [room](Self::room) for; returns how many.
    pub fn type_in(&mut self, characters: &[u8]) -> usize {
        let taken = characters.len().min(self.room());
        self.queue.extend(characters.iter().take(taken));
        taken
    }

    /// Asks for a break, before any characters that still wait.
    pub fn send_break(&mut self) {
        self.wants_break = true;
    }

    /// Whether everything typed has been acknowledged.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.in_flight.is_none() && !self.wants_break
    }

    /// Whether a packet waits for its acknowledgement, and is to be sent [again](Self::repeat) after a while.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.in_flight.is_some() || self.held
    }

    /// The next payload to send at once, if any.
    pub fn transmit(&mut self) -> Option<Vec<u8>> {
        let has_more = self.wants_break || !self.queue.is_empty();
        if has_more && self.in_flight.is_none() && !self.held {
            let flags = if mem::take(&mut self.wants_break) { BREAK_OR_DEACTIVATED } else { 0 };
            // A break stands alone: what it is to reach before the characters is the firmware.
            let count = if flags == 0 { self.packet_max.min(self.queue.len()) } else { 0 };
            let data = self.queue.drain(..count).collect();
            self.sequence = self.sequence % 15 + 1;
            self.in_flight = Some(InFlight { sequence: self.sequence, flags, data });
            return self.repeat();
        }
        if mem::take(&mut self.acknowledge) {
            let flags = if self.refusing { NACK } else { 0 };
            let (acknowledged, accepted) = self.acknowledgement();
            return Some(SolPacket { sequence: 0, acknowledged, accepted, flags, data: &[] }.encode());
        }
        None
    }

    /// The payload in flight once more, for want of an acknowledgement.
    pub fn repeat(&mut self) -> Option<Vec<u8>> {
        self.held = false;
        let (acknowledged, accepted) = self.acknowledgement();
        let refusing = if self.refusing { NACK } else { 0 };
        let flight = self.in_flight.as_ref()?;
        self.acknowledge = false;
        let flags = flight.flags | refusing;
        Some(SolPacket { sequence: flight.sequence, acknowledged, accepted, flags, data: &flight.data }.encode())
    }

    /// There is room again for characters from the BMC, after some were refused: it is told to go on.
    pub fn resume(&mut self) {
        if mem::take(&mut self.refusing) {
            self.acknowledge = true;
        }
    }

    /// Takes in a payload, and at most `room` characters of it; the BMC is told how many, and sends the rest again.
    ///
    /// # Errors
    /// When it is too short.
    pub fn receive(&mut self, payload: &[u8], room: usize) -> Result<Incoming, Malformed> {
        let packet = SolPacket::parse(payload)?;
        self.on_acknowledgement(&packet);
        let mut incoming = Incoming {
            data: Vec::new(),
            overrun: packet.flags & OVERRUN != 0,
            deactivated: packet.flags & BREAK_OR_DEACTIVATED != 0,
        };
        if packet.sequence != 0 {
            // The same number is the same packet sent again: what of it was accepted is not new.
            let known = if packet.sequence == self.received { self.accepted } else { 0 };
            let fresh = packet.data.get(known..).unwrap_or_default();
            // The count of accepted characters is one byte.
            let taken = fresh.len().min(room).min(usize::from(u8::MAX).saturating_sub(known));
            incoming.data = fresh.iter().copied().take(taken).collect();
            self.received = packet.sequence;
            self.accepted = known + taken;
            self.refusing = taken < fresh.len();
            self.acknowledge = true;
        }
        Ok(incoming)
    }

    fn acknowledgement(&self) -> (u8, u8) {
        (self.received, u8::try_from(self.accepted).unwrap_or(u8::MAX))
    }

    fn on_acknowledgement(&mut self, packet: &SolPacket<'_>) {
        if packet.flags & (NACK | UNAVAILABLE) == 0 {
            self.held = false;
        }
        let ours = self.in_flight.take_if(|flight| flight.sequence == packet.acknowledged);
        let Some(flight) = ours else { return };
        let accepted = usize::from(packet.accepted).min(flight.data.len());
        for character in flight.data.iter().skip(accepted).rev() {
            self.queue.push_front(*character);
        }
        let refused = packet.flags & NACK != 0;
        self.wants_break |= refused && flight.flags & BREAK_OR_DEACTIVATED != 0;
        self.held = refused || (accepted == 0 && !flight.data.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u8, acknowledged: u8, accepted: u8, flags: u8, data: &[u8]) -> Vec<u8> {
        SolPacket { sequence, acknowledged, accepted, flags, data }.encode()
    }

    #[test]
    fn typed_characters_go_one_packet_at_a_time() {
        let mut link = Link::new(8);
        assert_eq!(link.type_in(b"reboot"), 6);
        assert_eq!(link.transmit().unwrap(), packet(1, 0, 0, 0, b"rebo"));
        assert_eq!(link.transmit(), None);
        assert_eq!(link.repeat().unwrap(), packet(1, 0, 0, 0, b"rebo"));
        // An acknowledgement of another packet is none of this one's; a partial one brings back the rest.
        link.receive(&packet(0, 7, 4, 0, b""), 99).unwrap();
        assert_eq!(link.transmit(), None);
        link.receive(&packet(0, 1, 3, 0, b""), 99).unwrap();
        assert_eq!(link.transmit().unwrap(), packet(2, 0, 0, 0, b"oot"));
        link.receive(&packet(0, 2, 3, 0, b""), 99).unwrap();
        assert!(link.is_idle());
    }

    #[test]
    fn a_bmc_without_room_is_left_alone_until_it_speaks() {
        let mut link = Link::new(20);
        link.type_in(b"abc");
        link.transmit().unwrap();
        link.receive(&packet(0, 1, 1, NACK, b""), 99).unwrap();
        assert_eq!(link.transmit(), None);
        assert!(link.is_waiting());
        link.receive(&packet(0, 0, 0, 0, b""), 99).unwrap();
        assert_eq!(link.transmit().unwrap(), packet(2, 0, 0, 0, b"bc"));
        link.receive(&packet(0, 2, 0, NACK, b""), 99).unwrap();
        // Or until time passes.
        assert_eq!(link.repeat(), None);
        assert_eq!(link.transmit().unwrap(), packet(3, 0, 0, 0, b"bc"));
    }

    #[test]
    fn characters_sent_twice_come_once() {
        let mut link = Link::new(20);
        assert_eq!(link.receive(&packet(5, 0, 0, 0, b"login"), 99).unwrap().data, b"login");
        assert_eq!(link.transmit().unwrap(), packet(0, 5, 5, 0, b""));
        assert_eq!(link.receive(&packet(5, 0, 0, 0, b"login"), 99).unwrap().data, b"");
        assert_eq!(link.transmit().unwrap(), packet(0, 5, 5, 0, b""));
        assert_eq!(link.receive(&packet(6, 0, 0, 0, b": "), 99).unwrap().data, b": ");
    }

    #[test]
    fn what_there_is_no_room_for_is_refused_and_comes_again() {
        let mut link = Link::new(20);
        assert_eq!(link.receive(&packet(5, 0, 0, 0, b"login"), 2).unwrap().data, b"lo");
        assert_eq!(link.transmit().unwrap(), packet(0, 5, 2, NACK, b""));
        link.resume();
        assert_eq!(link.transmit().unwrap(), packet(0, 5, 2, 0, b""));
        // A BMC may send all of it again under its number, or the rest under the next.
        assert_eq!(link.receive(&packet(5, 0, 0, 0, b"login"), 99).unwrap().data, b"gin");
        assert_eq!(
            link.receive(&packet(6, 0, 0, OVERRUN, b"x"), 99).unwrap(),
            Incoming { data: b"x".to_vec(), overrun: true, deactivated: false }
        );
    }

    #[test]
    fn a_break_and_the_end() {
        let mut link = Link::new(20);
        link.type_in(b"b");
        link.send_break();
        assert_eq!(link.transmit().unwrap(), packet(1, 0, 0, 0x10, b""));
        link.receive(&packet(0, 1, 0, 0, b""), 99).unwrap();
        assert_eq!(link.transmit().unwrap(), packet(2, 0, 0, 0, b"b"));
        assert!(link.receive(&packet(0, 0, 0, 0x10, b""), 99).unwrap().deactivated);
        assert!(link.receive(&[1, 2, 3], 99).is_err());
    }

    proptest::proptest! {
        #[test]
        fn receiving_anything_never_panics(payloads: Vec<Vec<u8>>, room: usize) {
            let mut link = Link::new(20);
            link.type_in(b"something to be acknowledged");
            for payload in payloads {
                let data = link.receive(&payload, room).map(|incoming| incoming.data.len()).unwrap_or(0);
                proptest::prop_assert!(data <= room && data <= payload.len());
                link.transmit();
            }
        }

        /// Two ends and a network that loses packets as it likes: everything arrives, in order, once.
        #[test]
        fn a_lossy_network_loses_nothing(text: Vec<u8>, losses: Vec<bool>, room in 1usize..30) {
            let (mut near, mut far) = (Link::new(12), Link::new(12));
            let mut losses = losses.into_iter();
            let mut lost = || losses.next().unwrap_or(false);
            let (mut typed, mut shown) = (&text[..], Vec::new());
            for _ in 0..20_000 {
                typed = &typed[near.type_in(typed)..];
                if typed.is_empty() && near.is_idle() {
                    break;
                }
                while let Some(payload) = near.transmit().or_else(|| near.repeat()) {
                    if !lost() {
                        shown.extend(far.receive(&payload, room).unwrap().data);
                    }
                    far.resume();
                    while let Some(payload) = far.transmit() {
                        if !lost() {
                            near.receive(&payload, 99).unwrap();
                        }
                    }
                }
            }
            proptest::prop_assert_eq!(shown, text);
        }
    }
}
