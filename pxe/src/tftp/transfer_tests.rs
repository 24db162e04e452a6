use std::time::Duration;

use super::*;

fn terms(block_size: u16, window: u16, negotiated: bool) -> Terms {
    let granted = if negotiated { vec![("tsize".to_owned(), "1".to_owned())] } else { Vec::new() };
    Terms { block_size, window, timeout: Duration::from_secs(1), granted }
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|n| u8::try_from(n % 251).unwrap()).collect()
}

fn transfer(len: usize, terms: Terms) -> Transfer {
    Transfer::new(content(len).into(), terms, 3)
}

fn ack(block: u16) -> Vec<u8> {
    Packet::Ack { block }.encode()
}

/// The messages sent for a step.
fn sent(transfer: &mut Transfer, step: &Step) -> Vec<Packet> {
    assert_eq!(*step, Step::Send);
    let mut out = Vec::new();
    let segment = transfer.write(&mut out);
    out.chunks(segment).map(|message| Packet::decode(message).unwrap()).collect()
}

/// The block numbers of the messages sent for a step.
fn numbers(transfer: &mut Transfer, step: &Step) -> Vec<u16> {
    let number = |packet| match packet {
        Packet::Data { block, .. } => block,
        other => panic!("{other:?}"),
    };
    sent(transfer, step).into_iter().map(number).collect()
}

#[test]
fn a_file_is_sent_block_by_block() {
    for (len, blocks) in [(0, vec![0]), (511, vec![511]), (512, vec![512, 0]), (1300, vec![512, 512, 276])] {
        let mut transfer = transfer(len, terms(512, 1, false));
        let mut step = transfer.start();
        for (index, expected) in blocks.iter().enumerate() {
            let [Packet::Data { block, data }] = &sent(&mut transfer, &step)[..] else { panic!() };
            assert_eq!((usize::from(*block), data.len()), (index + 1, *expected), "{len}");
            step = transfer.receive(&ack(*block));
        }
        assert_eq!(step, Step::Done);
        assert_eq!((transfer.octets_acknowledged(), transfer.sent_again()), (len as u64, 0));
    }
}

#[test]
fn options_are_acknowledged_first() {
    let mut transfer = transfer(600, terms(512, 1, true));
    let step = transfer.start();
    assert!(matches!(sent(&mut transfer, &step)[..], [Packet::OptionAck { .. }]));
    assert!(transfer.is_fresh());
    assert_eq!(transfer.receive(&ack(1)), Step::Wait);
    let step = transfer.receive(&ack(0));
    assert_eq!(numbers(&mut transfer, &step), [1]);
    assert!(!transfer.is_fresh());
    assert_eq!(transfer.receive(&ack(0)), Step::Wait);
}

#[test]
fn c152_a_client_that_wants_the_size_only_ends_it() {
    let mut transfer = transfer(600, terms(512, 1, true));
    transfer.start();
    let abort = Packet::Error { code: 8, message: "User aborted the transfer".into() };
    assert!(matches!(transfer.receive(&abort.encode()), Step::Ended { code: 8, .. }));
}

#[test]
fn a_duplicate_acknowledgement_sends_nothing() {
    for window in [1, 4] {
        let mut transfer = transfer(5000, terms(512, window, false));
        let step = transfer.start();
        assert_eq!(numbers(&mut transfer, &step).len(), usize::from(window));
        let step = transfer.receive(&ack(window));
        let next = numbers(&mut transfer, &step);
        for message in [ack(window), ack(window - 1), ack(200), ack(u16::MAX), b"noise".to_vec()] {
            assert_eq!(transfer.receive(&message), Step::Wait, "{message:?}");
        }
        let step = transfer.receive(&ack(*next.last().unwrap()));
        assert_eq!(numbers(&mut transfer, &step)[0], 2 * window + 1);
        assert_eq!(transfer.sent_again(), 0);
    }
}

#[test]
fn a_window_resumes_at_the_first_block_that_was_lost() {
    let mut transfer = transfer(512 * 20, terms(512, 4, false));
    let step = transfer.start();
    assert_eq!(numbers(&mut transfer, &step), [1, 2, 3, 4]);
    // Block 3 was lost.
    let step = transfer.receive(&ack(2));
    assert_eq!(numbers(&mut transfer, &step), [3, 4, 5, 6]);
    assert_eq!(transfer.sent_again(), 2);
    // All of it was lost.
    let step = transfer.overdue();
    assert_eq!(numbers(&mut transfer, &step), [3, 4, 5, 6]);
    let step = transfer.receive(&ack(6));
    assert_eq!(numbers(&mut transfer, &step), [7, 8, 9, 10]);
}

#[test]
fn a_silent_client_is_given_up_and_one_that_speaks_is_not() {
    let mut transfer = transfer(2000, terms(512, 1, false));
    let mut step = transfer.start();
    for block in 1..4 {
        assert_eq!(numbers(&mut transfer, &step), [block]);
        assert_eq!(transfer.overdue(), Step::Send);
        assert_eq!(transfer.overdue(), Step::Send);
        step = transfer.receive(&ack(block));
    }
    assert_eq!(numbers(&mut transfer, &step), [4]);
    assert_eq!(transfer.overdue(), Step::Send);
    assert_eq!(transfer.overdue(), Step::Send);
    assert_eq!(transfer.overdue(), Step::GaveUp);
}

#[test]
fn c154_block_number_wraps() {
    // More than 65535 blocks of the smallest size, with and without windows.
    for window in [1, 3, 64] {
        let len = 8 * 70_000;
        let mut transfer = transfer(len, terms(8, window, true));
        transfer.start();
        let mut step = transfer.receive(&ack(0));
        let mut received = Vec::new();
        while step == Step::Send {
            let mut last = 0;
            for packet in sent(&mut transfer, &step) {
                let Packet::Data { block, data } = packet else { panic!() };
                received.extend_from_slice(&data);
                last = block;
            }
            step = transfer.receive(&ack(last));
        }
        assert_eq!(step, Step::Done);
        assert!(received == content(len), "window {window}");
    }
}

#[test]
fn c154_a_file_over_32_mib_in_blocks_of_512_is_whole() {
    let len = 40 * 1024 * 1024;
    let file = content(len);
    let mut transfer = Transfer::new(file.clone().into(), terms(512, 1, false), 3);
    let mut step = transfer.start();
    let (mut at, mut out, mut zero) = (0, Vec::new(), false);
    while step == Step::Send {
        out.clear();
        transfer.write(&mut out);
        let block = u16::from_be_bytes([out[2], out[3]]);
        zero |= block == 0;
        assert!(file[at..at + out.len() - 4] == out[4..]);
        at += out.len() - 4;
        step = transfer.receive(&ack(block));
    }
    assert_eq!((step, at, zero), (Step::Done, len, true));
}
