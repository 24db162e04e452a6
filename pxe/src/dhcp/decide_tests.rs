use super::super::client::identify;
use super::*;
use crate::identity::BootId;
use crate::pool::Pool;

const MAC: [u8; 6] = [0x52, 0x54, 0, 0, 0, 1];
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const LEASE: Lease = Lease { address: Ipv4Addr::new(10, 77, 0, 160) };
const RAMDISK: BootTarget = BootTarget::Ramdisk { boot_id: BootId(7) };
const SCRIPT: &str = "http://10.77.0.1:8080/b/00000000000000000000000000000007/boot.ipxe";

fn subnet() -> Subnet {
    let pool = Pool::new(Ipv4Addr::new(10, 77, 0, 100), Ipv4Addr::new(10, 77, 0, 200)).unwrap();
    let config = config::Subnet {
        pool: Some(pool),
        router: Some(SERVER),
        dns: vec![SERVER],
        lease_time: Duration::from_secs(600),
        ..config::Subnet::new("10.77.0.0/24".parse().unwrap(), config::Reach::OnLink("br0".into()))
    };
    Subnet { server: SERVER, config, has_undionly: true }
}

fn request(options: &[(u8, &[u8])]) -> Packet {
    let mut bytes = vec![0; 240];
    bytes[..4].copy_from_slice(&[1, 1, 6, 0]);
    bytes[4..8].copy_from_slice(&0xcafe_0001u32.to_be_bytes());
    bytes[28..34].copy_from_slice(&MAC);
    bytes[236..].copy_from_slice(&[99, 130, 83, 99]);
    for (code, value) in options {
        bytes.extend_from_slice(&[*code, u8::try_from(value.len()).unwrap()]);
        bytes.extend_from_slice(value);
    }
    Packet::decode(&bytes).unwrap()
}

fn answer_to(request: &Packet, target: BootTarget) -> Decision {
    if let Some(why) = not_for_us(request, SERVER) {
        return Decision::Silent(why);
    }
    let program = super::super::client::phase(request);
    let arch = identify(request, request.mac().unwrap(), "br0".into()).arch;
    let target = (program != Phase::System).then_some(target);
    decide(
        request,
        program,
        arch,
        LEASE,
        target,
        &subnet(),
        &Urls::http(std::net::SocketAddrV4::new([10, 77, 0, 1].into(), 8080)),
    )
}

fn kind_of(decision: &Decision) -> Result<MessageType, &'static str> {
    match decision {
        Decision::Reply { kind, packet, .. } => {
            assert_eq!(packet.message_type(), Some(*kind));
            Ok(*kind)
        }
        Decision::Silent(why) => Err(why),
    }
}

const DISCOVER: (u8, &[u8]) = (53, &[1]);
const REQUEST: (u8, &[u8]) = (53, &[3]);
const PXE: (u8, &[u8]) = (60, b"PXEClient:Arch:00007:UNDI:003001");
const HTTP: (u8, &[u8]) = (60, b"HTTPClient:Arch:00016:UNDI:003001");
const IPXE: (u8, &[u8]) = (175, &[1, 1, 1]);

