//! The wire format of protobuf: fields with a number and a payload. Knows no messages.

use super::Error;

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

impl Payload<'_> {
    pub(super) fn wire_type(self) -> u8 {
        match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Fixed32 => 5,
        }
    }
}

pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Payload<'a>)>, Error> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).map_err(|_| Error::Overflow)?;
        if number == 0 {
            return Err(Error::Tag);
        }
        let payload = match (tag & 7) as u8 {
            0 => Payload::Varint(self.varint()?),
            1 => Payload::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| Error::Short)?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Error::Overflow)?;
                Payload::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Payload::Fixed32
            }
            other => return Err(Error::WireType(other)),
        };
        Ok(Some((number, payload)))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Error::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(Error::Short)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::Overflow)
    }
}
