//! Strings as SDRs and FRU areas carry them: a type/length byte, then text in one of four codes (§43.15, and §13 of the
//! *Platform Management FRU Information Storage Definition v1.0 rev. 1.3*).

use crate::Malformed;
use crate::bytes::Reader;

/// The type/length byte that ends a FRU area's fields.
const END_OF_FIELDS: u8 = 0xc1;

/// How bytes of type 3 are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// One byte a character.
    English,
    /// Two bytes a character, the low one first.
    Other,
}

/// What type 0 means, the only difference between the two kinds of string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TypeZero {
    Unicode,
    Binary,
}

/// An SDR's id string: type/length byte, then at most 16 bytes. Cut where the record ends, as some BMCs announce more
/// than they send.
pub(crate) fn id_string(reader: &mut Reader<'_>) -> Result<String, Malformed> {
    let kind = reader.u8()?;
    let length = usize::from(kind & 0x1f).min(reader.rest().len());
    let bytes = reader.take(length)?;
    Ok(decode(kind >> 6, bytes, Language::English, TypeZero::Unicode))
}

/// A FRU area's next field: `None` at the end of fields.
pub(crate) fn fru_field(reader: &mut Reader<'_>, language: Language) -> Result<Option<String>, Malformed> {
    let kind = reader.u8()?;
    if kind == END_OF_FIELDS {
        return Ok(None);
    }
    let bytes = reader.take(usize::from(kind & 0x3f))?;
    Ok(Some(decode(kind >> 6, bytes, language, TypeZero::Binary)))
}

/// Padding is not text: blanks, NULs and what is not printable are cut off the end.
fn decode(kind: u8, bytes: &[u8], language: Language, zero: TypeZero) -> String {
    let text: String = match (kind, language) {
        // Plain text marked as Unicode is frequent; in real Unicode some byte is not printable.
        (0, _) if zero == TypeZero::Unicode && !bytes.iter().all(|byte| matches!(byte, 0x20..=0x7e)) => utf16(bytes),
        (0, _) if zero == TypeZero::Unicode => bytes.iter().map(|byte| char::from(*byte)).collect(),
        (0, _) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        (1, _) => bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]).map(bcd_plus).collect(),
        (2, _) => six_bit(bytes),
        (_, Language::Other) => utf16(bytes),
        // Latin 1, of which Unicode's first 256 are a copy.
        (_, Language::English) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    };
    let text: String = text.chars().filter(|character| !character.is_control()).collect();
    text.trim().to_owned()
}

fn utf16(bytes: &[u8]) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    char::decode_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit)))
        .map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

fn bcd_plus(nibble: u8) -> char {
    match nibble {
        0..=9 => char::from(b'0' + nibble),
        10 => ' ',
        11 => '-',
        12 => '.',
        13 => ':',
        14 => ',',
        _ => '_',
    }
}

/// Four characters in three bytes, the first in the lowest bits; code 0 is a blank.
fn six_bit(bytes: &[u8]) -> String {
    bytes
        .chunks(3)
        .flat_map(|chunk| {
            let packed = chunk.iter().rev().fold(0u32, |packed, byte| packed << 8 | u32::from(*byte));
            (0..chunk.len() * 8 / 6).map(move |index| char::from(0x20 + (packed >> (6 * index) & 0x3f) as u8))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_of_the_specification() {
        // The definition's own example of packed text, "IPMI".
        assert_eq!(decode(2, &[0x29, 0xdc, 0xa6], Language::English, TypeZero::Binary), "IPMI");
        assert_eq!(decode(1, &[0x12, 0x3b, 0x45, 0xca], Language::English, TypeZero::Binary), "123-45.");
        assert_eq!(decode(0, &[0xde, 0xad], Language::English, TypeZero::Binary), "dead");
        assert_eq!(decode(0, &[0x41, 0, 0xac, 0x20], Language::English, TypeZero::Unicode), "A€");
        assert_eq!(decode(0, b"Voltage", Language::English, TypeZero::Unicode), "Voltage");
        assert_eq!(decode(3, b"Temp \0\0", Language::English, TypeZero::Unicode), "Temp");
        assert_eq!(decode(3, &[0x42, 0x30], Language::Other, TypeZero::Binary), "あ");
    }

    #[test]
    fn an_id_string_longer_than_its_record_is_cut() {
        let mut reader = Reader::new("record", &[0xd0, b'F', b'A', b'N']);
        assert_eq!(id_string(&mut reader).unwrap(), "FAN");
    }

    #[test]
    fn fields_end_where_they_say() {
        let mut reader = Reader::new("area", &[0xc2, b'A', b'B', 0xc0, 0xc1, 0xff]);
        assert_eq!(fru_field(&mut reader, Language::English).unwrap().as_deref(), Some("AB"));
        assert_eq!(fru_field(&mut reader, Language::English).unwrap().as_deref(), Some(""));
        assert_eq!(fru_field(&mut reader, Language::English).unwrap(), None);
        assert!(fru_field(&mut Reader::new("area", &[0xc9, 1]), Language::English).is_err());
    }
}
