use proptest::prelude::*;
use serde_json::json;

use super::*;

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
    out.extend(bytes);
    out
}

fn body(message: &[u8]) -> Vec<u8> {
    let kind = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
    [MAGIC.to_vec(), field(1, &kind), field(2, message), field(3, b""), field(4, b"")].concat()
}

#[test]
fn a_config_map_as_kubectl_sends_it() {
    let metadata =
        [field(1, b"c"), field(2, b""), field(8, b""), field(11, &[field(1, b"l"), field(2, b"v")].concat())];
    let entry = [field(1, b"a"), field(2, b"b")].concat();
    let binary = [field(1, b"z"), field(2, &[0, 255])].concat();
    let message = [field(1, &metadata.concat()), field(2, &entry), field(3, &binary), vec![4 << 3, 1]].concat();
    let bytes = body(&message);
    let read = open(&bytes).unwrap().decode(Message::named("core.v1.ConfigMap").unwrap()).unwrap();
    assert_eq!(
        read,
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "labels": {"l": "v"}},
            "data": {"a": "b"}, "binaryData": {"z": "AP8="}, "immutable": true,
        })
    );
}

#[test]
fn what_is_no_message_is_refused() {
    let config_map = Message::named("core.v1.ConfigMap").unwrap();
    assert_eq!(open(b"{}"), Err(Error::NoMagic));
    for (message, wanted) in [
        (vec![2 << 3 | 2, 9], Error::Short),
        (vec![0, 1], Error::Tag),
        (vec![2 << 3 | 3], Error::WireType(3)),
        (vec![2 << 3, 1], Error::Mismatch { field: "data", found: 0 }),
        (vec![0xff; 12], Error::Overflow),
    ] {
        let bytes = body(&message);
        assert_eq!(open(&bytes).unwrap().decode(config_map), Err(wanted), "{message:?}");
    }
}

proptest! {
    #[test]
    fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let crd = Message::named("apiextensions.v1.CustomResourceDefinition").unwrap();
        let _ = open(&bytes);
        let _ = Envelope { raw: &bytes, ..Envelope::default() }.decode(crd);
    }
}
