use super::super::fixture::{
    BOOT, DISCOVER, HTTP, INFORM, IPXE, LEASE, MAC, Memory, PXE, REQUEST, SERVER, ask, config, engine, file_of,
    relayed, request,
};
use super::super::packet::MessageType::{Ack, Nak, Offer};
use super::*;
use crate::config::Config;
use crate::directory::BootTarget;
use crate::trace::Answer;

const RAMDISK: BootTarget = BootTarget::Ramdisk { boot_id: BOOT };
const SCRIPT: &str = "http://10.77.0.1:8080/b/00000000000000000000000000000007/boot.ipxe";

/// The kind of the answer, or why there is none.
async fn kind_of(config: Config, target: BootTarget, request: &Packet) -> Result<MessageType, String> {
    let memory = Memory::with_lease(target);
    let engine = engine(config, memory.clone());
    match ask(&engine, request).await {
        Some((packet, _)) => Ok(packet.message_type().unwrap()),
        None if memory.told.lock().unwrap().is_empty() => Err("not looked at".into()),
        None => Err(memory.last().why.unwrap_or_default().into_owned()),
    }
}

/// The client's options, the host's target, and the boot file or the reason for silence.
type Case<'a> = (&'a [(u8, &'a [u8])], BootTarget, Result<&'a str, &'a str>);

#[tokio::test]
async fn who_is_sent_where() {
    let local = "http://10.77.0.1:8080/local.ipxe";
    let hold = "http://10.77.0.1:8080/hold.ipxe";
    let by_http = "http://10.77.0.1:8080/ipxe.efi";
    let absent = "http://10.77.0.1:8080/boot-from-disk.efi";
    let discover = BootTarget::Discover { boot_id: BOOT };
    let arch = |value: &'static [u8]| (93, value);
    let cases: &[Case<'_>] = &[
        // UEFI PXE
        (&[PXE, arch(&[0, 7])], RAMDISK, Ok("ipxe.efi")),
        (&[PXE, arch(&[0, 9])], RAMDISK, Ok("ipxe.efi")),
        (&[PXE, arch(&[0, 6, 0, 7])], RAMDISK, Ok("ipxe.efi")),
        (&[PXE], RAMDISK, Ok("ipxe.efi")),
        (&[PXE, arch(&[0, 7])], discover.clone(), Ok("ipxe.efi")),
        (&[PXE, arch(&[0, 7])], BootTarget::LocalDisk, Ok("boot-from-disk")),
        (&[PXE, arch(&[0, 7])], BootTarget::PowerOff, Ok("ipxe.efi")),
        (&[PXE, arch(&[0, 7])], BootTarget::Nothing, Err("nothing to boot")),
        (&[PXE, arch(&[0, 6])], RAMDISK, Err("no PXE boot program for this architecture")),
        (&[PXE, arch(&[0, 6])], BootTarget::LocalDisk, Ok("boot-from-disk")),
        // BIOS
        (&[(60, b"PXEClient:Arch:00000:UNDI:002001"), arch(&[0, 0])], RAMDISK, Ok("undionly.kpxe")),
        (&[(60, b"PXEClient")], RAMDISK, Ok("undionly.kpxe")),
        // UEFI HTTP
        (&[HTTP, arch(&[0, 16])], RAMDISK, Ok(by_http)),
        (&[HTTP], RAMDISK, Ok(by_http)),
        (&[HTTP, arch(&[0, 16])], BootTarget::LocalDisk, Ok(absent)),
        (&[HTTP, arch(&[0, 16])], BootTarget::PowerOff, Ok(by_http)),
        (&[HTTP, arch(&[0, 15])], RAMDISK, Err("no HTTP boot program for this architecture")),
        (&[HTTP, arch(&[0, 18])], RAMDISK, Err("no HTTP boot program for this architecture")),
        // iPXE, by its own option and by its user class
        (&[PXE, arch(&[0, 7]), IPXE], RAMDISK, Ok(SCRIPT)),
        (&[PXE, arch(&[0, 7]), IPXE], discover, Ok(SCRIPT)),
        (&[PXE, arch(&[0, 7]), (77, b"iPXE")], RAMDISK, Ok(SCRIPT)),
        (&[PXE, arch(&[0, 0]), (77, b"\x04iPXE")], RAMDISK, Ok(SCRIPT)),
        (&[PXE, arch(&[0, 7]), IPXE], BootTarget::LocalDisk, Ok(local)),
        (&[PXE, arch(&[0, 7]), IPXE], BootTarget::PowerOff, Ok(hold)),
        (&[PXE, arch(&[0, 7]), IPXE], BootTarget::Nothing, Err("nothing to boot")),
        // An operating system, whatever its vendor class and the host's target
        (&[(60, b"MSFT 5.0")], BootTarget::Nothing, Ok("")),
        (&[(60, b"d-i")], RAMDISK, Ok("")),
        (&[(60, b"anything"), arch(&[0, 7])], BootTarget::Nothing, Ok("")),
        (&[], BootTarget::PowerOff, Ok("")),
    ];
    for (client, target, expected) in cases {
        let memory = Memory::with_lease(target.clone());
        let answer = ask(&engine(config(), memory.clone()), &request(&[&[DISCOVER], *client].concat())).await;
        let told = memory.last();
        let got = match &answer {
            Some((packet, _)) => {
                let named = file_of(packet);
                assert_eq!(packet.siaddr.is_unspecified(), named.is_empty());
                assert!(
                    matches!(&told.answer, Answer::Offered { boot_file, .. } if boot_file.clone().unwrap_or_default() == named)
                );
                Ok(named)
            }
            None => Err(told.why.unwrap_or_default().into_owned()),
        };
        assert_eq!(got, expected.map(str::to_owned).map_err(str::to_owned), "{client:?} {target:?}");
    }
}

/// C144: each architecture has its program, and iPXE always gets its script, never the program again.
#[tokio::test]
async fn c144_c146_architectures_are_told_by_option_93_and_ipxe_gets_its_script() {
    for (arch, program) in [
        (&[0, 7][..], Some("ipxe.efi")),
        (&[0, 9], Some("ipxe.efi")),
        (&[0, 6], None),
        (&[0, 0], Some("undionly.kpxe")),
    ] {
        let engine = engine(config(), Memory::with_lease(RAMDISK));
        let first = ask(&engine, &request(&[DISCOVER, (60, b"PXEClient"), (93, arch)])).await;
        assert_eq!(first.map(|(packet, _)| file_of(&packet)).as_deref(), program, "{arch:?}");
        if program.is_some() {
            let second = ask(&engine, &request(&[DISCOVER, (60, b"PXEClient"), (93, arch), (77, b"iPXE")])).await;
            assert_eq!(file_of(&second.unwrap().0), SCRIPT, "{arch:?}");
        }
    }
    // C146: the class names no architecture; without option 93 it is BIOS.
    for (options, arch) in [(&[(93, &[0, 7][..])][..], "uefi-x64"), (&[], "bios")] {
        let memory = Memory::with_lease(RAMDISK);
        let asked = request(&[&[DISCOVER, (60, b"PXEClient"), (77, b"iPXE")], options].concat());
        ask(&engine(config(), memory.clone()), &asked).await.unwrap();
        assert_eq!(memory.last().arch().unwrap().to_string(), arch);
    }
}

#[tokio::test]
async fn requests_by_state_of_the_client() {
    let (ours, pool, foreign) = ([10, 77, 0, 160], [10, 77, 0, 150], [192, 168, 1, 5]);
    let (server, other) = ([10, 77, 0, 1], [10, 77, 0, 2]);
    let renewing = |address: [u8; 4]| {
        let mut renewing = request(&[REQUEST]);
        renewing.ciaddr = address.into();
        renewing
    };
    let mut reply = request(&[DISCOVER]);
    reply.op = 2;
    let mut looping = relayed([10, 77, 1, 1].into(), request(&[DISCOVER]));
    looping.hops = 17;
    let foreign_lease = Err("the client's address is another server's");
    for (what, request, expected, authoritative) in [
        ("selecting us", request(&[REQUEST, (54, &server), (50, &ours)]), Ok(Ack), Ok(Ack)),
        ("selecting us, wrong address", request(&[REQUEST, (54, &server), (50, &foreign)]), Ok(Nak), Ok(Nak)),
        (
            "selecting us, no address",
            request(&[REQUEST, (54, &server)]),
            Err("a request without an address"),
            Err("a request without an address"),
        ),
        // C157
        (
            "selecting another",
            request(&[REQUEST, (54, &other), (50, &pool)]),
            Err("not looked at"),
            Err("not looked at"),
        ),
        ("rebooting", request(&[REQUEST, (50, &ours)]), Ok(Ack), Ok(Ack)),
        ("rebooting, wrong in our pool", request(&[REQUEST, (50, &pool)]), Ok(Nak), Ok(Nak)),
        ("rebooting, of another network", request(&[REQUEST, (50, &foreign)]), foreign_lease, Ok(Nak)),
        ("rebooting, of our subnet, not our pool", request(&[REQUEST, (50, &[10, 77, 0, 9])]), foreign_lease, Ok(Nak)),
        ("renewing", renewing(ours), Ok(Ack), Ok(Ack)),
        ("renewing, wrong in our pool", renewing(pool), Ok(Nak), Ok(Nak)),
        ("renewing, another server's lease", renewing(foreign), foreign_lease, Ok(Nak)),
        ("no address", request(&[REQUEST]), Err("a request without an address"), Err("a request without an address")),
        ("inform", request(&[INFORM]), Ok(Ack), Ok(Ack)),
        ("relayed", relayed([10, 77, 1, 1].into(), request(&[DISCOVER])), Ok(Offer), Ok(Offer)),
        ("a reply", reply, Err("not looked at"), Err("not looked at")),
        ("a loop of relays", looping, Err("not looked at"), Err("not looked at")),
        ("an offer", request(&[(53, &[2])]), Err("not looked at"), Err("not looked at")),
        ("bootp", request(&[]), Err("not looked at"), Err("not looked at")),
        ("unknown type", request(&[(53, &[99])]), Err("not looked at"), Err("not looked at")),
    ] {
        let expected = expected.map_err(str::to_owned);
        assert_eq!(kind_of(config(), BootTarget::LocalDisk, &request).await, expected, "{what}");
        let mut config = config();
        config.subnets[0].authoritative = true;
        let authoritative = authoritative.map_err(str::to_owned);
        assert_eq!(kind_of(config, BootTarget::LocalDisk, &request).await, authoritative, "{what}, authoritative");
    }
}

#[tokio::test]
async fn an_inform_gets_no_address() {
    let engine = engine(config(), Memory::with_lease(BootTarget::LocalDisk));
    let (packet, _) = ask(&engine, &request(&[INFORM])).await.unwrap();
    assert!(packet.yiaddr.is_unspecified());
    assert!(!packet.options.has(51) && !packet.options.has(58) && !packet.options.has(59));
    assert!(packet.options.has(code::SUBNET_MASK));
}

#[tokio::test]
async fn a_relay_agent_may_stand_in_as_the_server() {
    let engine = engine(config(), Memory::with_lease(BootTarget::LocalDisk));
    let agent = Ipv4Addr::new(10, 77, 1, 1);
    let information = [11, 4, 10, 77, 1, 1];
    let (offer, _) = ask(&engine, &relayed(agent, request(&[DISCOVER, (82, &information)]))).await.unwrap();
    assert_eq!(offer.options.address(54), Some(agent), "RFC 5107");
    let selecting = |server: Ipv4Addr| {
        let server = server.octets();
        relayed(agent, request(&[REQUEST, (54, &server), (50, &[10, 77, 1, 160]), (82, &information)]))
    };
    for (named, expected) in [(agent, Some(Ack)), (SERVER, Some(Ack)), ([10, 77, 1, 2].into(), None)] {
        let answer = ask(&engine, &selecting(named)).await.map(|(packet, _)| packet.message_type().unwrap());
        assert_eq!(answer, expected, "{named}");
    }
}

#[tokio::test]
async fn a_refusal_through_a_relay_is_broadcast_there() {
    let engine = engine(config(), Memory::with_lease(BootTarget::LocalDisk));
    let asked = relayed([10, 77, 1, 1].into(), request(&[REQUEST, (50, &[10, 77, 1, 150])]));
    let (nak, to) = ask(&engine, &asked).await.unwrap();
    assert_eq!((nak.message_type(), nak.wants_broadcast()), (Some(Nak), true));
    assert_eq!(to, Destination::Address("10.77.1.1:67".parse().unwrap()));
    assert!(nak.yiaddr.is_unspecified() && !nak.options.has(51));
    let (nak, to) = ask(&engine, &request(&[REQUEST, (50, &[10, 77, 0, 150])])).await.unwrap();
    assert_eq!((nak.wants_broadcast(), to), (false, Destination::Broadcast));
}

#[tokio::test]
async fn ipxe_is_told_not_to_wait_and_http_firmware_hears_its_class() {
    let engine = engine(config(), Memory::with_lease(RAMDISK));
    let (packet, _) = ask(&engine, &request(&[DISCOVER, PXE, IPXE, (93, &[0, 7])])).await.unwrap();
    assert_eq!(packet.options.get(175).unwrap().as_ref(), [0xb0, 1, 1]);
    assert!(!packet.options.has(60));
    let (packet, _) = ask(&engine, &request(&[DISCOVER, HTTP, (93, &[0, 16])])).await.unwrap();
    assert_eq!(packet.options.get(60).unwrap().as_ref(), b"HTTPClient");
}

#[test]
fn states_have_names() {
    let named = |packet: Packet| {
        let kind = packet.message_type().unwrap();
        Request { packet, kind, mac: MAC, phase: Phase::System, agent: None }.asked()
    };
    let mut renewing = request(&[REQUEST]);
    renewing.ciaddr = LEASE;
    for (packet, name) in [
        (request(&[DISCOVER]), "discover"),
        (request(&[REQUEST, (54, &[10, 77, 0, 1]), (50, &[10, 77, 0, 160])]), "request (selecting)"),
        (request(&[REQUEST, (50, &[10, 77, 0, 160])]), "request (rebooting)"),
        (renewing, "request (renewing)"),
        (request(&[REQUEST]), "request"),
    ] {
        assert_eq!(named(packet), name);
    }
}
