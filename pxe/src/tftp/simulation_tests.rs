//! A client over a wire that loses, repeats and swaps messages: whatever it does, the client ends with the exact file,
//! or the transfer ends with an error, never with another file.

use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;

use super::packet::Packet;
use super::terms::Terms;
use super::transfer::{Step, Transfer};

/// What happens to one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Arrives,
    IsLost,
    ArrivesTwice,
    /// Behind the next one.
    IsOvertaken,
}

/// A receiver by RFC 1350 and 7440 that acknowledges a window, the end, and the last block before a gap.
struct Client {
    window: u16,
    block_size: usize,
    file: Vec<u8>,
    next: u16,
    since_ack: u16,
    gap_told: bool,
    ended: bool,
    last_ack: Option<u16>,
}

impl Client {
    fn receive(&mut self, message: &[u8]) -> Option<u16> {
        match Packet::decode(message).unwrap() {
            Packet::OptionAck { .. } if self.next == 1 && self.file.is_empty() => self.ack(0),
            Packet::Data { block, data } if block == self.next && !self.ended => {
                self.file.extend_from_slice(&data);
                self.next = self.next.wrapping_add(1);
                self.since_ack += 1;
                self.gap_told = false;
                self.ended = data.len() < self.block_size;
                (self.ended || self.since_ack == self.window).then(|| self.ack(block)).flatten()
            }
            // The end again: our acknowledgement was lost.
            Packet::Data { .. } if self.ended => self.last_ack,
            // Ahead of what is missing, not one that came before.
            Packet::Data { block, .. } if block.wrapping_sub(self.next) < 1000 && !self.gap_told && self.window > 1 => {
                self.gap_told = true;
                self.ack(self.next.wrapping_sub(1))
            }
            _ => None,
        }
    }

    fn ack(&mut self, block: u16) -> Option<u16> {
        self.since_ack = 0;
        self.last_ack = Some(block);
        self.last_ack
    }
}

struct Wire<'a> {
    fates: std::iter::Cycle<std::slice::Iter<'a, Fate>>,
    overtaken: Option<Vec<u8>>,
    in_flight: VecDeque<Vec<u8>>,
}

impl<'a> Wire<'a> {
    fn new(fates: &'a [Fate]) -> Self {
        Self { fates: fates.iter().cycle(), overtaken: None, in_flight: VecDeque::new() }
    }

    fn put(&mut self, message: &[u8]) {
        let fate = self.fates.next().copied().unwrap_or(Fate::Arrives);
        if fate == Fate::IsOvertaken && self.overtaken.is_none() {
            self.overtaken = Some(message.to_vec());
            return;
        }
        for _ in 0..[1, 0, 2, 1][fate as usize] {
            self.in_flight.push_back(message.to_vec());
        }
        self.in_flight.extend(self.overtaken.take());
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        self.in_flight.pop_front().or_else(|| self.overtaken.take())
    }
}

struct Ended {
    server: Step,
    client: Client,
    /// DATA messages sent.
    data: u64,
    resent: u64,
    blocks: u64,
}

fn run(file: &[u8], block_size: u16, window: u16, negotiated: bool, down: &[Fate], up: &[Fate]) -> Ended {
    let granted = if negotiated { vec![("windowsize".to_owned(), window.to_string())] } else { Vec::new() };
    let window = if negotiated { window } else { 1 };
    let terms = Terms { block_size, window, timeout: Duration::from_secs(1), granted };
    let mut server = Transfer::new(file.to_vec().into(), terms, 6);
    let mut client = Client {
        window,
        block_size: block_size.into(),
        file: Vec::new(),
        next: 1,
        since_ack: 0,
        gap_told: false,
        ended: false,
        last_ack: None,
    };
    let (mut down, mut up) = (Wire::new(down), Wire::new(up));
    let mut step = server.start();
    let mut data = 0;
    // Ends: each attempt is counted, and each acknowledgement moves forward.
    loop {
        if step == Step::Send {
            let mut out = Vec::new();
            let segment = server.write(&mut out);
            for message in out.chunks(segment) {
                data += u64::from(message[1] == 3);
                down.put(message);
            }
        } else if step != Step::Wait {
            let blocks = file.len() as u64 / u64::from(block_size) + 1;
            return Ended { server: step, client, data, resent: server.sent_again(), blocks };
        }
        step = Step::Wait;
        if let Some(message) = down.take() {
            if let Some(block) = client.receive(&message) {
                up.put(&Packet::Ack { block }.encode());
            }
        } else if let Some(message) = up.take() {
            step = server.receive(&message);
        } else {
            // Silence on the wire: whoever waits sends again.
            step = server.overdue();
            if let Some(block) = client.last_ack.filter(|_| step == Step::Send && !client.ended) {
                up.put(&Packet::Ack { block }.encode());
            }
        }
    }
}

fn fates(lossy: bool) -> impl Strategy<Value = Vec<Fate>> {
    let fate = if lossy {
        prop_oneof![
            6 => Just(Fate::Arrives),
            1 => Just(Fate::IsLost),
            1 => Just(Fate::ArrivesTwice),
            1 => Just(Fate::IsOvertaken),
        ]
        .boxed()
    } else {
        prop_oneof![Just(Fate::Arrives), Just(Fate::ArrivesTwice)].boxed()
    };
    prop::collection::vec(fate, 1..60)
}

proptest! {
    #[test]
    fn any_wire_ends_with_the_exact_file_or_an_error(
        file in prop::collection::vec(any::<u8>(), 0..2000),
        block_size in 8u16..40,
        window in 1u16..12,
        negotiated in any::<bool>(),
        down in fates(true),
        up in fates(true),
    ) {
        let ended = run(&file, block_size, window, negotiated, &down, &up);
        match ended.server {
            Step::Done => prop_assert_eq!(ended.client.file, file),
            // The last acknowledgement may be what was lost.
            Step::GaveUp => prop_assert!(file.starts_with(&ended.client.file)),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    /// RFC 1123, section 4.2.3.1: what the wire repeats is not repeated in turn.
    #[test]
    fn repetition_is_not_contagious(
        file in prop::collection::vec(any::<u8>(), 0..2000),
        block_size in 8u16..40,
        window in 1u16..12,
        down in fates(false),
        up in fates(false),
    ) {
        let ended = run(&file, block_size, window, true, &down, &up);
        prop_assert_eq!(ended.server, Step::Done);
        prop_assert_eq!(ended.client.file, file);
        prop_assert_eq!((ended.data, ended.resent), (ended.blocks, 0));
    }

    #[test]
    fn nothing_that_a_client_says_makes_it_panic(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..60),
        acks in prop::collection::vec(any::<u16>(), 0..60),
    ) {
        let terms = Terms { block_size: 8, window: 4, timeout: Duration::from_secs(1), granted: Vec::new() };
        let mut transfer = Transfer::new(vec![1; 600].into(), terms, 6);
        let mut out = Vec::new();
        transfer.start();
        transfer.write(&mut out);
        let acks = acks.into_iter().map(|block| Packet::Ack { block: block % 90 }.encode());
        for message in messages.into_iter().chain(acks) {
            if transfer.receive(&message) == Step::Send {
                out.clear();
                transfer.write(&mut out);
                prop_assert!(out.len() <= 4 * 12);
            }
        }
    }
}
