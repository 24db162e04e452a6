//! The messages of RFC 1350 and the option acknowledgement of RFC 2347.
//!
//! Requests are read as generously as old boot ROMs need: octets that are not UTF-8 become replacement characters, `0xff`
//! behind a file name (the end mark of the DHCP option it was taken from) is dropped, and so are padding and a last
//! option without its end.

/// Why some octets are not a TFTP message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Ends inside a fixed field.
    #[error("truncated: {len} octets")]
    Truncated {
        /// Octets received.
        len: usize,
    },
    /// No such message.
    #[error("unknown opcode {0}")]
    Opcode(u16),
    /// The file name or the mode is not ended by a zero octet.
    #[error("a text is not ended by a zero octet")]
    Text,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Packet {
    /// RRQ: send me this file.
    Read {
        /// File name as asked.
        file: String,
        /// Transfer mode, such as `octet`.
        mode: String,
        /// Options and their values, in order.
        options: Vec<(String, String)>,
    },
    /// WRQ; its fields do not matter to a read-only server.
    Write,
    /// DATA.
    Data {
        /// Block number, from 1, wrapping.
        block: u16,
        /// Content.
        data: Vec<u8>,
    },
    /// ACK.
    Ack {
        /// Block number.
        block: u16,
    },
    /// ERROR.
    Error {
        /// Number of the error, RFC 1350 section 5.
        code: u16,
        /// Text for people.
        message: String,
    },
    /// OACK.
    OptionAck {
        /// Options granted, with their values.
        options: Vec<(String, String)>,
    },
}

impl Packet {
    /// Options beyond this number are not read.
    pub const MAX_OPTIONS: usize = 16;

    /// Reads one message.
    ///
    /// # Errors
    /// [`DecodeError`] if the octets are not a TFTP message.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let truncated = || DecodeError::Truncated { len: bytes.len() };
        let (opcode, rest) = bytes.split_first_chunk::<2>().ok_or_else(truncated)?;
        let number =
            || rest.split_first_chunk::<2>().map(|(n, rest)| (u16::from_be_bytes(*n), rest)).ok_or_else(truncated);
        Ok(match u16::from_be_bytes(*opcode) {
            1 => {
                let (file, rest) = text(rest).ok_or(DecodeError::Text)?;
                let (mode, rest) = text(rest).ok_or(DecodeError::Text)?;
                Self::Read { file, mode, options: options(rest) }
            }
            2 => Self::Write,
            3 => number().map(|(block, data)| Self::Data { block, data: data.to_vec() })?,
            4 => number().map(|(block, _)| Self::Ack { block })?,
            5 => {
                let (code, message) = number()?;
                // Some firmware forgets the zero octet, and nothing depends on the text.
                let message = message.split(|octet| *octet == 0).next().unwrap_or_default();
                Self::Error { code, message: String::from_utf8_lossy(message).into_owned() }
            }
            6 => Self::OptionAck { options: options(rest) },
            other => return Err(DecodeError::Opcode(other)),
        })
    }

    /// The octets of this message.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Read { file, mode, options } => [&[0, 1], texts([file, mode]).as_slice(), &pairs(options)].concat(),
            Self::Write => vec![0, 2],
            Self::Data { block, data } => [&[0, 3], block.to_be_bytes().as_slice(), data].concat(),
            Self::Ack { block } => [[0, 4], block.to_be_bytes()].concat(),
            Self::Error { code, message } => [&[0, 5], code.to_be_bytes().as_slice(), &texts([message])].concat(),
            Self::OptionAck { options } => [&[0, 6], pairs(options).as_slice()].concat(),
        }
    }
}

fn text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = bytes.iter().position(|octet| *octet == 0)?;
    let (text, rest) = bytes.split_at_checked(end)?;
    let marks = text.iter().rev().take_while(|octet| **octet == 0xff).count();
    let text = text.get(..text.len() - marks).unwrap_or_default();
    Some((String::from_utf8_lossy(text).into_owned(), rest.get(1..).unwrap_or_default()))
}

fn options(mut bytes: &[u8]) -> Vec<(String, String)> {
    let mut options = Vec::new();
    while options.len() < Packet::MAX_OPTIONS {
        let Some((name, rest)) = text(bytes).filter(|(name, _)| !name.is_empty()) else { break };
        let Some((value, rest)) = text(rest) else { break };
        options.push((name, value));
        bytes = rest;
    }
    options
}

fn texts<'a>(texts: impl IntoIterator<Item = &'a String>) -> Vec<u8> {
    texts.into_iter().flat_map(|text| text.bytes().chain([0])).collect()
}

fn pairs(options: &[(String, String)]) -> Vec<u8> {
    texts(options.iter().flat_map(|(name, value)| [name, value]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_packet() -> impl Strategy<Value = Packet> {
        let options = || prop::collection::vec(("[a-z]{1,9}", "[0-9]{1,5}"), 0..4);
        prop_oneof![
            ("[ -~]{0,80}", "[a-zA-Z]{1,8}", options()).prop_map(|(file, mode, options)| Packet::Read {
                file,
                mode,
                options
            }),
            (any::<u16>(), prop::collection::vec(any::<u8>(), 0..600))
                .prop_map(|(block, data)| Packet::Data { block, data }),
            any::<u16>().prop_map(|block| Packet::Ack { block }),
            (any::<u16>(), "[ -~]{0,80}").prop_map(|(code, message)| Packet::Error { code, message }),
            options().prop_map(|options| Packet::OptionAck { options }),
        ]
    }

    #[test]
    fn old_roms_are_understood() {
        let read = |file: &str, options: &[(&str, &str)]| Packet::Read {
            file: file.into(),
            mode: "octet".into(),
            options: options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        };
        for (message, expected) in [
            (&b"\0\x01ipxe.efi\xff\0octet\0"[..], read("ipxe.efi", &[])),
            (b"\0\x01ipxe.efi\0octet\0tsize\x000\0\0\0\0\0\0", read("ipxe.efi", &[("tsize", "0")])),
            (b"\0\x01ipxe.efi\0octet\0tsize\x000\0blksize\x00146", read("ipxe.efi", &[("tsize", "0")])),
            (b"\0\x01\xe9\0octet\0", read("\u{fffd}", &[])),
        ] {
            assert_eq!(Packet::decode(message).as_ref(), Ok(&expected), "{}", message.escape_ascii());
        }
        let many = [b"\0\x01a\0octet\0".as_slice(), &b"x\x001\0".repeat(400)].concat();
        let Ok(Packet::Read { options, .. }) = Packet::decode(&many) else { panic!() };
        assert_eq!(options.len(), Packet::MAX_OPTIONS);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(packet in any_packet()) {
            prop_assert_eq!(Packet::decode(&packet.encode()), Ok(packet));
        }

        #[test]
        fn nothing_makes_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..700), opcode in 0u8..8) {
            let _ = Packet::decode(&bytes);
            let _ = Packet::decode(&[&[0, opcode], bytes.as_slice()].concat());
        }
    }
}
