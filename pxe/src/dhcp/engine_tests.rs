use std::net::IpAddr;

use proptest::prelude::*;

use super::super::fixture::{
    BOOT, DISCOVER, HTTP, IPXE, LEASE, MAC, Memory, PXE, REQUEST, SERVER, ask, ask_from, config, engine, file_of, from,
    pool, proxy_config, relayed, request,
};
use super::*;
use crate::identity::MacAddr;
use crate::trace::Phase;

const RAMDISK: BootTarget = BootTarget::Ramdisk { boot_id: BOOT };

fn mac(n: u8) -> MacAddr {
    MacAddr([0x52, 0x54, 0, 0, 1, n])
}

/// U: only those whom the directory knows, whatever they say.
#[tokio::test]
async fn phones_and_laptops_get_nothing() {
    let mut memory = Memory { only_reserved: true, ..Memory::default() };
    *memory.target.get_mut().unwrap() = Some(BootTarget::Nothing);
    let memory = Arc::new(memory);
    let engine = engine(config(), memory.clone());
    for stranger in [&[(60, &b"android-dhcp-14"[..])][..], &[(60, b"MSFT 5.0")], &[], &[PXE, (93, &[0, 7])]] {
        for kind in [DISCOVER, REQUEST, (53, &[8])] {
            let asked = request(&[&[kind, (50, &[10, 77, 0, 150])], stranger].concat());
            assert_eq!(ask(&engine, &asked).await, None, "{stranger:?}");
            let told = memory.last();
            assert_eq!((told.answer, told.why.as_deref()), (Answer::Silent, Some("unknown machine")));
        }
    }
    assert_eq!(memory.writes(), 0);
}

/// Firmware, iPXE and the installed system send different client ids (coreos/bugs#1432), a system even two at once.
#[tokio::test]
async fn one_mac_has_one_address_whatever_its_client_id() {
    let memory = Memory::new(RAMDISK);
    let engine = engine(config(), memory.clone());
    let mut addresses = Vec::new();
    for options in [
        &[PXE, (93, &[0, 7][..]), (61, &[0, 1, 2, 3][..])][..],
        &[PXE, IPXE, (61, &[1, 0x52, 0x54, 0, 0, 0, 1])],
        &[(61, &[255, 9, 9, 9, 9, 0, 2, 0, 0])],
        &[],
    ] {
        let (offer, _) = ask(&engine, &request(&[&[DISCOVER], options].concat())).await.unwrap();
        let address = offer.yiaddr.octets();
        let (ack, _) = ask(&engine, &request(&[&[REQUEST, (50, &address), (54, &SERVER.octets())], options].concat()))
            .await
            .unwrap();
        assert_eq!(ack.message_type(), Some(MessageType::Ack));
        assert_eq!(ack.options.get(61), request(options).options.get(61), "RFC 6842");
        addresses.push(ack.yiaddr);
    }
    assert!(addresses.iter().all(|address| *address == addresses[0]), "{addresses:?}");
    assert_eq!(memory.writes(), 1, "written when allocated, never when renewed");
}

#[tokio::test]
async fn c166_one_mac_has_an_address_in_each_subnet() {
    let mac = MacAddr([0x00, 0x16, 0x3e, 0xdb, 0x77, 0x26]);
    let mut config = config();
    for third in [2, 3] {
        let prefix = format!("10.77.{third}.0/24").parse().unwrap();
        config
            .subnets
            .push(Subnet { pool: Some(pool(third, 100, 200)), ..Subnet::new(prefix, crate::config::Reach::Relayed) });
    }
    let memory = Memory::new(BootTarget::LocalDisk);
    for third in 0..4 {
        memory.reserve(mac, &format!("10.77.{third}.0/24"), [10, 77, third, 50].into());
    }
    let engine = engine(config, memory);
    for third in 0..4 {
        let plain = from(mac, request(&[DISCOVER]));
        let asked = if third == 0 { plain } else { relayed([10, 77, third, 1].into(), plain) };
        let (offer, _) = ask(&engine, &asked).await.unwrap();
        assert_eq!(offer.yiaddr, Ipv4Addr::new(10, 77, third, 50));
        assert_eq!(offer.options.address(1), Some([255, 255, 255, 0].into()));
    }
}

