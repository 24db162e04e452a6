//! The protocol core without a network: whole handshakes and one command, byte for byte.
//!
//! The vectors were computed by another implementation (Python's `hmac` and `hashlib`, OpenSSL's AES), written from the
//! specification: §13.17–13.32, for both cipher suites, with a password of 20 bytes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail by panicking")]

use ipmi_client::command::{Command, GetDeviceId};
use ipmi_client::handshake::{Handshake, Progress, Randomness};
use ipmi_client::message::{decode_response, encode_request};
use ipmi_client::session::Session;
use ipmi_client::{CipherSuite, IpmiError, Login, SUITE_3, SUITE_17};

const PASSWORD: &str = "twenty-bytes-are-ok!";

struct Vector {
    suite: &'static CipherSuite,
    open_request: &'static str,
    open_response: &'static str,
    rakp1: &'static str,
    rakp2: &'static str,
    rakp3: &'static str,
    rakp4: &'static str,
    request: &'static str,
    response: &'static str,
}

static VECTORS: [Vector; 2] = [
    Vector {
        suite: &SUITE_3,
        open_request: "0600ff070610000000000000000020001004000044332211000000080100000001000008010000000200000801000000",
        open_response: "0600ff07061100000000000000002400100004004433221188776655000000080100000001000008010000000200000801000000",
        rakp1: "0600ff070612000000000000000021001100000088776655000102030405060708090a0b0c0d0e0f1400000561646d696e",
        rakp2: "0600ff07061300000000000000003c001100000044332211808182838485868788898a8b8c8d8e8f404142434445464748494a4b4c4d4e4f75e5d32818e5a6231a430f774fe444be34cca1cb",
        rakp3: "0600ff07061400000000000000001c001200000088776655ad560324135bb4992cbee21934571c3e17b5cf00",
        rakp4: "0600ff070615000000000000000014001200000044332211013aa6fe383fac003ad05912",
        request: "0600ff0706c088776655010000002000a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a543dc708cf7aa23f6cd87e410354d182cffff0207fc47652004a97b4d4a92163b",
        response: "0600ff0706c0443322110100000030005a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aeb90bf89f64919f09e878a27b03cdb985e9c642180abf9acb944068e19c545d6ffff0207c75265bd6f4eeba5a79707f3",
    },
    Vector {
        suite: &SUITE_17,
        open_request: "0600ff070610000000000000000020001004000044332211000000080300000001000008040000000200000801000000",
        open_response: "0600ff07061100000000000000002400100004004433221188776655000000080300000001000008040000000200000801000000",
        rakp1: "0600ff070612000000000000000021001100000088776655000102030405060708090a0b0c0d0e0f1400000561646d696e",
        rakp2: "0600ff070613000000000000000048001100000044332211808182838485868788898a8b8c8d8e8f404142434445464748494a4b4c4d4e4f5c5596010e7423fd836ec5b20f2953962ce6325dc0a8264963cf5d81a4ab5575",
        rakp3: "0600ff0706140000000000000000280012000000887766552c0eaabd43b4f3d5e622e2f38bbb9195edc02021c662ee5adb67d36818e8d831",
        rakp4: "0600ff0706150000000000000000180012000000443322119b1edf7db6458e2a9ff56e5f580f4d6c",
        request: "0600ff0706c088776655010000002000a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a517237d03d59b29fc6207bea9ca121b87ffff020779eecb16a3e8c9dc10e68836c1b6d530",
        response: "0600ff0706c0443322110100000030005a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa938ed0dc1f5a8e4b218048f0fa3cbaae237ff529d24f86ecdb1dcacf5505f48ffff020703cfa446823142fb03ff2444b8fe44fc",
    },
];

fn begin(vector: &Vector, password: &str) -> Handshake {
    let nonce = std::array::from_fn(|index| u8::try_from(index).unwrap());
    let random = Randomness { session_id: 0x1122_3344, nonce, tag: 0x10 };
    Handshake::new(Login::new("admin", password).unwrap(), vector.suite, random)
}

