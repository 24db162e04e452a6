//! Conversations by the octet. Golden files hold what is heard (`>`) and answered (`<`); the server's own DUID stands in
//! them as `0004 000102…0f`.

use std::net::Ipv4Addr;
use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::config::{Config, PoolV6Exhausted, Subnet};
use crate::directory::{HostDirectory, Lease, LeaseV6};
use crate::identity::{BootId, MacAddr};
use crate::overlay::BootFiles;

const MAC: MacAddr = MacAddr([0x52, 0x54, 0, 0, 0, 1]);
const EXHAUSTED: MacAddr = MacAddr([0x52, 0x54, 0, 0, 0, 0xee]);

/// One host, whose address is `::1:1` of whichever subnet.
struct OneHost {
    target: Mutex<BootTarget>,
    given_back: Mutex<Vec<(&'static str, IpAddr)>>,
}

#[async_trait::async_trait]
impl HostDirectory for OneHost {
    async fn boot_target(&self, _: &ClientIdentity) -> Result<BootTarget, DirectoryError> {
        Ok(self.target.lock().unwrap().clone())
    }

    async fn lease(
        &self,
        _: &ClientIdentity,
        _: &Subnet,
        _: Option<Ipv4Addr>,
    ) -> Result<Option<Lease>, DirectoryError> {
        Ok(None)
    }

    async fn lease_v6(
        &self,
        who: &ClientIdentity,
        subnet: &SubnetV6,
        iaid: u32,
        _: Option<Ipv6Addr>,
    ) -> Result<Option<LeaseV6>, DirectoryError> {
        assert_eq!(iaid, 7);
        match who.mac() {
            Some(EXHAUSTED) => Err(PoolV6Exhausted { first: subnet.network, last: subnet.network }.into()),
            Some(MAC) => Ok(Some(LeaseV6 { address: Ipv6Addr::from_bits(subnet.network.to_bits() | 0x1_0001) })),
            _ => Ok(None),
        }
    }

    async fn declined(&self, _: &ClientIdentity, address: IpAddr) -> Result<(), DirectoryError> {
        self.given_back.lock().unwrap().push(("declined", address));
        Ok(())
    }

    async fn released(&self, _: &ClientIdentity, address: IpAddr) -> Result<(), DirectoryError> {
        self.given_back.lock().unwrap().push(("released", address));
        Ok(())
    }

    async fn overlay(&self, _: &BootId) -> Result<BootFiles, DirectoryError> {
        Ok(BootFiles::Unknown)
    }
}

fn server(host: Arc<OneHost>) -> Server {
    let subnet = |network: &str| SubnetV6 {
        network: network.parse().unwrap(),
        prefix: 64,
        pool: None,
        dns: vec!["fd77::1".parse().unwrap()],
        valid: Duration::from_secs(3600),
    };
    let subnets = vec![subnet("fd77::"), subnet("fd78::")];
    let address: Ipv6Addr = "fd77::1".parse().unwrap();
    Server {
        socket: Socket::unused(),
        interface: "br0".into(),
        on_link: subnets.first().cloned(),
        subnets,
        duid: [vec![0, 4], (0..16).collect()].concat(),
        address,
        programs: Programs::new(&Config::default(), (address, 8080)),
        observer: Observer::new(host, &Config::default()),
        sources: Sources::new(),
    }
}

/// As clients and relay agents send.
fn to_the_group(peer: &str) -> Arrival {
    Arrival { peer: SocketAddrV6::new(peer.parse().unwrap(), CLIENT_PORT, 0, 4), multicast: true }
}

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

async fn play(name: &str) -> Arc<OneHost> {
    let host = Arc::new(OneHost { target: Mutex::new(BootTarget::Nothing), given_back: Mutex::default() });
    let server = server(host.clone());
    let path = format!("{}/tests/golden/dhcp6-{name}.hex", env!("CARGO_MANIFEST_DIR"));
    let mut answer = None;
    for line in std::fs::read_to_string(&path).unwrap().lines() {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("#", _) => {}
            ("target", target) => {
                *host.target.lock().unwrap() = match target {
                    "ramdisk" => BootTarget::Ramdisk { boot_id: BootId(7) },
                    "disk" => BootTarget::LocalDisk,
                    "discover" => BootTarget::Discover { boot_id: BootId(7) },
                    _ => BootTarget::Nothing,
                }
            }
            (">", heard) => {
                let peer = to_the_group("fe80::77");
                answer = match server.read(&octets(heard), peer) {
                    None => None,
                    Some(envelope) => {
                        let (.., done) = server.respond(&envelope, peer).await;
                        done.reply.map(|reply| envelope.wrap(&reply))
                    }
                };
            }
            ("<", expected) => {
                let answer = answer.take().unwrap_or_default();
                assert_eq!(hex(&answer), hex(&octets(expected)), "{name}: {line}");
            }
            ("silent", _) => assert_eq!(answer.take(), None, "{name}: not silent"),
            _ => panic!("{name}: what is `{line}`?"),
        }
        let asks = line.starts_with(['>', '#']);
        assert!(asks || answer.is_none(), "{name}: an answer that is not in the file, before `{line}`");
    }
    host
}