#[tokio::test]
async fn an_exhausted_pool_is_explained_and_nothing_grows() {
    let mut config = config();
    config.subnets[0].pool = Some(pool(0, 100, 101));
    let memory = Memory::new(BootTarget::LocalDisk);
    let engine = engine(config, memory.clone());
    for n in 0..20 {
        let answer = ask(&engine, &from(mac(n), request(&[DISCOVER]))).await;
        assert_eq!(answer.is_some(), n < 2, "{n}");
    }
    let told = memory.last();
    assert_eq!(told.answer, Answer::Failed);
    assert_eq!(
        told.why.as_deref(),
        Some(
            "no free address for 52:54:00:00:01:13 in the pool 10.77.0.100-10.77.0.101: widen the pool or delete \
              leases of machines that are gone"
        )
    );
    assert_eq!(engine.observer().metrics.troubles_of(Protocol::Dhcp4, Trouble::PoolExhausted), 18);
    assert_eq!(memory.leases().len(), 2);
}

/// RFC 2131, section 4.3.5: its address is its own.
#[tokio::test]
async fn a_machine_that_only_informs_is_given_no_address() {
    let mut config = config();
    config.subnets[0].pool = Some(pool(0, 100, 100));
    let memory = Memory::new(RAMDISK);
    let engine = engine(config, memory.clone());
    assert!(ask(&engine, &from(mac(1), request(&[DISCOVER]))).await.is_some(), "the pool is used up");
    let mut inform = request(&[(53, &[8])]);
    inform.ciaddr = [10, 77, 0, 44].into();
    let (ack, _) = ask(&engine, &inform).await.unwrap();
    assert_eq!((ack.message_type(), ack.yiaddr), (Some(MessageType::Ack), Ipv4Addr::UNSPECIFIED));
    assert_eq!((ack.options.address(3), ack.options.has(51), file_of(&ack).as_str()), (Some(SERVER), false, ""));
    assert_eq!(memory.writes(), 1);
    // A machine to be discovered is one that boots.
    *memory.target.lock().unwrap() = Some(BootTarget::Discover { boot_id: BOOT });
    assert_eq!(ask(&engine, &inform).await, None);
    assert_eq!(memory.last().why.as_deref(), Some("an unknown machine that does not boot"));
    let mut boots = request(&[(53, &[8]), PXE, (93, &[0, 7])]);
    boots.ciaddr = inform.ciaddr;
    assert_eq!(file_of(&ask(&engine, &boots).await.unwrap().0), "ipxe.efi");
    assert_eq!((memory.last().boot_id, memory.writes()), (Some(BOOT), 1));
}

#[tokio::test]
async fn a_declined_address_is_told_and_a_release_keeps_it() {
    let memory = Memory::with_lease(BootTarget::LocalDisk);
    let engine = engine(config(), memory.clone());
    let server = SERVER.octets();
    assert_eq!(ask(&engine, &request(&[(53, &[4]), (50, &LEASE.octets()), (54, &server)])).await, None);
    assert_eq!(*memory.declined.lock().unwrap(), [(MAC, IpAddr::from(LEASE))]);
    let told = memory.last();
    assert_eq!((told.answer, told.asked.as_ref()), (Answer::Noted, "decline"));
    assert_eq!(told.why.as_deref(), Some("it found 10.77.0.160 in use by another machine"));
    // One that chose another server is none of ours.
    ask(&engine, &request(&[(53, &[4]), (50, &LEASE.octets()), (54, &[10, 77, 0, 2])])).await;
    assert_eq!(memory.declined.lock().unwrap().len(), 1);
    let mut release = request(&[(53, &[7]), (54, &server)]);
    release.ciaddr = LEASE;
    assert_eq!(ask(&engine, &release).await, None);
    assert_eq!(memory.last().answer, Answer::Noted);
    assert_eq!(ask(&engine, &request(&[DISCOVER])).await.unwrap().0.yiaddr, LEASE);
}

#[tokio::test]
async fn a_forged_relay_is_dropped_and_counted() {
    let memory = Memory::with_lease(RAMDISK);
    let engine = engine(config(), memory.clone());
    let forged = relayed([192, 0, 2, 1].into(), request(&[DISCOVER, PXE, (93, &[0, 7])]));
    let source = SocketAddrV4::new([10, 77, 0, 9].into(), 67);
    assert_eq!(ask_from(&engine, &forged, source, Port::Dhcp).await, None);
    let told = memory.last();
    assert_eq!(told.answer, Answer::Dropped);
    assert_eq!(told.why.as_deref(), Some("the relay agent 192.0.2.1 is of no configured subnet"));
    assert_eq!(engine.observer().metrics.troubles_of(Protocol::Dhcp4, Trouble::ForeignRelay), 1);
}

