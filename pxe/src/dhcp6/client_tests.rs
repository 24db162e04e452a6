use super::super::packet::{Kind, Message};
use super::*;

const MAC: MacAddr = MacAddr([0x52, 0x54, 0, 0, 0, 1]);

fn envelope(options: &[(u16, &[u8])], relays: Vec<RelayHeader>) -> Envelope {
    let mut list = Options::default();
    options.iter().for_each(|(code, value)| list.push(*code, *value));
    Envelope { relays, message: Message { kind: Kind::Solicit, transaction: [1, 2, 3], options: list } }
}

fn relay(link: &str, peer: &str, options: &[(u16, &[u8])]) -> RelayHeader {
    let mut list = Options::default();
    options.iter().for_each(|(code, value)| list.push(*code, *value));
    RelayHeader { hops: 0, link: link.parse().unwrap(), peer: peer.parse().unwrap(), options: list }
}

#[test]
fn hardware_addresses_are_found_where_they_are_told() {
    let ll: &[u8] = &[0, 3, 0, 1, 0x52, 0x54, 0, 0, 0, 1];
    let llt: &[u8] = &[0, 1, 0, 1, 9, 9, 9, 9, 0x52, 0x54, 0, 0, 0, 2];
    let uuid: &[u8] = &[0, 4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
    let enterprise: &[u8] = &[0, 2, 0, 0, 1, 0x57, 7];
    let second = MacAddr([0x52, 0x54, 0, 0, 0, 2]);
    for (duid, peer, macs) in [
        (ll, "fe80::1", vec![MAC]),
        (llt, "fe80::1", vec![second]),
        // One DUID for all cards: the card that asks comes first.
        (llt, "fe80::5054:ff:fe00:1", vec![MAC, second]),
        (ll, "fe80::5054:ff:fe00:1", vec![MAC]),
        (uuid, "fe80::5054:ff:fe00:1", vec![MAC]),
        (enterprise, "fe80::1", vec![]),
        (enterprise, "fd77::5054:ff:fe00:1", vec![]),
        // Infiniband, cut short, all zeros, a group.
        (&[0, 3, 0, 32, 0x52, 0x54, 0, 0, 0, 1], "fe80::1", vec![]),
        (&[0, 3, 0, 1, 0x52, 0x54, 0], "fe80::1", vec![]),
        (&[0, 3, 0, 1, 0, 0, 0, 0, 0, 0], "fe80::1", vec![]),
        (&[0, 3, 0, 1, 0x53, 0x54, 0, 0, 0, 1], "fe80::1", vec![]),
    ] {
        let client = identify(&envelope(&[(1, duid)], vec![]), peer.parse().unwrap(), "br0".into()).unwrap();
        assert_eq!(client.macs, macs, "{duid:?} {peer}");
        assert_eq!(client.duid.as_deref(), Some(duid));
        assert_eq!(client.smbios_uuid, None, "an installed system's, which is no SMBIOS UUID");
        let firmware = envelope(&[(1, duid), (61, &[0, 16])], vec![]);
        let firmware = identify(&firmware, peer.parse().unwrap(), "br0".into()).unwrap();
        assert_eq!(firmware.smbios_uuid.is_some(), duid == uuid);
    }
    for duid in [&[][..], &[0, 3], &[0; 133]] {
        assert_eq!(identify(&envelope(&[(1, duid)], vec![]), Ipv6Addr::LOCALHOST, "br0".into()), None, "{duid:?}");
    }
}

#[test]
fn a_relay_agent_tells_what_it_saw() {
    let duid: &[u8] = &[0, 2, 0, 0, 1, 0x57, 7];
    let inner =
        relay("::", "fe80::5054:ff:fe00:2", &[(79, &[0, 1, 0x52, 0x54, 0, 0, 0, 1]), (18, b"eth7"), (37, b"rack")]);
    let outer = relay("fd78::1", "fe80::9", &[(18, b"uplink"), (79, &[0, 1, 2, 2, 2, 2, 2, 2])]);
    let envelope = envelope(&[(1, duid)], vec![outer, inner]);
    let client = identify(&envelope, "fd77::9".parse().unwrap(), "br0".into()).unwrap();
    assert_eq!(client.macs, [MAC, MacAddr([0x52, 0x54, 0, 0, 0, 2])]);
    let relay = client.relay.unwrap();
    assert_eq!(relay.address, "fd78::1".parse::<IpAddr>().unwrap());
    assert_eq!((relay.circuit_id.as_deref(), relay.remote_id.as_deref()), (Some(&b"eth7"[..]), Some(&b"rack"[..])));
    assert_eq!(link(&envelope), Some("fd78::1".parse().unwrap()));
}

#[test]
fn programs_are_told_apart() {
    let class = |text: &str| {
        let len = u16::try_from(text.len()).unwrap().to_be_bytes();
        [&[0, 0, 1, 0x57], len.as_slice(), text.as_bytes()].concat()
    };
    let (pxe, http) = (class("PXEClient:Arch:00007:UNDI:003001"), class("HTTPClient:Arch:00016:UNDI:003001"));
    let ipxe: &[u8] = b"\0\x04iPXE";
    for (options, expected, arch) in [
        (vec![(16, pxe.as_slice()), (61, &[0, 7][..])], Phase::PxeFirmware, Some(7)),
        (vec![(16, pxe.as_slice())], Phase::PxeFirmware, Some(7)),
        (vec![(16, http.as_slice()), (61, &[0, 16])], Phase::HttpFirmware, Some(16)),
        (vec![(16, pxe.as_slice()), (15, ipxe), (61, &[0, 7, 0, 9])], Phase::Ipxe, Some(7)),
        (vec![(15, b"iPXE")], Phase::Ipxe, None),
        (vec![(15, b"\0\x04some")], Phase::System, None),
        (vec![(16, &pxe[..9])], Phase::System, None),
        (vec![(61, &[0])], Phase::System, None),
        (vec![], Phase::System, None),
    ] {
        let mut options = options;
        options.push((1, &[0, 3, 0, 1, 0x52, 0x54, 0, 0, 0, 1]));
        let envelope = envelope(&options, vec![]);
        assert_eq!(phase(&envelope.message.options), expected, "{options:?}");
        let client = identify(&envelope, Ipv6Addr::LOCALHOST, "br0".into()).unwrap();
        assert_eq!(client.arch, arch.map(ClientArch), "{options:?}");
    }
}
