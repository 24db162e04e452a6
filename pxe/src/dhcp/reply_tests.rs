use super::super::fixture::{DISCOVER, SERVER, config, request};
use super::*;

fn offer(request: &Packet, subnet: &Subnet, file: Option<&str>) -> Packet {
    let mut reply = Reply::new(request, MessageType::Offer, SERVER);
    reply.lease([10, 77, 0, 160].into(), subnet.lease_time);
    reply.link(subnet);
    reply.class(Phase::PxeFirmware, false);
    if let Some(file) = file {
        reply.boot_file(file, SERVER);
    }
    reply.settings(subnet);
    reply.finish()
}

#[test]
fn c139_routes_on_the_link_have_no_gateway_and_the_default_comes_along() {
    let mut subnet = config().subnets.remove(0);
    let route = |to: &str, via: [u8; 4]| Route { to: to.parse().unwrap(), via: via.into() };
    subnet.routes = vec![route("169.254.169.254/32", [0; 4]), route("10.0.0.0/9", [10, 77, 0, 2])];
    let asking = request(&[DISCOVER, (55, &[1, 121])]);
    let value = [32, 169, 254, 169, 254, 0, 0, 0, 0, 9, 10, 0, 10, 77, 0, 2, 0, 10, 77, 0, 1];
    assert_eq!(offer(&asking, &subnet, None).options.get(121).unwrap().as_ref(), value);
    assert!(!offer(&request(&[DISCOVER]), &subnet, None).options.has(121), "not asked for");
    subnet.routes.push(route("0.0.0.0/0", [10, 77, 0, 3]));
    let value = [&value[..16], &[0, 10, 77, 0, 3]].concat();
    assert_eq!(offer(&asking, &subnet, None).options.get(121).unwrap().as_ref(), value, "a default of its own");
}

#[test]
fn c109_all_time_servers_are_told_to_those_who_ask() {
    let mut subnet = config().subnets.remove(0);
    subnet.ntp = vec![[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
    subnet.domain = Some("lab.example".into());
    let told = offer(&request(&[DISCOVER, (55, &[42, 15])]), &subnet, None);
    assert_eq!(told.options.get(42).unwrap().as_ref(), [10, 0, 0, 1, 10, 0, 0, 2]);
    assert_eq!(told.options.get(15).unwrap().as_ref(), b"lab.example");
    let told = offer(&request(&[DISCOVER]), &subnet, None);
    assert!(!told.options.has(42) && !told.options.has(15));
}

#[test]
fn a_reply_is_as_long_as_the_client_takes_and_loses_settings_first() {
    let mut subnet = config().subnets.remove(0);
    subnet.dns = vec![SERVER; 63];
    subnet.ntp = vec![SERVER; 63];
    let file = "x".repeat(128);
    let client_id = [9; 20];
    let relay_agent = [7; 40];
    for (max, dns, ntp) in [
        (None, false, false),
        (Some(576_u16), false, false),
        (Some(1200), true, true),
        (Some(65535), true, true),
        (Some(0), false, false),
    ] {
        let max_size = max.unwrap_or_default().to_be_bytes();
        let mut options = vec![DISCOVER, (55, &[6, 42, 66, 67]), (61, &client_id), (82, &relay_agent)];
        if max.is_some() {
            options.push((57, &max_size));
        }
        let reply = offer(&request(&options), &subnet, Some(&file));
        let encoded = reply.encode().len() + HEADERS;
        assert!(encoded <= usize::from(max.unwrap_or_default().clamp(576, 1500)), "{max:?}: {encoded}");
        assert_eq!((reply.options.has(6), reply.options.has(42)), (dns, ntp), "{max:?}");
        assert_eq!(reply.options.get(67).unwrap().as_ref(), file.as_bytes(), "the boot file is never left out");
        assert_eq!(reply.options.get(82).unwrap().as_ref(), relay_agent);
        assert_eq!(reply.options.iter().last().unwrap().0, 82, "the relay agent's option is the last");
    }
}

#[test]
fn boot_names_that_do_not_fit_go_into_the_option() {
    let subnet = config().subnets.remove(0);
    let long = "x".repeat(128);
    let packet = offer(&request(&[DISCOVER]), &subnet, Some(&long));
    assert_eq!(packet.file, [0; 128]);
    assert_eq!(packet.options.get(67).unwrap().as_ref(), long.as_bytes());
    let packet = offer(&request(&[DISCOVER, (55, &[1, 66, 67])]), &subnet, Some("short"));
    assert!(packet.file.starts_with(b"short\0"));
    assert_eq!(packet.options.get(67).unwrap().as_ref(), b"short");
    assert_eq!(packet.options.get(66).unwrap().as_ref(), b"10.77.0.1");
}

/// C96: the next server is never empty where a file is named, and the server id never at all.
#[test]
fn c96_the_next_server_is_ours() {
    let subnet = config().subnets.remove(0);
    for file in ["ipxe.efi", "http://10.77.0.1:8080/ipxe.efi"] {
        let packet = offer(&request(&[DISCOVER]), &subnet, Some(file));
        assert_eq!((packet.siaddr, packet.options.address(54)), (SERVER, Some(SERVER)));
    }
    let packet = offer(&request(&[DISCOVER]), &subnet, None);
    assert_eq!((packet.siaddr, packet.options.address(54)), (Ipv4Addr::UNSPECIFIED, Some(SERVER)));
}

#[test]
fn a_boot_item_that_is_asked_for_comes_back() {
    let item = [71, 4, 0x80, 0, 0, 0, 255];
    let asked = request(&[(53, &[3]), (60, b"PXEClient"), (43, &item)]);
    let mut reply = Reply::new(&asked, MessageType::Ack, SERVER);
    reply.class_of_item(Phase::PxeFirmware);
    assert_eq!(reply.finish().options.get(43).unwrap().as_ref(), item);
    for broken in [&[71, 9, 1][..], &[71, 2, 0, 0, 255], &[]] {
        let asked = request(&[(53, &[3]), (60, b"PXEClient"), (43, broken)]);
        let mut reply = Reply::new(&asked, MessageType::Ack, SERVER);
        reply.class_of_item(Phase::PxeFirmware);
        assert_eq!(reply.finish().options.get(43).unwrap().as_ref(), PXE_NO_DISCOVERY, "{broken:?}");
    }
}
