//! Packets of serial over LAN (§15.9).

use crate::Malformed;
use crate::bytes::Reader;

/// Not acknowledged: the receiver has no room.
pub(super) const NACK: u8 = 0x40;
/// From the BMC: characters are not transferred now.
pub(super) const UNAVAILABLE: u8 = 0x20;
/// From the console: send a break. From the BMC: the payload is deactivated.
pub(super) const BREAK_OR_DEACTIVATED: u8 = 0x10;
/// From the BMC: characters were lost before they could be sent.
pub(super) const OVERRUN: u8 = 0x08;

/// A packet, either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SolPacket<'a> {
    /// The packet's own number, 1 to 15; 0 for one that wants no acknowledgement.
    pub sequence: u8,
    /// Whose number is acknowledged; 0 for nobody's.
    pub acknowledged: u8,
    /// How many of its characters were accepted.
    pub accepted: u8,
    /// Operation (to the BMC) or status (from it).
    pub flags: u8,
    /// The characters.
    pub data: &'a [u8],
}

impl<'a> SolPacket<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    /// When it is too short.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("serial over lan packet", payload);
        let [sequence, acknowledged, accepted, flags] = reader.array()?;
        let (sequence, acknowledged) = (sequence & 0x0f, acknowledged & 0x0f);
        Ok(Self { sequence, acknowledged, accepted, flags, data: reader.rest() })
    }

    /// The payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = vec![self.sequence, self.acknowledged, self.accepted, self.flags];
        payload.extend_from_slice(self.data);
        payload
    }
}
