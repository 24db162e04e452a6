use super::super::fixture::{LEASE, MAC, config, relayed, request};
use super::*;
use crate::config::Interface;

const RELAY: Ipv4Addr = Ipv4Addr::new(10, 77, 1, 1);

#[test]
fn the_subnet_is_the_relays_else_the_addresss_else_the_links() {
    let mut config = config();
    config.interfaces.push(Interface::new("br1", [10, 78, 0, 1].into()));
    config.subnets.push(Subnet::new("10.78.0.0/24".parse().unwrap(), Reach::OnLink("br1".into())));
    let plain = request(&[]);
    let with_address = |address: [u8; 4]| {
        let mut request = request(&[]);
        request.ciaddr = address.into();
        request
    };
    let selecting = |link: [u8; 4]| relayed(RELAY, request(&[(82, &[&[5, 4][..], &link].concat())]));
    let foreign = Ipv4Addr::new(192, 0, 2, 1);
    let behind_foreign = relayed(foreign, request(&[(82, &[5, 4, 10, 77, 1, 0])]));
    for (what, request, from, interface, expected) in [
        ("a broadcast", &plain, Ipv4Addr::UNSPECIFIED, "br0", Ok("10.77.0.0/24")),
        ("on the other interface", &plain, Ipv4Addr::UNSPECIFIED, "br1", Ok("10.78.0.0/24")),
        ("on a third one", &plain, Ipv4Addr::UNSPECIFIED, "br2", Err(Nowhere::NoSubnet)),
        ("through a relay", &relayed(RELAY, plain.clone()), RELAY, "br0", Ok("10.77.1.0/24")),
        ("through a relay, heard anywhere", &relayed(RELAY, plain.clone()), RELAY, "br2", Ok("10.77.1.0/24")),
        (
            "through a relay of the link",
            &relayed([10, 77, 0, 9].into(), plain.clone()),
            RELAY,
            "br1",
            Ok("10.77.0.0/24"),
        ),
        ("a forged relay", &relayed(foreign, plain.clone()), RELAY, "br0", Err(Nowhere::ForeignRelay(foreign))),
        ("link selection (RFC 3527)", &selecting([10, 78, 0, 0]), RELAY, "br0", Ok("10.78.0.0/24")),
        ("an unknown link", &selecting([192, 0, 2, 0]), RELAY, "br0", Err(Nowhere::ForeignRelay(RELAY))),
        ("a relay elsewhere that selects", &behind_foreign, foreign, "br0", Ok("10.77.1.0/24")),
        ("one that is not who sent it", &behind_foreign, RELAY, "br0", Err(Nowhere::ForeignRelay(foreign))),
        ("a renewal from behind a router", &with_address([10, 77, 1, 160]), LEASE, "br0", Ok("10.77.1.0/24")),
        ("a renewal on the link", &with_address([10, 77, 0, 160]), LEASE, "br0", Ok("10.77.0.0/24")),
        ("an address of another link", &with_address([10, 78, 0, 5]), LEASE, "br0", Ok("10.77.0.0/24")),
        ("an address of nobody's", &with_address([192, 0, 2, 5]), LEASE, "br0", Ok("10.77.0.0/24")),
    ] {
        let found = subnet_of(request, Agent::of(request).as_ref(), from, interface, &config);
        assert_eq!(found.map(|subnet| subnet.prefix.to_string()), expected.map(str::to_owned), "{what}");
    }
}

/// RFC 2131, section 4.1.
#[test]
fn answers_go_where_the_client_can_hear_them() {
    use Destination::{Address, Broadcast, Hardware};
    use MessageType::{Ack, Nak, Offer};

    let config = config();
    let subnet = &config.subnets[0];
    let at = |address: Ipv4Addr, port| Address(SocketAddrV4::new(address, port));
    let plain = |options: &[(u8, &[u8])]| request(options);
    let flagged = |mut request: Packet| {
        request.set_broadcast();
        request
    };
    let having = |address: [u8; 4], mut request: Packet| {
        request.ciaddr = address.into();
        request
    };
    let relay = |request| relayed(RELAY, request);
    let inform: &[(u8, &[u8])] = &[(53, &[8])];
    for (what, request, kind, lease, expected) in [
        ("no address yet", plain(&[]), Offer, Some(LEASE), Hardware(MAC, LEASE)),
        ("no address yet, confirmed", plain(&[]), Ack, Some(LEASE), Hardware(MAC, LEASE)),
        ("wants a broadcast", flagged(plain(&[])), Offer, Some(LEASE), Broadcast),
        ("beside another server", plain(&[]), Offer, None, Broadcast),
        ("renewing", having([10, 77, 0, 160], plain(&[])), Ack, Some(LEASE), at(LEASE, 68)),
        ("renewing with the flag", flagged(having([10, 77, 0, 160], plain(&[]))), Ack, Some(LEASE), at(LEASE, 68)),
        ("an address that is not its own", having([192, 0, 2, 5], plain(&[])), Ack, Some(LEASE), Broadcast),
        ("informing without an address", plain(inform), Ack, None, Broadcast),
        ("informing", having([10, 77, 0, 9], plain(inform)), Ack, None, at([10, 77, 0, 9].into(), 68)),
        ("informing from elsewhere", having([192, 0, 2, 5], plain(inform)), Ack, None, Broadcast),
        ("refused", plain(&[]), Nak, None, Broadcast),
        ("refused while renewing", having([10, 77, 0, 9], plain(&[])), Nak, None, Broadcast),
        ("relayed", relay(plain(&[])), Offer, Some(LEASE), at(RELAY, 67)),
        ("relayed with the flag", relay(flagged(plain(&[]))), Offer, Some(LEASE), at(RELAY, 67)),
        ("relayed and refused", relay(plain(&[])), Nak, None, at(RELAY, 67)),
        ("relayed, renewing", relay(having([10, 77, 0, 160], plain(&[]))), Ack, Some(LEASE), at(RELAY, 67)),
    ] {
        let agent = Agent::of(&request);
        assert_eq!(destination(&request, kind, MAC, lease, agent.as_ref(), subnet), expected, "{what}");
    }
}