/// The client's options, the host's target, and the boot file or the reason for silence.
type Case<'a> = (&'a [(u8, &'a [u8])], BootTarget, Result<Option<&'a str>, &'a str>);

#[test]
fn who_is_sent_where() {
    let local = "http://10.77.0.1:8080/local.ipxe";
    let hold = "http://10.77.0.1:8080/hold.ipxe";
    let by_http = "http://10.77.0.1:8080/ipxe.efi";
    let absent = "http://10.77.0.1:8080/boot-from-disk.efi";
    let arch = |value: &'static [u8]| (93, value);
    let cases: &[Case<'_>] = &[
        // UEFI PXE
        (&[PXE, arch(&[0, 7])], RAMDISK, Ok(Some("ipxe.efi"))),
        (&[PXE, arch(&[0, 9])], RAMDISK, Ok(Some("ipxe.efi"))),
        (&[PXE], RAMDISK, Ok(Some("ipxe.efi"))),
        (&[PXE, arch(&[0, 7])], BootTarget::LocalDisk, Ok(Some("boot-from-disk"))),
        (&[PXE, arch(&[0, 7])], BootTarget::PowerOff, Ok(Some("ipxe.efi"))),
        (&[PXE, arch(&[0, 7])], BootTarget::Nothing, Err("nothing to boot")),
        (&[PXE, arch(&[0, 11])], RAMDISK, Err("no boot program for this architecture")),
        (&[PXE, arch(&[0, 11])], BootTarget::LocalDisk, Ok(None)),
        // BIOS
        (&[(60, b"PXEClient:Arch:00000:UNDI:002001"), arch(&[0, 0])], RAMDISK, Ok(Some("undionly.kpxe"))),
        (&[(60, b"PXEClient")], RAMDISK, Ok(Some("undionly.kpxe"))),
        // UEFI HTTP
        (&[HTTP, arch(&[0, 16])], RAMDISK, Ok(Some(by_http))),
        (&[HTTP, arch(&[0, 16])], BootTarget::LocalDisk, Ok(Some(absent))),
        (&[HTTP, arch(&[0, 16])], BootTarget::PowerOff, Ok(Some(by_http))),
        (&[HTTP, arch(&[0, 15])], RAMDISK, Err("no boot program for this architecture")),
        // iPXE, by its own option and by its user class
        (&[PXE, arch(&[0, 7]), IPXE], RAMDISK, Ok(Some(SCRIPT))),
        (&[PXE, arch(&[0, 7]), (77, b"iPXE")], RAMDISK, Ok(Some(SCRIPT))),
        (&[PXE, arch(&[0, 0]), (77, b"\x04iPXE")], RAMDISK, Ok(Some(SCRIPT))),
        (&[PXE, arch(&[0, 7]), IPXE], BootTarget::LocalDisk, Ok(Some(local))),
        (&[PXE, arch(&[0, 7]), IPXE], BootTarget::PowerOff, Ok(Some(hold))),
        (&[PXE, arch(&[0, 7]), IPXE], BootTarget::Nothing, Err("nothing to boot")),
        // An operating system, whatever its vendor class and the host's target
        (&[(60, b"MSFT 5.0")], BootTarget::Nothing, Ok(None)),
        (&[(60, b"d-i")], RAMDISK, Ok(None)),
        (&[], BootTarget::PowerOff, Ok(None)),
    ];
    for (client, target, expected) in cases {
        let decision = answer_to(&request(&[&[DISCOVER], *client].concat()), target.clone());
        let got = match &decision {
            Decision::Reply { packet, boot_file, .. } => {
                let named = boot_file.as_deref().unwrap_or_default();
                let field = packet.file.split(|octet| *octet == 0).next().unwrap();
                assert_eq!(field, named.as_bytes());
                assert_eq!(packet.siaddr.is_unspecified(), boot_file.is_none());
                Ok(boot_file.as_deref())
            }
            Decision::Silent(why) => Err(*why),
        };
        assert_eq!(got, *expected, "{client:?} {target:?}");
    }
}

#[test]
fn requests_by_state_of_the_client() {
    let (ours, pool, foreign) = ([10, 77, 0, 160], [10, 77, 0, 150], [192, 168, 1, 5]);
    let (server, other) = ([10, 77, 0, 1], [10, 77, 0, 2]);
    let mut renewing = request(&[REQUEST]);
    renewing.ciaddr = ours.into();
    let mut renewing_wrong = request(&[REQUEST]);
    renewing_wrong.ciaddr = pool.into();
    let mut renewing_foreign = request(&[REQUEST]);
    renewing_foreign.ciaddr = foreign.into();
    let mut relayed = request(&[DISCOVER]);
    relayed.giaddr = [10, 1, 0, 1].into();
    let mut reply = request(&[DISCOVER]);
    reply.op = 2;
    for (what, request, expected) in [
        ("selecting us", request(&[REQUEST, (54, &server), (50, &ours)]), Ok(MessageType::Ack)),
        ("selecting us, wrong address", request(&[REQUEST, (54, &server), (50, &foreign)]), Ok(MessageType::Nak)),
        ("selecting another", request(&[REQUEST, (54, &other), (50, &pool)]), Err("the client chose another server")),
        ("rebooting", request(&[REQUEST, (50, &ours)]), Ok(MessageType::Ack)),
        ("rebooting, wrong in our pool", request(&[REQUEST, (50, &pool)]), Ok(MessageType::Nak)),
        (
            "rebooting, another server's lease",
            request(&[REQUEST, (50, &foreign)]),
            Err("the client's address is another server's"),
        ),
        ("renewing", renewing, Ok(MessageType::Ack)),
        ("renewing, wrong in our pool", renewing_wrong, Ok(MessageType::Nak)),
        ("renewing, another server's lease", renewing_foreign, Err("the client's address is another server's")),
        ("no address", request(&[REQUEST]), Err("a request without an address")),
        ("inform", request(&[(53, &[8])]), Ok(MessageType::Ack)),
        ("relayed", relayed, Err("relayed requests are not served")),
        ("a reply", reply, Err("not a request")),
        ("an offer", request(&[(53, &[2])]), Err("a server's message sent as a request")),
        ("bootp", request(&[]), Err("no known message type")),
        ("unknown type", request(&[(53, &[99])]), Err("no known message type")),
    ] {
        assert_eq!(kind_of(&answer_to(&request, BootTarget::LocalDisk)), expected, "{what}");
    }
}

#[test]
fn an_inform_gets_no_address() {
    let Decision::Reply { packet, .. } = answer_to(&request(&[(53, &[8])]), BootTarget::LocalDisk) else { panic!() };
    assert!(packet.yiaddr.is_unspecified());
    assert!(!packet.options.has(code::LEASE_TIME));
    assert!(packet.options.has(code::SUBNET_MASK));
}

#[test]
fn boot_names_that_do_not_fit_go_into_the_option() {
    let mut packet = Packet::reply_to(&request(&[DISCOVER]));
    let long = "x".repeat(128);
    name_boot_file(&mut packet, &request(&[DISCOVER]), &long, &subnet());
    assert_eq!(packet.file, [0; 128]);
    assert_eq!(packet.options.get(67).unwrap().as_ref(), long.as_bytes());
    let mut packet = Packet::reply_to(&request(&[DISCOVER]));
    name_boot_file(&mut packet, &request(&[DISCOVER, (55, &[1, 67])]), "short", &subnet());
    assert!(packet.file.starts_with(b"short\0"));
    assert_eq!(packet.options.get(67).unwrap().as_ref(), b"short");
}

/// The offer that OVMF's PXE client took (`tests/firmware.rs`), octet by octet.
#[test]
fn the_offer_to_uefi_firmware_is_exactly_this() {
    let uuid: Vec<u8> = (0..17).collect();
    let asked = request(&[DISCOVER, PXE, (93, &[0, 7]), (97, &uuid), (61, &[1, 0x52, 0x54, 0, 0, 0, 1])]);
    let Decision::Reply { packet, .. } = answer_to(&asked, RAMDISK) else { panic!() };
    let bytes = packet.encode();
    let hex =
        |range: std::ops::Range<usize>| bytes[range].iter().map(|octet| format!("{octet:02x}")).collect::<String>();
    assert_eq!(
        hex(0..44),
        concat!(
            "02010600",
            "cafe0001",
            "00000000",
            "00000000",
            "0a4d00a0",
            "0a4d0001",
            "00000000",
            "52540000000100000000000000000000",
        )
    );
    assert!(bytes[44..108].iter().all(|octet| *octet == 0));
    assert_eq!(hex(108..117), "697078652e65666900");
    assert!(bytes[117..236].iter().all(|octet| *octet == 0));
    assert_eq!(
        hex(236..bytes.len()),
        concat!(
            "63825363",
            "350102",
            "36040a4d0001",
            "330400000258",
            "3a040000012c",
            "3b040000020d",
            "0104ffffff00",
            "03040a4d0001",
            "06040a4d0001",
            "3c09505845436c69656e74",
            "2b04060108ff",
            "3d0701525400000001",
            "6111000102030405060708090a0b0c0d0e0f10",
            "ff",
        )
    );
}

#[test]
fn ipxe_is_told_not_to_wait_and_http_firmware_hears_its_class() {
    let Decision::Reply { packet, .. } = answer_to(&request(&[DISCOVER, PXE, IPXE, (93, &[0, 7])]), RAMDISK) else {
        panic!()
    };
    assert_eq!(packet.options.get(175).unwrap().as_ref(), [0xb0, 1, 1]);
    assert!(!packet.options.has(60));
    let Decision::Reply { packet, .. } = answer_to(&request(&[DISCOVER, HTTP, (93, &[0, 16])]), RAMDISK) else {
        panic!()
    };
    assert_eq!(packet.options.get(60).unwrap().as_ref(), b"HTTPClient");
}
