use proptest::prelude::*;

use super::*;

fn any_packet() -> impl Strategy<Value = Packet> {
    let option = (1u8..=254, prop::collection::vec(any::<u8>(), 0..=255))
        .prop_filter("not overload", |(code, _)| *code != code::OVERLOAD);
    (
        any::<[u8; 4]>(),
        any::<(u32, u16, u16)>(),
        any::<[u32; 4]>(),
        any::<[u8; 16]>(),
        prop::collection::vec(option, 0..8),
    )
        .prop_map(|([op, htype, hlen, hops], (xid, secs, flags), addresses, chaddr, list)| {
            let [ciaddr, yiaddr, siaddr, giaddr] = addresses.map(Ipv4Addr::from_bits);
            let mut options = Options::new();
            list.into_iter().for_each(|(code, value)| options.push(code, value));
            let (sname, file) = ([7; 64], [9; 128]);
            Packet {
                op,
                htype,
                hlen,
                hops,
                xid,
                secs,
                flags,
                ciaddr,
                yiaddr,
                siaddr,
                giaddr,
                chaddr,
                sname,
                file,
                options,
                whole: true,
            }
        })
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(packet in any_packet()) {
        prop_assert_eq!(Packet::decode(&packet.encode()), Ok(packet));
    }

    #[test]
    fn nothing_makes_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..700)) {
        let _ = Packet::decode(&bytes);
    }

    /// Past the cookie, and with both fields overloaded.
    #[test]
    fn no_options_make_the_decoder_panic(options in prop::collection::vec(any::<u8>(), 0..300), fields in prop::collection::vec(any::<u8>(), 192)) {
        let message = [&[1; 44], fields.as_slice(), &COOKIE, &[code::OVERLOAD, 1, 3], &options].concat();
        if let Ok(packet) = Packet::decode(&message) {
            let _ = (packet.mac(), packet.message_type(), packet.options.client_uuid(), packet.options.u16_list(93));
        }
    }
}

fn message(options: &[u8]) -> Vec<u8> {
    [&[0; 236], COOKIE.as_slice(), options].concat()
}

#[test]
fn broken_messages_say_what_is_broken() {
    for (bytes, expected) in [
        (vec![], DecodeError::Truncated { len: 0 }),
        (vec![0; 239], DecodeError::Truncated { len: 239 }),
        (vec![0; 300], DecodeError::NoCookie),
    ] {
        assert_eq!(Packet::decode(&bytes), Err(expected));
    }
}

#[test]
fn c159_options_that_are_cut_off_leave_those_before_them() {
    let good = [53, 1, 3, 50, 4, 10, 0, 0, 9];
    for (cut, whole) in [
        (&[][..], true),
        (&[255], true),
        (&[60], false),
        (&[60, 9], false),
        (&[60, 9, b'P', b'X'], false),
        (&[60, 255], false),
        (&[255, 60, 9], true),
    ] {
        let packet = Packet::decode(&message(&[&good, cut].concat())).unwrap();
        assert_eq!(packet.options.iter().count(), 2, "{cut:?}");
        assert_eq!((packet.message_type(), packet.whole), (Some(MessageType::Request), whole), "{cut:?}");
        assert_eq!(packet.options.address(50), Some(Ipv4Addr::new(10, 0, 0, 9)), "{cut:?}");
    }
}

#[test]
fn a_senseless_value_hides_itself_only() {
    // A server id of three octets, then an odd architecture list, then a good requested address.
    let packet = Packet::decode(&message(&[54, 3, 1, 2, 3, 93, 1, 0, 50, 4, 10, 0, 0, 9])).unwrap();
    assert_eq!(packet.options.address(54), None);
    assert_eq!(packet.options.u16_list(93), None);
    assert_eq!(packet.options.address(50), Some(Ipv4Addr::new(10, 0, 0, 9)));
}

#[test]
fn a_missing_end_mark_and_padding_are_no_error() {
    let packet = Packet::decode(&message(&[0, 0, 53, 1, 1])).unwrap();
    assert_eq!(packet.message_type(), Some(MessageType::Discover));
}

#[test]
fn long_options_are_split_and_joined() {
    let mut packet = Packet::reply_to(&Packet::decode(&message(&[])).unwrap());
    let long: Vec<u8> = (0..=255).chain(0..=255).collect();
    packet.options.push(67, long.clone());
    let back = Packet::decode(&packet.encode()).unwrap();
    assert_eq!(back.options.iter().map(|(_, value)| value.len()).collect::<Vec<_>>(), [255, 255, 2]);
    assert_eq!(back.options.get(67).unwrap().as_ref(), long);
}

#[test]
fn c151_overloaded_fields_hold_options_after_the_others_file_first() {
    for (overload, order) in [(0, &b"o"[..]), (1, b"of"), (2, b"os"), (3, b"ofs"), (7, b"ofs")] {
        let mut bytes = message(&[52, 1, overload, 12, 1, b'o', 255]);
        bytes[44..47].copy_from_slice(&[12, 1, b's']); // sname
        bytes[108..111].copy_from_slice(&[12, 1, b'f']); // file
        let packet = Packet::decode(&bytes).unwrap();
        assert_eq!(packet.options.get(12).unwrap().as_ref(), order, "{overload}");
    }
    // A bad length in one of them hides the rest of that field only.
    let mut bytes = message(&[52, 1, 3, 255]);
    bytes[44..47].copy_from_slice(&[12, 1, b's']);
    bytes[108..110].copy_from_slice(&[12, 200]);
    let packet = Packet::decode(&bytes).unwrap();
    assert_eq!((packet.options.get(12).unwrap().as_ref(), packet.whole), (&b"s"[..], false));
}

#[test]
fn only_ethernet_unicast_addresses_identify() {
    for (htype, hlen, first, good) in
        [(1, 6, 0x52, true), (1, 6, 0x01, false), (1, 6, 0, false), (32, 20, 0x52, false), (1, 0, 0x52, false)]
    {
        let mut packet = Packet::decode(&message(&[])).unwrap();
        (packet.htype, packet.hlen, packet.chaddr[0]) = (htype, hlen, first);
        assert_eq!(packet.mac().is_some(), good, "{htype} {hlen} {first:#x}");
    }
}
