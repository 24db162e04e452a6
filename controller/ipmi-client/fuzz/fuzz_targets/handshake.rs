//! A handshake fed with anything: datagrams one after the other, each behind a byte with its length; the first three
//! get the right tag and id, so that what comes after them is reached. Nobody gets a session without the password.
#![no_main]

use ipmi_client::handshake::{Handshake, Progress, Randomness};
use ipmi_client::{Login, SUITE_3, SUITE_17};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (suite, mut rest) = match data.split_first() {
        Some((first, rest)) => (if first & 1 == 0 { &SUITE_3 } else { &SUITE_17 }, rest),
        None => return,
    };
    let login = Login::new("admin", "a password of twenty").unwrap();
    let mut handshake = Handshake::new(login, suite, Randomness { session_id: 7, nonce: [9; 16], tag: 1 });
    let mut tag = 1;
    while let Some((length, behind)) = rest.split_first() {
        let (payload, behind) = behind.split_at(usize::from(*length).min(behind.len()));
        rest = behind;
        let kind = 0x11 + (tag - 1) * 2;
        let mut datagram = vec![6, 0, 0xff, 7, 6, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        let body = [&[tag, 0, 0, 0, 7, 0, 0, 0], payload].concat();
        datagram.extend(u16::try_from(body.len()).unwrap().to_le_bytes());
        datagram.extend(body);
        match handshake.receive(&datagram) {
            Progress::Next if tag < 3 => tag += 1,
            Progress::Established(_) => panic!("a session without the password"),
            _ => {}
        }
        handshake.receive(payload);
    }
});
