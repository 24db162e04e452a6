//! Reading fields off a datagram without ever running past its end.

use crate::Malformed;

pub(crate) struct Reader<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads `data`; `what` names it in errors.
    pub(crate) fn new(what: &'static str, data: &'a [u8]) -> Self {
        Self { what, rest: data }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) =
            self.rest.split_at_checked(count).ok_or(Malformed { what: self.what, why: "is too short" })?;
        self.rest = tail;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.rest.split_first_chunk().ok_or(Malformed { what: self.what, why: "is too short" })?;
        self.rest = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16_le(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32_le(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn fail<T>(&self, why: &'static str) -> Result<T, Malformed> {
        Err(Malformed { what: self.what, why })
    }
}