#[tokio::test]
async fn a_relayed_client_is_told_of_and_answered_through_its_relay() {
    let memory = Memory::with_lease(RAMDISK);
    let engine = engine(config(), memory.clone());
    let information = [1, 4, b'e', b't', b'h', b'7', 2, 2, 8, 9, 151, 1, 0];
    let asked = relayed([10, 77, 1, 1].into(), request(&[DISCOVER, PXE, (93, &[0, 7]), (82, &information)]));
    let (offer, to) = ask(&engine, &asked).await.unwrap();
    assert_eq!(to, Destination::Address("10.77.1.1:67".parse().unwrap()));
    assert_eq!(offer.yiaddr, Ipv4Addr::new(10, 77, 1, 160));
    assert_eq!(offer.options.address(3), Some([10, 77, 1, 1].into()));
    assert_eq!(offer.options.get(82).unwrap().as_ref(), information);
    let relay = memory.last().client.unwrap().relay.unwrap();
    assert_eq!((relay.circuit_id.as_deref(), relay.remote_id.as_deref()), (Some(&b"eth7"[..]), Some(&[8, 9][..])));
}

#[tokio::test]
async fn a_directory_that_fails_leaves_silence_and_a_reason() {
    let memory = Memory::with_lease(RAMDISK);
    *memory.target.lock().unwrap() = None;
    let engine = engine(config(), memory.clone());
    assert_eq!(ask(&engine, &request(&[DISCOVER, PXE, (93, &[0, 7])])).await, None);
    assert_eq!(memory.last().why.as_deref(), Some("the host directory cannot answer: the API is away"));
    assert_eq!(engine.observer().metrics.troubles_of(Protocol::Dhcp4, Trouble::Directory), 1);
    // An installed system does not depend on what its firmware would boot.
    assert!(ask(&engine, &request(&[DISCOVER])).await.is_some());
}

#[tokio::test]
async fn a_flood_of_one_machine_is_counted_and_not_told() {
    let memory = Memory::with_lease(RAMDISK);
    let engine = engine(config(), memory.clone());
    let mut answered = 0;
    for _ in 0..1000 {
        answered += usize::from(ask(&engine, &request(&[DISCOVER])).await.is_some());
    }
    assert!((100..400).contains(&answered), "{answered}");
    assert_eq!(memory.told.lock().unwrap().len(), answered);
    let floods = engine.observer().metrics.troubles_of(Protocol::Dhcp4, Trouble::Flood);
    assert_eq!(usize::try_from(floods).unwrap() + answered, 1000);
    assert!(ask(&engine, &from(mac(9), request(&[DISCOVER]))).await.is_some(), "another is served");
}

#[tokio::test]
async fn beside_another_server_boot_clients_get_a_file_and_nobody_an_address() {
    let memory = Memory::with_lease(RAMDISK);
    let engine = engine(proxy_config(), memory.clone());
    let script = "http://10.77.0.1:8080/b/00000000000000000000000000000007/boot.ipxe";
    for (client, class, file) in [
        (&[PXE, (93, &[0, 7][..])][..], Some(&b"PXEClient"[..]), "ipxe.efi"),
        (&[PXE, (93, &[0, 7]), IPXE], Some(b"PXEClient"), script),
        (&[HTTP, (93, &[0, 16])], Some(b"HTTPClient"), "http://10.77.0.1:8080/ipxe.efi"),
    ] {
        let (offer, to) = ask(&engine, &request(&[&[DISCOVER], client].concat())).await.unwrap();
        assert_eq!(to, Destination::Broadcast);
        assert_eq!(offer.message_type(), Some(MessageType::Offer), "with option 53 (omni-bare-metal#84)");
        assert_eq!((offer.yiaddr, offer.siaddr), (Ipv4Addr::UNSPECIFIED, SERVER));
        assert_eq!(offer.options.get(60).as_deref(), class);
        assert_eq!(offer.options.has(43), class == Some(b"PXEClient"));
        assert!([1, 3, 6, 51, 58, 59].iter().all(|code| !offer.options.has(*code)), "nothing of an address");
        assert_eq!(file_of(&offer), file);
        assert_eq!(memory.last().protocol, Protocol::Proxy);
        // The request that follows names the other server, or none; the last is not ours to answer.
        for options in [&[REQUEST, (54, &[10, 77, 0, 2][..])][..], &[REQUEST, (50, &LEASE.octets())]] {
            assert_eq!(ask(&engine, &request(&[options, client].concat())).await, None);
        }
    }
    for stranger in [&[][..], &[(60, &b"MSFT 5.0"[..])]] {
        assert_eq!(ask(&engine, &request(&[&[DISCOVER], stranger].concat())).await, None);
        assert_eq!(memory.last().why.as_deref(), Some("no boot client"));
    }
    assert_eq!(memory.writes(), 0);
}

