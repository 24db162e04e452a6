//! DHCP options as they are on the wire: an ordered list of codes and octets. Values are read through accessors, so that
//! a malformed option hides itself and none of its neighbours.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use uuid::Uuid;

/// Option codes used here (RFC 2132 unless noted).
pub(crate) mod code {
    pub(crate) const PAD: u8 = 0;
    pub(crate) const SUBNET_MASK: u8 = 1;
    pub(crate) const ROUTER: u8 = 3;
    pub(crate) const DNS: u8 = 6;
    pub(crate) const DOMAIN: u8 = 15;
    pub(crate) const NTP: u8 = 42;
    pub(crate) const VENDOR_SPECIFIC: u8 = 43;
    pub(crate) const REQUESTED_ADDRESS: u8 = 50;
    pub(crate) const LEASE_TIME: u8 = 51;
    pub(crate) const OVERLOAD: u8 = 52;
    pub(crate) const MESSAGE_TYPE: u8 = 53;
    pub(crate) const SERVER_ID: u8 = 54;
    pub(crate) const PARAMETERS: u8 = 55;
    pub(crate) const MESSAGE: u8 = 56;
    pub(crate) const MAX_SIZE: u8 = 57;
    pub(crate) const RENEWAL_TIME: u8 = 58;
    pub(crate) const REBINDING_TIME: u8 = 59;
    pub(crate) const VENDOR_CLASS: u8 = 60;
    pub(crate) const CLIENT_ID: u8 = 61;
    pub(crate) const TFTP_SERVER: u8 = 66;
    pub(crate) const BOOT_FILE: u8 = 67;
    /// RFC 3004.
    pub(crate) const USER_CLASS: u8 = 77;
    /// RFC 3046.
    pub(crate) const RELAY_AGENT: u8 = 82;
    /// RFC 4578.
    pub(crate) const CLIENT_ARCH: u8 = 93;
    /// RFC 4578.
    pub(crate) const CLIENT_UUID: u8 = 97;
    /// RFC 3442.
    pub(crate) const CLASSLESS_ROUTES: u8 = 121;
    /// iPXE's own encapsulated options.
    pub(crate) const IPXE: u8 = 175;
    pub(crate) const END: u8 = 255;
}

/// An ordered list of `(code, value)`; a code may occur more than once (RFC 3396).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Code and length of each option; the values follow one another in `values`.
    list: Vec<(u8, usize)>,
    values: Vec<u8>,
}

impl Options {
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Room for what an ordinary message holds.
    pub(super) fn with_room() -> Self {
        Self { list: Vec::with_capacity(24), values: Vec::with_capacity(320) }
    }

    /// Appends an option. Values over 255 octets are split on the wire (RFC 3396).
    pub fn push(&mut self, code: u8, value: impl AsRef<[u8]>) {
        let value = value.as_ref();
        self.list.push((code, value.len()));
        self.values.extend_from_slice(value);
    }

    /// Appends an option with one address.
    pub fn push_address(&mut self, code: u8, value: Ipv4Addr) {
        self.push(code, value.octets());
    }

    /// Appends an option with one 32-bit number.
    pub fn push_u32(&mut self, code: u8, value: u32) {
        self.push(code, value.to_be_bytes());
    }

    /// The value of an option: all its occurrences joined, as RFC 3396 says.
    pub fn get(&self, code: u8) -> Option<Cow<'_, [u8]>> {
        let mut parts = self.iter().filter(|(c, _)| *c == code).map(|(_, value)| value);
        let first = parts.next()?;
        Some(match parts.next() {
            None => Cow::Borrowed(first),
            Some(second) => {
                let mut joined = [first, second].concat();
                parts.for_each(|part| joined.extend_from_slice(part));
                Cow::Owned(joined)
            }
        })
    }

    /// True if the option is there, whatever its value.
    pub fn has(&self, code: u8) -> bool {
        self.list.iter().any(|(c, _)| *c == code)
    }

    /// An option with one octet.
    pub fn octet(&self, code: u8) -> Option<u8> {
        <[u8; 1]>::try_from(self.get(code)?.as_ref()).ok().map(|[octet]| octet)
    }

    /// An option with one address.
    pub fn address(&self, code: u8) -> Option<Ipv4Addr> {
        <[u8; 4]>::try_from(self.get(code)?.as_ref()).ok().map(Ipv4Addr::from)
    }

    /// An option with a list of 16-bit numbers; an odd last octet makes it invalid.
    pub fn u16_list(&self, code: u8) -> Option<Vec<u16>> {
        let value = self.get(code)?;
        let (pairs, []) = value.as_chunks::<2>() else { return None };
        Some(pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect())
    }

    /// Option 97 of RFC 4578: type 0, then 16 octets in the order they arrived. All zeros or all ones is no identity.
    pub fn client_uuid(&self) -> Option<Uuid> {
        let value = self.get(code::CLIENT_UUID)?;
        let (0, octets) = value.split_first()? else { return None };
        let octets = <[u8; 16]>::try_from(octets).ok()?;
        (octets != [0; 16] && octets != [0xff; 16]).then(|| Uuid::from_bytes(octets))
    }

    /// The client asks for this option (option 55).
    pub(super) fn asks_for(&self, code: u8) -> bool {
        self.iter().any(|(c, value)| c == code::PARAMETERS && value.contains(&code))
    }

    /// The list, as it was received or built.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &[u8])> {
        let mut values = self.values.as_slice();
        self.list.iter().map(move |(code, len)| {
            let (value, rest) = values.split_at_checked(*len).unwrap_or_default();
            values = rest;
            (*code, value)
        })
    }

    /// Octets that they take on the wire, without the end mark.
    pub(super) fn encoded_len(&self) -> usize {
        self.list.iter().map(|(_, len)| encoded_len(*len)).sum()
    }

    /// Reads options up to the end mark or the end of the field, appending to `self`. An option that runs past the end
    /// is left out; those before it count. True if there was none.
    pub(super) fn decode_into(&mut self, mut field: &[u8]) -> bool {
        while let Some((&code, rest)) = field.split_first() {
            field = rest;
            match code {
                code::PAD => continue,
                code::END => return true,
                _ => {}
            }
            let value = field.split_first().and_then(|(len, rest)| rest.split_at_checked(usize::from(*len)));
            let Some((value, rest)) = value else { return false };
            self.push(code, value);
            field = rest;
        }
        true
    }

    /// Appends the options and the end mark.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for (code, value) in self.iter() {
            if value.is_empty() {
                out.extend_from_slice(&[code, 0]);
            }
            for part in value.chunks(255) {
                out.push(code);
                out.push(u8::try_from(part.len()).unwrap_or(u8::MAX));
                out.extend_from_slice(part);
            }
        }
        out.push(code::END);
    }
}

/// Octets that a value takes on the wire: two more for each part of up to 255.
pub(super) fn encoded_len(len: usize) -> usize {
    len + 2 * len.div_ceil(255).max(1)
}
