//! Sensor data records, read by pieces (§33, §35): from the BMC's repository, or where there is none from the BMC as a
//! device with sensors.

use std::marker::PhantomData;

use super::{Command, SENSOR_EVENT, STORAGE};
use crate::Malformed;
use crate::bytes::Reader;

/// Where records are kept, and by which commands they are read.
pub trait SdrSource: Copy + Send + Sync {
    /// Their network function.
    const NETWORK_FUNCTION: u8;
    /// Reserving.
    const RESERVE: u8;
    /// Reading.
    const GET: u8;
}

/// The BMC's SDR repository (§33).
#[derive(Clone, Copy, Debug)]
pub struct Repository;

impl SdrSource for Repository {
    const NETWORK_FUNCTION: u8 = STORAGE;
    const RESERVE: u8 = 0x22;
    const GET: u8 = 0x23;
}

/// The BMC's own device SDRs (§35).
#[derive(Clone, Copy, Debug)]
pub struct DeviceRecords;

impl SdrSource for DeviceRecords {
    const NETWORK_FUNCTION: u8 = SENSOR_EVENT;
    const RESERVE: u8 = 0x22;
    const GET: u8 = 0x21;
}

/// Reserve SDR Repository (§33.11) or Reserve Device SDR Repository (§35.4): lost whenever a record changes.
#[derive(Clone, Copy, Debug)]
pub struct ReserveSdr<S>(PhantomData<S>);

impl<S> ReserveSdr<S> {
    /// The command.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<S> Default for ReserveSdr<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: SdrSource> Command for ReserveSdr<S> {
    type Answer = u16;
    const NAME: &'static str = "reserve sdr repository";
    const NETWORK_FUNCTION: u8 = S::NETWORK_FUNCTION;
    const NUMBER: u8 = S::RESERVE;

    fn data(&self) -> Vec<u8> {
        Vec::new()
    }

    fn parse(data: &[u8]) -> Result<u16, Malformed> {
        Reader::new("reserve sdr repository response", data).u16_le()
    }
}

/// Get SDR (§33.12) or Get Device SDR (§35.3): a piece of a record.
#[derive(Clone, Copy, Debug)]
pub struct GetSdr<S> {
    /// From [`ReserveSdr`]; may be 0 when `offset` is.
    pub reservation: u16,
    /// The record's id, 0 for the first.
    pub record: u16,
    /// The piece's place in the record.
    pub offset: u8,
    /// Its length.
    pub count: u8,
    /// Where records are kept.
    pub source: S,
}

/// A piece of a record, and which record comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SdrPiece {
    /// The next record's id, `0xffff` after the last.
    pub next: u16,
    /// The piece, perhaps shorter than was asked for.
    pub bytes: Vec<u8>,
}

impl<S: SdrSource> Command for GetSdr<S> {
    type Answer = SdrPiece;
    const NAME: &'static str = "get sdr";
    const NETWORK_FUNCTION: u8 = S::NETWORK_FUNCTION;
    const NUMBER: u8 = S::GET;

    fn data(&self) -> Vec<u8> {
        [&self.reservation.to_le_bytes()[..], &self.record.to_le_bytes(), &[self.offset, self.count]].concat()
    }

    fn parse(data: &[u8]) -> Result<SdrPiece, Malformed> {
        let mut reader = Reader::new("get sdr response", data);
        Ok(SdrPiece { next: reader.u16_le()?, bytes: reader.rest().to_vec() })
    }
}