#[tokio::test]
async fn conversations_are_exact_to_the_octet() {
    for name in ["http-firmware", "pxe-firmware", "ipxe", "information", "silence", "relay"] {
        play(name).await;
    }
    let host = play("system").await;
    let address = "fd77::1:1".parse().unwrap();
    assert_eq!(*host.given_back.lock().unwrap(), [("released", address), ("declined", address)]);
}

#[tokio::test]
async fn a_second_association_gets_no_address() {
    let host = Arc::new(OneHost { target: Mutex::new(BootTarget::LocalDisk), given_back: Mutex::default() });
    let server = server(host);
    let peer = to_the_group("fe80::77");
    let solicit =
        "01cafe01 0001000a 00030001 525400000001 0003000c 00000007 0000000000000000 0003000c 00000008 0000000000000000";
    let envelope = server.read(&octets(solicit), peer).unwrap();
    let (.., done) = server.respond(&envelope, peer).await;
    let reply = done.reply.unwrap();
    let associations: Vec<_> = reply.options.all(code::IA_NA).collect();
    assert_eq!(associations.len(), 2);
    assert_eq!(Association::decode(associations[0]).unwrap().addresses, ["fd77::1:1".parse::<Ipv6Addr>().unwrap()]);
    // IAID 8, no times, status 2.
    assert_eq!(associations[1][..18], octets("00000008 0000000000000000 000d0014 0002")[..]);
}

/// RFC 8415, section 16, and 18.3.2 and the like for those that name this server.
#[tokio::test]
async fn what_a_client_sends_to_the_servers_own_address_is_ignored_or_sent_to_the_group() {
    let host = Arc::new(OneHost { target: Mutex::new(BootTarget::LocalDisk), given_back: Mutex::default() });
    let server = server(host.clone());
    let group = to_the_group("fe80::77");
    let direct = Arrival { multicast: false, ..group };
    let client = "0001000a 00030001 525400000001";
    let ours = "00020012 0004 000102030405060708090a0b0c0d0e0f";
    let address = "0003000c 00000007 0000000000000000";
    let message =
        |kind: u8, named: &str, association: &str| octets(&format!("{kind:02x}cafe01{client}{named}{association}"));
    for (kind, named, association) in [(1, "", address), (4, "", address), (6, "", address), (11, "", "")] {
        let message = message(kind, named, association);
        assert!(server.read(&message, group).is_some(), "{kind}");
        assert!(server.read(&message, direct).is_none(), "{kind}");
        // A relay agent may.
        let header = format!("0c00{}{}0009{:04x}", "00".repeat(16), "00".repeat(16), message.len());
        assert!(server.read(&[octets(&header), message].concat(), direct).is_some(), "{kind}");
    }
    let leased = "00030028 00000007 0000000000000000 00050018 fd770000000000000000000000010001 0000000000000000";
    for kind in [3, 5, 8, 9] {
        let envelope = server.read(&message(kind, ours, leased), direct).unwrap();
        let (.., done) = server.respond(&envelope, direct).await;
        // Reply, both identities, status 5: nothing else.
        let expected = format!("07cafe01{client}{ours}000d0012 0005 {}", hex(b"ask by multicast"));
        assert_eq!(hex(&done.reply.unwrap().encode()), hex(&octets(&expected)), "{kind}");
        assert_eq!(done.answer, Answer::Refused { code: Some(5) });
    }
    assert_eq!(*host.given_back.lock().unwrap(), []);
}

#[tokio::test]
async fn a_flood_of_one_neighbour_is_counted_and_others_are_read() {
    let host = Arc::new(OneHost { target: Mutex::new(BootTarget::LocalDisk), given_back: Mutex::default() });
    let server = server(host);
    let read = |peer: &str, duid: u16, relay: &str| {
        let message =
            format!("{relay}01cafe01 0001000a 00030001 52540000{duid:04x} 0003000c 00000007 0000000000000000");
        server.read(&octets(&message), to_the_group(peer)).is_some()
    };
    // Whatever it calls itself.
    let loud = (0..1000).filter(|duid| read("fe80::77", *duid, "")).count();
    assert!((100..400).contains(&loud), "{loud}");
    let floods = server.observer.metrics.troubles_of(Protocol::Dhcp6, Trouble::Flood);
    assert_eq!(usize::try_from(floods).unwrap() + loud, 1000);
    assert!(read("fe80::78", 1, ""));
    // A relay agent speaks for many, each of which has its own rate.
    let relay = format!("0c00{}{}00090022", "00".repeat(16), "00".repeat(16));
    assert!((0..300).all(|duid| read("fe80::79", duid, &relay)));
    assert!(!(0..300).all(|_| read("fe80::79", 1, &relay)));
}

#[tokio::test]
async fn answers_go_where_they_are_listened_for() {
    let message = octets("01cafe01");
    let relayed = |options: &str| {
        let header = format!("0c00{}{}{options}00090004", "00".repeat(16), "00".repeat(16));
        [octets(&header), message.clone()].concat()
    };
    for (datagram, port) in [
        (message.clone(), CLIENT_PORT),
        (relayed(""), SERVER_PORT),
        // Relay source port (RFC 8357).
        (relayed("008700020000"), 33_333),
    ] {
        let envelope = Envelope::decode(&datagram).unwrap();
        let peer = SocketAddrV6::new("fe80::77".parse().unwrap(), 33_333, 0, 4);
        let to = destination(&envelope, peer);
        assert_eq!((to.ip(), to.port(), to.scope_id()), (peer.ip(), port, 4));
    }
}
