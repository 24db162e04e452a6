//! The system event log (§31): size, reservation, one entry at a time. Clearing it is not here: the log is evidence.

use super::{Command, STORAGE};
use crate::Malformed;
use crate::bytes::Reader;

/// Get SEL Info (§31.2).
#[derive(Clone, Copy, Debug)]
pub struct GetSelInfo;

/// How full the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelInfo {
    /// Entries in it.
    pub entries: u16,
    /// Bytes left; `0xffff` for "that or more".
    pub free_bytes: u16,
    /// When an entry was last added, seconds since 1970 by the BMC's clock; `0xffff_ffff` for never.
    pub last_added: u32,
    /// When the log was last cleared.
    pub last_cleared: u32,
    /// Whether [`ReserveSel`] is known.
    pub reserves: bool,
    /// Whether events were lost for want of space.
    pub overflowed: bool,
}

impl Command for GetSelInfo {
    type Answer = SelInfo;
    const NAME: &'static str = "get sel info";
    const NETWORK_FUNCTION: u8 = STORAGE;
    const NUMBER: u8 = 0x40;

    fn data(&self) -> Vec<u8> {
        Vec::new()
    }

    fn parse(data: &[u8]) -> Result<SelInfo, Malformed> {
        let mut reader = Reader::new("get sel info response", data);
        let _version = reader.u8()?;
        let (entries, free_bytes) = (reader.u16_le()?, reader.u16_le()?);
        let (last_added, last_cleared) = (reader.u32_le()?, reader.u32_le()?);
        let support = reader.u8()?;
        let (reserves, overflowed) = (support & 0x02 != 0, support & 0x80 != 0);
        Ok(SelInfo { entries, free_bytes, last_added, last_cleared, reserves, overflowed })
    }
}

/// Reserve SEL (§31.4): the answer goes with reads until someone clears the log.
#[derive(Clone, Copy, Debug)]
pub struct ReserveSel;

impl Command for ReserveSel {
    type Answer = u16;
    const NAME: &'static str = "reserve sel";
    const NETWORK_FUNCTION: u8 = STORAGE;
    const NUMBER: u8 = 0x42;

    fn data(&self) -> Vec<u8> {
        Vec::new()
    }

    fn parse(data: &[u8]) -> Result<u16, Malformed> {
        Reader::new("reserve sel response", data).u16_le()
    }
}

/// Get SEL Entry (§31.5), a whole one.
#[derive(Clone, Copy, Debug)]
pub struct GetSelEntry {
    /// From [`ReserveSel`], or 0.
    pub reservation: u16,
    /// Which entry: 0 for the first, `0xffff` for the last.
    pub record: u16,
}

/// One entry's bytes, and where the log goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelEntryBytes {
    /// The next entry's id, `0xffff` after the last.
    pub next: u16,
    /// The entry.
    pub bytes: [u8; 16],
}

impl Command for GetSelEntry {
    type Answer = SelEntryBytes;
    const NAME: &'static str = "get sel entry";
    const NETWORK_FUNCTION: u8 = STORAGE;
    const NUMBER: u8 = 0x43;

    fn data(&self) -> Vec<u8> {
        const WHOLE: u8 = 0xff;
        [&self.reservation.to_le_bytes()[..], &self.record.to_le_bytes(), &[0, WHOLE]].concat()
    }

    fn parse(data: &[u8]) -> Result<SelEntryBytes, Malformed> {
        let mut reader = Reader::new("get sel entry response", data);
        Ok(SelEntryBytes { next: reader.u16_le()?, bytes: reader.array()? })
    }
}
