//! DHCPv6 options as they are on the wire (RFC 8415, section 21): an ordered list of codes and octets, read through
//! accessors, so that a malformed option hides itself and none of its neighbours.

use std::net::Ipv6Addr;

use super::packet::DecodeError;

/// Option codes used here (RFC 8415 unless noted).
pub(crate) mod code {
    pub(crate) const CLIENT_ID: u16 = 1;
    pub(crate) const SERVER_ID: u16 = 2;
    pub(crate) const IA_NA: u16 = 3;
    pub(crate) const IA_TA: u16 = 4;
    pub(crate) const IA_ADDRESS: u16 = 5;
    pub(crate) const RELAY_MESSAGE: u16 = 9;
    pub(crate) const STATUS: u16 = 13;
    pub(crate) const RAPID_COMMIT: u16 = 14;
    pub(crate) const USER_CLASS: u16 = 15;
    pub(crate) const VENDOR_CLASS: u16 = 16;
    pub(crate) const INTERFACE_ID: u16 = 18;
    /// RFC 3646.
    pub(crate) const DNS: u16 = 23;
    pub(crate) const IA_PD: u16 = 25;
    /// RFC 4649.
    pub(crate) const REMOTE_ID: u16 = 37;
    /// RFC 5970.
    pub(crate) const BOOT_FILE_URL: u16 = 59;
    /// RFC 5970.
    pub(crate) const CLIENT_ARCH: u16 = 61;
    /// RFC 6939.
    pub(crate) const CLIENT_LINK_LAYER: u16 = 79;
    /// RFC 8357.
    pub(crate) const RELAY_PORT: u16 = 135;
}

/// An ordered list of `(code, value)`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options(Vec<(u16, Vec<u8>)>);

impl Options {
    /// Reads options to the end of `field`.
    ///
    /// # Errors
    /// [`DecodeError`] if one is longer than what is left.
    pub(super) fn decode(field: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self(split(field)?.into_iter().map(|(code, value)| (code, value.to_vec())).collect()))
    }

    /// Appends the options as octets.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for (code, value) in &self.0 {
            // Nothing longer is made here: what is echoed came in one datagram.
            let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
            out.extend_from_slice(&code.to_be_bytes());
            out.extend_from_slice(&len.to_be_bytes());
            out.extend_from_slice(value.get(..len.into()).unwrap_or_default());
        }
    }

    /// Appends an option.
    pub fn push(&mut self, code: u16, value: impl Into<Vec<u8>>) {
        self.0.push((code, value.into()));
    }

    /// The (first) value of an option.
    pub fn get(&self, code: u16) -> Option<&[u8]> {
        self.all(code).next()
    }

    /// All values of an option that may come more than once.
    pub fn all(&self, code: u16) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter(move |(c, _)| *c == code).map(|(_, value)| value.as_slice())
    }

    /// True if the option is there, whatever its value.
    pub fn has(&self, code: u16) -> bool {
        self.get(code).is_some()
    }

    /// An option with a list of 16-bit numbers; an odd last octet makes it invalid.
    pub fn u16_list(&self, code: u16) -> Option<Vec<u16>> {
        let (pairs, []) = self.get(code)?.as_chunks::<2>() else { return None };
        Some(pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect())
    }

    /// The texts of a user class (option 15), each with its length before it. iPXE's old builds send a bare word.
    pub(super) fn user_classes(&self) -> Vec<&[u8]> {
        let value = self.get(code::USER_CLASS).unwrap_or_default();
        let texts = texts(value);
        if texts.is_empty() && !value.is_empty() { vec![value] } else { texts }
    }

    /// The enterprise number and the texts of the vendor class (option 16).
    pub(super) fn vendor_class(&self) -> Option<(u32, Vec<&[u8]>)> {
        let (enterprise, rest) = self.get(code::VENDOR_CLASS)?.split_first_chunk::<4>()?;
        Some((u32::from_be_bytes(*enterprise), texts(rest)))
    }

    /// The list, as it was received or built.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.0.iter().map(|(code, value)| (*code, value.as_slice()))
    }
}

/// The options of a field, where they lie.
pub(super) fn split(mut field: &[u8]) -> Result<Vec<(u16, &[u8])>, DecodeError> {
    let mut options = Vec::new();
    while !field.is_empty() {
        let (code, rest) = number(field).ok_or(DecodeError::Truncated)?;
        let (len, rest) = number(rest).ok_or(DecodeError::Truncated)?;
        let (value, rest) = rest.split_at_checked(len.into()).ok_or(DecodeError::OptionOverrun { code })?;
        options.push((code, value));
        field = rest;
    }
    Ok(options)
}

fn number(octets: &[u8]) -> Option<(u16, &[u8])> {
    octets.split_first_chunk::<2>().map(|(number, rest)| (u16::from_be_bytes(*number), rest))
}

/// Texts with a length of two octets before each, up to the first that is not whole.
fn texts(mut octets: &[u8]) -> Vec<&[u8]> {
    let mut texts = Vec::new();
    while let Some((len, rest)) = number(octets) {
        let Some((text, rest)) = rest.split_at_checked(len.into()) else { break };
        texts.push(text);
        octets = rest;
    }
    texts
}

/// One identity association for addresses (option 3) as a client sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Association {
    /// The client's own number for it.
    pub(super) iaid: u32,
    /// The addresses that the client names.
    pub(super) addresses: Vec<Ipv6Addr>,
}

impl Association {
    /// `None` where it is malformed.
    pub(super) fn decode(value: &[u8]) -> Option<Self> {
        let (iaid, rest) = value.split_first_chunk::<4>()?;
        let options = Options::decode(rest.get(8..)?).ok()?;
        let address = |value: &[u8]| value.first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets));
        let addresses = options.all(code::IA_ADDRESS).filter_map(address).collect();
        Some(Self { iaid: u32::from_be_bytes(*iaid), addresses })
    }
}
