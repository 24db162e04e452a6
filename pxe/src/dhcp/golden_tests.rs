//! Packet-exact conversations: `tests/golden/dhcp-*.hex`, laid out field by field after RFC 2131 and its followers.
//!
//! `>` is part of a message of the client's, `<` of the answer; `00*10` stands for ten zeros and `#` begins a comment.
//! `port … from …` says where the next messages come from, `to …` where the answer must go, and `silence` that there
//! must be none.

use std::net::SocketAddrV4;

use super::engine::{Engine, Port};
use super::fixture::{BOOT, LEASE, MAC, Memory, config, engine, proxy_config};
use super::place::Destination;
use crate::directory::BootTarget;

fn octets(text: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    for word in text.split_whitespace() {
        match word.strip_prefix("00*") {
            Some(count) => octets.resize(octets.len() + count.parse::<usize>().unwrap(), 0),
            None => {
                assert!(word.len().is_multiple_of(2), "{word}");
                let pairs = (0..word.len()).step_by(2).map(|at| u8::from_str_radix(&word[at..at + 2], 16).unwrap());
                octets.extend(pairs);
            }
        }
    }
    octets
}

fn shown(to: Destination) -> String {
    match to {
        Destination::Address(to) => to.to_string(),
        Destination::Broadcast => "255.255.255.255:68".into(),
        Destination::Hardware(mac, address) => format!("{mac} {address}"),
    }
}

struct Conversation {
    engine: Engine,
    from: SocketAddrV4,
    port: Port,
    asked: Vec<u8>,
    answer: Vec<u8>,
    to: Option<String>,
}

impl Conversation {
    fn new(config: crate::config::Config) -> Self {
        let memory = Memory { only_reserved: true, ..Memory::default() };
        *memory.target.lock().unwrap() = Some(BootTarget::Ramdisk { boot_id: BOOT });
        memory.reserve(MAC, "10.77.0.0/24", LEASE);
        memory.reserve(MAC, "10.77.1.0/24", [10, 77, 1, 160].into());
        let engine = engine(config, memory.into());
        let from = "0.0.0.0:68".parse().unwrap();
        Self { engine, from, port: Port::Dhcp, asked: vec![], answer: vec![], to: None }
    }

    /// Compares the answer to what was asked with what was expected.
    async fn turn(&mut self, line: usize) {
        let asked = std::mem::take(&mut self.asked);
        if asked.is_empty() {
            return;
        }
        let answer = match self.engine.admit(&asked, self.from, self.port) {
            Some(admitted) => self.engine.answer(admitted).await.reply,
            None => None,
        };
        let (octets, to) = answer.unzip();
        let hex = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
        let octets = octets.unwrap_or_default();
        assert_eq!(hex(&octets), hex(&std::mem::take(&mut self.answer)), "before line {line}");
        assert_eq!(to.map(shown), self.to.take(), "before line {line}");
    }
}

async fn follow(text: &str) {
    let mut talk = Conversation::new(config());
    let mut answered = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap().trim();
        let mut words = line.split_whitespace();
        match words.next() {
            None => {}
            Some(">") => {
                if answered {
                    talk.turn(number).await;
                }
                answered = false;
                talk.asked.extend(octets(&line[1..]));
            }
            Some("<") => {
                answered = true;
                talk.answer.extend(octets(&line[1..]));
            }
            Some("to") => talk.to = Some(line[3..].to_owned()),
            Some("silence") => answered = true,
            Some("beside") => talk = Conversation::new(proxy_config()),
            Some("port") => {
                if answered {
                    talk.turn(number).await;
                }
                answered = false;
                talk.port = if words.next() == Some("67") { Port::Dhcp } else { Port::BootServer };
                talk.from = words.nth(1).unwrap().parse().unwrap();
            }
            Some(other) => panic!("line {number}: {other}?"),
        }
    }
    talk.turn(text.lines().count()).await;
}

macro_rules! golden {
    ($($name:ident: $file:literal),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() {
                follow(include_str!(concat!("../../tests/golden/dhcp-", $file, ".hex"))).await;
            }
        )*
    };
}

golden! {
    c144_c147_uefi_firmware_is_sent_to_ipxe_with_option_43: "uefi-pxe",
    bios_firmware_is_sent_to_its_own_ipxe: "bios-pxe",
    hp_gen9_gets_the_pxe_options_complete: "hp-gen9",
    http_firmware_hears_its_class_and_a_url: "http-boot",
    c146_ipxe_gets_the_script: "ipxe",
    c149_a_relays_option_comes_back_last: "relay",
    c157_requests_by_state: "states",
    c147_proxy_dhcp: "proxy",
}