fn establish(vector: &Vector) -> Session {
    let mut handshake = begin(vector, PASSWORD);
    for (sent, received) in [(vector.open_request, vector.open_response), (vector.rakp1, vector.rakp2)] {
        assert_eq!(hex(handshake.datagram()), sent);
        assert!(matches!(handshake.receive(&unhex(received)), Progress::Next));
        // The same answer again, as after a retransmission, changes nothing.
        assert!(matches!(handshake.receive(&unhex(received)), Progress::Ignored));
    }
    assert_eq!(hex(handshake.datagram()), vector.rakp3);
    match handshake.receive(&unhex(vector.rakp4)) {
        Progress::Established(session) => *session,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_command_in_each_suite() {
    for vector in &VECTORS {
        let mut session = establish(vector);
        let sequence = session.next_request();
        let message = encode_request(GetDeviceId::NETWORK_FUNCTION, GetDeviceId::NUMBER, sequence, &[]);
        assert_eq!(hex(&session.seal(&message, [0xa5; 16])), vector.request);
        let answer = session.open(&unhex(vector.response)).unwrap();
        let response = decode_response(&answer).unwrap();
        assert_eq!(response.sequence, sequence);
        let id = GetDeviceId::parse(response.data).unwrap();
        assert_eq!((id.manufacturer, id.product, id.firmware_major, id.firmware_minor), (0x1c4c, 0x3242, 3, 45));
    }
}

#[test]
fn a_wrong_password_is_noticed_at_once_and_the_bmc_told() {
    for vector in &VECTORS {
        let mut handshake = begin(vector, "another");
        handshake.receive(&unhex(vector.open_response));
        match handshake.receive(&unhex(vector.rakp2)) {
            Progress::Failed { error: IpmiError::AuthenticationRejected { .. }, farewell: Some(farewell) } => {
                // RAKP message 3 with status 0x0f, "invalid integrity check value", and no code.
                assert_eq!(hex(&farewell), "0600ff070614000000000000000008001".to_owned() + "20f000088776655");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn refusals_say_what_was_refused() {
    let [vector, _] = &VECTORS;
    // A refusal of RAKP message 1 or 3: tag, status, two reserved bytes, session id.
    let refuse = |kind: u8, tag: u8, status: u8| {
        let mut datagram = vec![6, 0, 0xff, 7, 6, kind, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0];
        datagram.extend([tag, status, 0, 0, 0x44, 0x33, 0x22, 0x11]);
        datagram
    };
    let mut handshake = begin(vector, PASSWORD);
    assert!(matches!(handshake.receive(&refuse(0x11, 0x0f, 0x11)), Progress::Ignored), "another request's tag");
    assert!(matches!(handshake.receive(&refuse(0x11, 0x10, 0x11)), Progress::SuiteRefused));

    for (status, expected) in [
        (0x0d, "user name or password refused: the bmc knows no such user, or has no password for it"),
        (0x09, "the user may not have administrator privilege: unauthorized role or privilege level requested (0x09)"),
        (0x01, "session refused at rakp message 1: insufficient resources to create a session (0x01)"),
    ] {
        let mut handshake = begin(vector, PASSWORD);
        handshake.receive(&unhex(vector.open_response));
        match handshake.receive(&refuse(0x13, 0x11, status)) {
            Progress::Failed { error, .. } => assert_eq!(error.to_string(), expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_downgraded_answer_is_refused() {
    let [sha1, sha256] = &VECTORS;
    let mut handshake = begin(sha256, PASSWORD);
    assert!(matches!(handshake.receive(&unhex(sha1.open_response)), Progress::SuiteRefused));
}

proptest::proptest! {
    #[test]
    fn no_datagram_makes_a_handshake_panic(datagrams: Vec<Vec<u8>>) {
        let [vector, _] = &VECTORS;
        let mut handshake = begin(vector, PASSWORD);
        for (datagram, honest) in datagrams.iter().zip([vector.open_response, vector.rakp2, vector.rakp4].iter().cycle()) {
            handshake.receive(datagram);
            let mut bent = unhex(honest);
            for (to, from) in bent.iter_mut().skip(16).zip(datagram) {
                *to ^= from;
            }
            handshake.receive(&bent);
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
