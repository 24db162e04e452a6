//! SMBIOS UUIDs of machines, as far as they tell one from another.

use uuid::{Uuid, uuid};

/// What boards come with when nobody gave them their own.
const JUNK: [Uuid; 2] = [uuid!("03000200-0400-0500-0006-000700080009"), uuid!("12345678-1234-5678-90ab-cddeefaabbcc")];

/// The UUID, unless many machines have the same.
pub(crate) fn parse(text: &str) -> Option<Uuid> {
    text.trim().parse().ok().filter(|uuid| !is_junk(*uuid))
}

/// Whether these are certainly of two machines. Firmware writes the first three fields little-endian (SMBIOS 2.6), others
/// do not, and nobody says which.
pub(crate) fn differ(one: Uuid, other: Uuid) -> bool {
    !is_junk(one) && !is_junk(other) && one != other && one.to_bytes_le() != *other.as_bytes()
}

fn is_junk(uuid: Uuid) -> bool {
    let is_one_octet = uuid.as_bytes().windows(2).all(|pair| pair.first() == pair.last());
    is_one_octet || JUNK.iter().any(|junk| uuid == *junk || uuid.to_bytes_le() == *junk.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_the_same_in_either_byte_order_and_junk_tells_nothing() {
        let board = "4c4c4544-0042-3510-8054-b4c04f4d4c32";
        for (one, other, differs) in [
            (board, board, false),
            (board, "44454c4c-4200-1035-8054-b4c04f4d4c32", false),
            (board, "4c4c4544-0042-3510-8054-b4c04f4d4c33", true),
            (board, "44454c4c-0042-3510-8054-b4c04f4d4c32", true),
            (board, "00000000-0000-0000-0000-000000000000", false),
            (board, "ffffffff-ffff-ffff-ffff-ffffffffffff", false),
            (board, "03000200-0400-0500-0006-000700080009", false),
            ("00020003-0004-0005-0006-000700080009", board, false),
        ] {
            let (one, other): (Uuid, Uuid) = (one.parse().unwrap(), other.parse().unwrap());
            assert_eq!((differ(one, other), differ(other, one)), (differs, differs), "{one} {other}");
        }
        assert_eq!(parse(" 4C4C4544-0042-3510-8054-B4C04F4D4C32 "), board.parse().ok());
        assert_eq!((parse("FEFEFEFE-FEFE-FEFE-FEFE-FEFEFEFEFEFE"), parse("Not Settable")), (None, None));
    }
}
