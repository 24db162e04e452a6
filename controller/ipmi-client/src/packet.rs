//! RMCP+ session packets (§13.6): the envelope of every IPMI 2.0 message on the wire, with authentication left to
//! the [`session`](crate::session).

use crate::Malformed;
use crate::bytes::Reader;

/// RMCP version 1.0, no RMCP acknowledge, message class IPMI (§13.1.3).
const RMCP_HEADER: [u8; 4] = [0x06, 0x00, 0xff, 0x07];
/// Session header format of RMCP+ (§13.6).
const FORMAT_RMCP_PLUS: u8 = 0x06;
const ENCRYPTED: u8 = 0x80;
const AUTHENTICATED: u8 = 0x40;
/// Reserved "next header" value that closes an authenticated packet.
const NEXT_HEADER: u8 = 0x07;

/// What a packet carries (§13.27.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadType {
    /// An IPMI message.
    Ipmi,
    /// Characters of the serial console.
    SerialOverLan,
    /// Open Session Request.
    OpenSessionRequest,
    /// Open Session Response.
    OpenSessionResponse,
    /// RAKP message 1.
    Rakp1,
    /// RAKP message 2.
    Rakp2,
    /// RAKP message 3.
    Rakp3,
    /// RAKP message 4.
    Rakp4,
    /// Anything else, by number.
    Other(u8),
}

impl PayloadType {
    const fn number(self) -> u8 {
        match self {
            Self::Ipmi => 0x00,
            Self::SerialOverLan => 0x01,
            Self::OpenSessionRequest => 0x10,
            Self::OpenSessionResponse => 0x11,
            Self::Rakp1 => 0x12,
            Self::Rakp2 => 0x13,
            Self::Rakp3 => 0x14,
            Self::Rakp4 => 0x15,
            Self::Other(number) => number,
        }
    }

    const fn from_number(number: u8) -> Self {
        match number {
            0x00 => Self::Ipmi,
            0x01 => Self::SerialOverLan,
            0x10 => Self::OpenSessionRequest,
            0x11 => Self::OpenSessionResponse,
            0x12 => Self::Rakp1,
            0x13 => Self::Rakp2,
            0x14 => Self::Rakp3,
            0x15 => Self::Rakp4,
            number => Self::Other(number),
        }
    }
}

/// A packet as it came in, its payload still encrypted if it was.
#[derive(Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// What the payload is.
    pub payload_type: PayloadType,
    /// Whether the payload is encrypted.
    pub encrypted: bool,
    /// The receiver's session id, 0 outside a session.
    pub session_id: u32,
    /// The sender's count within the session, 0 outside.
    pub sequence: u32,
    /// The payload.
    pub payload: &'a [u8],
    /// Present when the packet says it is authenticated: from the session header to the datagram's end. The last bytes
    /// are the authentication code, the rest is what it covers; the session knows how many.
    pub signed: Option<&'a [u8]>,
}

/// A packet outside any session.
#[must_use]
pub fn encode_plain(payload_type: PayloadType, payload: &[u8]) -> Vec<u8> {
    encode(payload_type.number(), 0, 0, payload)
}

/// An encrypted, authenticated packet up to and including its "next header" byte, and where the part to authenticate
/// begins; the caller appends the code.
#[must_use]
pub fn encode_sealed(payload_type: PayloadType, session_id: u32, sequence: u32, encrypted: &[u8]) -> (Vec<u8>, usize) {
    let mut packet = encode(payload_type.number() | ENCRYPTED | AUTHENTICATED, session_id, sequence, encrypted);
    let start = RMCP_HEADER.len();
    // Pad so that the covered part, with its two closing bytes, is a multiple of four bytes (§13.6).
    let pad = (4 - (packet.len() - start + 2) % 4) % 4;
    packet.extend(std::iter::repeat_n(0xff, pad));
    packet.push(u8::try_from(pad).unwrap_or_default());
    packet.push(NEXT_HEADER);
    (packet, start)
}

fn encode(type_byte: u8, session_id: u32, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::with_capacity(payload.len() + 64);
    packet.extend_from_slice(&RMCP_HEADER);
    packet.push(FORMAT_RMCP_PLUS);
    packet.push(type_byte);
    packet.extend_from_slice(&session_id.to_le_bytes());
    packet.extend_from_slice(&sequence.to_le_bytes());
    packet.extend_from_slice(&u16::try_from(payload.len()).unwrap_or(u16::MAX).to_le_bytes());
    packet.extend_from_slice(payload);
    packet
}

/// Reads a datagram.
///
/// # Errors
/// When it is not an RMCP+ packet, as a pong or an IPMI 1.5 message is not.
pub fn decode(datagram: &[u8]) -> Result<Packet<'_>, Malformed> {
    let mut rmcp = Reader::new("rmcp packet", datagram);
    let [version, _reserved, _sequence, class] = rmcp.array()?;
    if version != 0x06 || class != 0x07 {
        return rmcp.fail("is not ipmi over rmcp 1.0");
    }
    decode_session(rmcp.rest())
}

/// Reads a datagram's session part, after the RMCP header.
///
/// # Errors
/// As [`decode`].
pub fn decode_session(session: &[u8]) -> Result<Packet<'_>, Malformed> {
    let mut reader = Reader::new("rmcp+ session packet", session);
    if reader.u8()? & 0x0f != FORMAT_RMCP_PLUS {
        return reader.fail("is not in rmcp+ format");
    }
    let type_byte = reader.u8()?;
    let number = type_byte & 0x3f;
    if number == 0x02 {
        return reader.fail("carries an oem payload");
    }
    let session_id = reader.u32_le()?;
    let sequence = reader.u32_le()?;
    let length = usize::from(reader.u16_le()?);
    let payload = reader.take(length)?;
    Ok(Packet {
        payload_type: PayloadType::from_number(number),
        encrypted: type_byte & ENCRYPTED != 0,
        session_id,
        sequence,
        payload,
        // Pad and trailer are covered by the code and say nothing that is needed.
        signed: (type_byte & AUTHENTICATED != 0).then_some(session),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn decoding_anything_never_panics(mut datagram: Vec<u8>, looks_right: bool) {
            if looks_right {
                datagram.splice(0..0, [6, 0, 0xff, 7, 6]);
            }
            let _ = decode(&datagram);
        }

        #[test]
        fn plain_packets_round_trip(payload: Vec<u8>) {
            let datagram = encode_plain(PayloadType::Rakp1, &payload);
            let packet = decode(&datagram).unwrap();
            proptest::prop_assert_eq!(packet.payload, &payload[..]);
            proptest::prop_assert_eq!(packet.payload_type, PayloadType::Rakp1);
            proptest::prop_assert_eq!((packet.session_id, packet.sequence, packet.signed), (0, 0, None));
        }

        #[test]
        fn sealed_packets_round_trip(id: u32, sequence: u32, payload: Vec<u8>, code: [u8; 12]) {
            let (mut datagram, start) = encode_sealed(PayloadType::Ipmi, id, sequence, &payload);
            proptest::prop_assert_eq!((datagram.len() - start) % 4, 0);
            datagram.extend(code);
            let packet = decode(&datagram).unwrap();
            proptest::prop_assert_eq!((packet.session_id, packet.sequence, packet.payload), (id, sequence, &payload[..]));
            proptest::prop_assert_eq!(packet.signed.unwrap(), &datagram[start..]);
        }
    }
}