/// C147 and T: port 4011 confirms the file and names the server to fetch it from, beside another server and alone.
#[tokio::test]
async fn c147_port_4011_is_answered() {
    for config in [config(), proxy_config()] {
        let engine = engine(config, Memory::with_lease(RAMDISK));
        let at = SocketAddrV4::new([10, 77, 0, 44].into(), 4011);
        let mut asked = request(&[REQUEST, PXE, (93, &[0, 7])]);
        asked.ciaddr = *at.ip();
        let (ack, to) = ask_from(&engine, &asked, at, Port::BootServer).await.unwrap();
        assert_eq!((ack.message_type(), to), (Some(MessageType::Ack), Destination::Address(at)));
        assert_eq!((ack.siaddr, ack.yiaddr, ack.ciaddr), (SERVER, Ipv4Addr::UNSPECIFIED, *at.ip()));
        assert_eq!((file_of(&ack).as_str(), ack.options.get(60).as_deref()), ("ipxe.efi", Some(&b"PXEClient"[..])));
        assert!(!ack.options.has(51));
        // Not a boot client; not from a subnet of ours.
        assert_eq!(ask_from(&engine, &request(&[REQUEST]), at, Port::BootServer).await, None);
        let elsewhere = SocketAddrV4::new([192, 0, 2, 1].into(), 4011);
        assert_eq!(ask_from(&engine, &asked, elsewhere, Port::BootServer).await, None);
    }
}

#[tokio::test]
async fn a_subnet_without_dhcp_is_left_alone() {
    let mut config = config();
    config.subnets[0].mode = Mode::Off;
    let memory = Memory::with_lease(RAMDISK);
    let engine = engine(config, memory.clone());
    assert_eq!(ask(&engine, &request(&[DISCOVER, PXE, (93, &[0, 7])])).await, None);
    assert_eq!(
        (memory.last().phase, memory.last().why.as_deref()),
        (Phase::PxeFirmware, Some("DHCP is off in this subnet"))
    );
}

#[tokio::test]
async fn an_answer_that_was_not_sent_is_told_as_such() {
    let memory = Memory::with_lease(RAMDISK);
    let engine = engine(config(), memory.clone());
    let admitted =
        engine.admit(&request(&[DISCOVER]).encode(), SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68), Port::Dhcp);
    let outcome = engine.answer(admitted.unwrap()).await;
    engine.ended(outcome, Err(std::io::ErrorKind::NetworkUnreachable.into()));
    assert_eq!(memory.last().answer, Answer::Failed);
    assert_eq!(memory.last().why.as_deref(), Some("the system did not send it: network unreachable"));
    assert_eq!(engine.observer().metrics.troubles_of(Protocol::Dhcp4, Trouble::NotSent), 1);
}

