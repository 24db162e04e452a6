use proptest::prelude::*;

use super::*;

fn any_options() -> impl Strategy<Value = Options> {
    prop::collection::vec((10_u16..200, prop::collection::vec(any::<u8>(), 0..40)), 0..6).prop_map(|list| {
        let mut options = Options::default();
        list.into_iter().for_each(|(code, value)| options.push(code, value));
        options
    })
}

fn any_envelope() -> impl Strategy<Value = Envelope> {
    let relay = (any::<u8>(), any::<u128>(), any::<u128>(), any_options())
        .prop_map(|(hops, link, peer, options)| RelayHeader { hops, link: link.into(), peer: peer.into(), options });
    let kind = prop::sample::select(Kind::FROM_CLIENTS.to_vec());
    (prop::collection::vec(relay, 0..=8), kind, any::<[u8; 3]>(), any_options()).prop_map(
        |(relays, kind, transaction, options)| Envelope { relays, message: Message { kind, transaction, options } },
    )
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(envelope in any_envelope()) {
        prop_assert_eq!(Envelope::decode(&envelope.encode()), Ok(envelope));
    }

    /// Each relay agent finds its own header again, and the client's answer in the last.
    #[test]
    fn an_answer_goes_back_the_way_it_came(envelope in any_envelope()) {
        let answer = Message { kind: Kind::Reply, transaction: envelope.message.transaction, options: Options::default() };
        let mut message = envelope.wrap(&answer);
        for relay in &envelope.relays {
            prop_assert_eq!((message[0], message[1]), (RELAY_REPLY, relay.hops));
            prop_assert_eq!(&message[2..18], &relay.link.octets());
            prop_assert_eq!(&message[18..34], &relay.peer.octets());
            let options = Options::decode(&message[34..]).unwrap();
            prop_assert_eq!(options.get(code::INTERFACE_ID), relay.options.get(code::INTERFACE_ID));
            message = options.get(code::RELAY_MESSAGE).unwrap().to_vec();
        }
        prop_assert_eq!(message, answer.encode());
    }

    #[test]
    fn nothing_makes_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0_u8..16) {
        super::super::fuzz(&bytes);
        super::super::fuzz(&[&[kind], bytes.as_slice()].concat());
    }

    #[test]
    fn what_decodes_is_answered_in_bounds(envelope in any_envelope(), ia in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut envelope = envelope;
        for code in [code::IA_NA, code::IA_TA, code::IA_PD, code::USER_CLASS, code::VENDOR_CLASS] {
            envelope.message.options.push(code, ia.clone());
        }
        super::super::fuzz(&envelope.encode());
    }
}

#[test]
fn relay_agents_without_end_are_refused() {
    let header =
        RelayHeader { hops: 0, link: Ipv6Addr::UNSPECIFIED, peer: Ipv6Addr::LOCALHOST, options: Options::default() };
    let message = Message { kind: Kind::Solicit, transaction: [0; 3], options: Options::default() };
    let nested = |count| Envelope { relays: vec![header.clone(); count], message: message.clone() }.encode();
    assert!(Envelope::decode(&nested(8)).is_ok());
    assert_eq!(Envelope::decode(&nested(9)), Err(DecodeError::TooManyRelays));
}

#[test]
fn what_is_not_for_a_server_is_refused() {
    for (bytes, expected) in [
        (&[][..], DecodeError::Truncated),
        (&[1, 0, 0], DecodeError::Truncated),
        (&[2, 0, 0, 0], DecodeError::Kind(2)),
        (&[7, 0, 0, 0], DecodeError::Kind(7)),
        (&[10, 0, 0, 0], DecodeError::Kind(10)),
        (&[13, 0, 0, 0], DecodeError::Kind(13)),
        (&[255, 0, 0, 0], DecodeError::Kind(255)),
        (&[1, 0, 0, 0, 0, 1, 0, 9, 1], DecodeError::OptionOverrun { code: 1 }),
        (&[1, 0, 0, 0, 0], DecodeError::Truncated),
        (&[12, 0], DecodeError::Truncated),
        (&[&[12, 0][..], &[0; 32]].concat(), DecodeError::Empty),
    ] {
        assert_eq!(Envelope::decode(bytes), Err(expected), "{bytes:?}");
    }
}
