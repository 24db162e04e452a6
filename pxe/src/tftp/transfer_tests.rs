use super::*;

fn limits() -> TftpLimits {
    TftpLimits { attempts: 3, ..TftpLimits::default() }
}

fn options(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn transfer(len: usize, asked: &[(&str, &str)]) -> Transfer {
    Transfer::new(vec![0x5a; len].into(), &options(asked), limits())
}

fn ack(block: u16) -> Vec<u8> {
    Packet::Ack { block }.encode()
}

fn sent(step: Step) -> Packet {
    let Step::Send(message) = step else { panic!("{step:?}") };
    Packet::decode(&message).unwrap()
}

#[test]
fn options_are_granted_clamped_or_left_out() {
    for (asked, granted) in [
        (&[][..], &[][..]),
        (&[("blksize", "1024")], &[("blksize", "1024")]),
        (&[("BLKSIZE", "65464")], &[("blksize", "1468")]),
        (&[("blksize", "7")], &[]),
        (&[("blksize", "99999")], &[]),
        (&[("blksize", "-1")], &[]),
        (&[("tsize", "0"), ("blksize", "1468")], &[("tsize", "3000"), ("blksize", "1468")]),
        (&[("timeout", "3")], &[("timeout", "3")]),
        (&[("timeout", "0")], &[]),
        (&[("timeout", "255")], &[]),
        (&[("windowsize", "64"), ("multicast", "")], &[]),
        (&[("tsize", "0"), ("TSIZE", "0")], &[("tsize", "3000")]),
    ] {
        assert_eq!(transfer(3000, asked).granted, options(granted), "{asked:?}");
    }
}

#[test]
fn a_file_is_sent_block_by_block() {
    for (len, blocks) in [(0, vec![0]), (511, vec![511]), (512, vec![512, 0]), (1300, vec![512, 512, 276])] {
        let mut transfer = transfer(len, &[]);
        let mut step = transfer.send();
        for (index, expected) in blocks.iter().enumerate() {
            let Packet::Data { block, data } = sent(step) else { panic!() };
            assert_eq!((usize::from(block), data.len()), (index + 1, *expected), "{len}");
            step = transfer.receive(&ack(block));
        }
        assert_eq!(step, Step::Done);
        assert_eq!(transfer.acknowledged(), len as u64);
    }
}

#[test]
fn options_are_acknowledged_first() {
    let mut transfer = transfer(600, &[("tsize", "0")]);
    assert_eq!(sent(transfer.send()), Packet::OptionAck { options: options(&[("tsize", "600")]) });
    assert_eq!(transfer.receive(&ack(1)), Step::Wait);
    assert!(matches!(sent(transfer.receive(&ack(0))), Packet::Data { block: 1, .. }));
}

#[test]
fn firmware_that_only_wants_the_size_ends_it() {
    let mut transfer = transfer(600, &[("tsize", "0")]);
    transfer.send();
    let abort = Packet::Error { code: 8, message: "User aborted the transfer".into() };
    assert!(matches!(transfer.receive(&abort.encode()), Step::Ended { code: 8, .. }));
}

#[test]
fn a_duplicate_acknowledgement_sends_nothing() {
    let mut transfer = transfer(2000, &[]);
    transfer.send();
    assert!(matches!(sent(transfer.receive(&ack(1))), Packet::Data { block: 2, .. }));
    assert_eq!(transfer.receive(&ack(1)), Step::Wait);
    assert_eq!(transfer.receive(&ack(9)), Step::Wait);
    assert_eq!(transfer.receive(b"noise"), Step::Wait);
    assert!(matches!(sent(transfer.receive(&ack(2))), Packet::Data { block: 3, .. }));
}

#[test]
fn a_lost_block_is_sent_again_until_it_is_enough() {
    let mut transfer = transfer(2000, &[]);
    let first = transfer.send();
    assert_eq!(transfer.send(), first);
    assert!(matches!(sent(transfer.receive(&ack(1))), Packet::Data { block: 2, .. }));
    transfer.send();
    transfer.send();
    assert_eq!(transfer.send(), Step::GaveUp);
}

#[test]
fn block_numbers_roll_over() {
    let len = 8 * 70_000;
    let mut transfer = transfer(len, &[("blksize", "8")]);
    transfer.send();
    let mut step = transfer.receive(&ack(0));
    let mut received = 0;
    while let Step::Send(message) = step {
        let Packet::Data { block, data } = Packet::decode(&message).unwrap() else { panic!() };
        received += data.len();
        step = transfer.receive(&ack(block));
    }
    assert_eq!((step, received), (Step::Done, len));
}