proptest! {
    /// Two servers over one store, whatever order their clients come in, and whichever server each asks: no address is
    /// given to two machines, and no machine has two.
    #[test]
    fn two_servers_never_give_one_address_twice(
        asks in prop::collection::vec((0u8..12, any::<bool>(), prop::option::of(100u8..108)), 1..60),
    ) {
        let memory = Memory::new(BootTarget::LocalDisk);
        let mut config = config();
        config.subnets[0].pool = Some(pool(0, 100, 107));
        let servers = [engine(config.clone(), memory.clone()), engine(config, memory.clone())];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let given: Vec<(MacAddr, Ipv4Addr)> = runtime.block_on(async {
            let asks = asks.iter().map(|(n, second, wanted)| {
                let server = &servers[usize::from(*second)];
                let wanted = wanted.map(|last| [10, 77, 0, last]);
                let options = wanted.as_ref().map(|wanted| (50, &wanted[..]));
                let asked = from(mac(*n), request(&[&[DISCOVER][..], options.as_slice()].concat()));
                async move { (mac(*n), ask(server, &asked).await) }
            });
            futures::future::join_all(asks).await.into_iter()
                .filter_map(|(mac, answer)| Some((mac, answer?.0.yiaddr))).collect()
        });
        let mut by_address = std::collections::BTreeMap::new();
        let mut by_mac = std::collections::BTreeMap::new();
        for (mac, address) in given {
            prop_assert_eq!(*by_address.entry(address).or_insert(mac), mac);
            prop_assert_eq!(*by_mac.entry(mac).or_insert(address), address);
        }
        // The pool's eight addresses go to the first eight of the twelve machines.
        let machines = asks.iter().map(|(n, ..)| n).collect::<std::collections::BTreeSet<_>>().len();
        prop_assert_eq!(by_mac.len(), machines.min(8));
        prop_assert_eq!(memory.leases().len(), by_mac.len());
    }

    /// Whatever is sent, nothing panics, and what is not one machine's lease is never sent to by hardware address.
    #[test]
    fn nothing_makes_the_server_panic(
        options in prop::collection::vec(any::<u8>(), 0..300), giaddr in any::<[u8; 4]>(), op in 0u8..3,
    ) {
        let mut message = request(&[]).encode();
        message[0] = op;
        message[24..28].copy_from_slice(&giaddr);
        message.truncate(240);
        message.extend_from_slice(&options);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let engine = engine(config(), Memory::with_lease(RAMDISK));
        let at = SocketAddrV4::new(giaddr.into(), 67);
        if let Some(admitted) = engine.admit(&message, at, Port::Dhcp) {
            let outcome = runtime.block_on(engine.answer(admitted));
            engine.ended(outcome, Ok(()));
        }
    }
}

/// What is said to that one tells where a boot will be.
#[tokio::test]
async fn beside_another_server_a_boot_is_bound_to_the_address_that_its_ipxe_takes_there() {
    let memory = Memory::new(RAMDISK);
    let engine = engine(proxy_config(), memory.clone());
    let other = [10, 77, 0, 2];
    let take = |options: &[(u8, &[u8])], address: [u8; 4]| {
        request(&[&[REQUEST, (54, &other), (50, &address)], options].concat())
    };
    let bindings = engine.observer().bindings.clone();
    let is_at = |last| bindings.admits(BOOT, &[], [10, 77, 0, last].into(), Instant::now());
    // Firmware: noted with the address, for the story. It will not fetch the boot's files itself.
    assert_eq!(ask(&engine, &take(&[PXE, (93, &[0, 7])], [10, 77, 0, 50])).await, None);
    let told = memory.last();
    assert_eq!((told.answer, told.protocol, told.peer), (Answer::Noted, Protocol::Proxy, Some([10, 77, 0, 50].into())));
    assert_eq!(told.why.as_deref(), Some("it takes 10.77.0.50 from the DHCP server 10.77.0.2"));
    assert_eq!(ask(&engine, &take(&[PXE, IPXE, (93, &[0, 7])], [10, 77, 0, 51])).await, None);
    assert!(!is_at(50) && is_at(51));
    // On 4011 it is asked from the address itself.
    let asked = request(&[&[REQUEST, PXE, IPXE, (93, &[0, 7][..])][..]].concat());
    assert!(ask_from(&engine, &asked, SocketAddrV4::new([10, 77, 0, 52].into(), 68), Port::BootServer).await.is_some());
    assert!(is_at(52) && !is_at(53));
    // A system's business is its own.
    assert_eq!(ask(&engine, &take(&[], [10, 77, 0, 53])).await, None);
    assert_eq!(memory.last().answer, Answer::Silent);

    // A server of addresses has no interest in that.
    let (memory, asked) = (Memory::new(RAMDISK), take(&[PXE, IPXE, (93, &[0, 7])], [10, 77, 0, 51]));
    let engine = super::super::fixture::engine(config(), memory.clone());
    assert_eq!(ask(&engine, &asked).await, None);
    assert!(memory.told.lock().unwrap().is_empty());
}
