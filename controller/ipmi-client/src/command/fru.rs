//! Field replaceable units' inventory areas, read by pieces (§34).

use super::{Command, STORAGE};
use crate::Malformed;
use crate::bytes::Reader;

/// Get FRU Inventory Area Info (§34.1).
#[derive(Clone, Copy, Debug)]
pub struct GetFruAreaInfo {
    /// The FRU device; 0 is the BMC's own board.
    pub device: u8,
}

/// How large an area is, and how it is addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FruAreaInfo {
    /// Length in bytes.
    pub length: u16,
    /// Whether offsets and counts are in 16-bit words.
    pub by_words: bool,
}

impl Command for GetFruAreaInfo {
    type Answer = FruAreaInfo;
    const NAME: &'static str = "get fru inventory area info";
    const NETWORK_FUNCTION: u8 = STORAGE;
    const NUMBER: u8 = 0x10;

    fn data(&self) -> Vec<u8> {
        vec![self.device]
    }

    fn parse(data: &[u8]) -> Result<FruAreaInfo, Malformed> {
        let mut reader = Reader::new("get fru inventory area info response", data);
        Ok(FruAreaInfo { length: reader.u16_le()?, by_words: reader.u8()? & 0x01 != 0 })
    }
}

/// Read FRU Data (§34.2). Offset and count are in the area's units.
#[derive(Clone, Copy, Debug)]
pub struct ReadFruData {
    /// The FRU device.
    pub device: u8,
    /// Where to read.
    pub offset: u16,
    /// How much.
    pub count: u8,
}

/// A piece of an area, perhaps shorter than was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FruPiece {
    /// How much the BMC says it read, in the area's units.
    pub count: u8,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Command for ReadFruData {
    type Answer = FruPiece;
    const NAME: &'static str = "read fru data";
    const NETWORK_FUNCTION: u8 = STORAGE;
    const NUMBER: u8 = 0x11;

    fn data(&self) -> Vec<u8> {
        let [low, high] = self.offset.to_le_bytes();
        vec![self.device, low, high, self.count]
    }

    fn parse(data: &[u8]) -> Result<FruPiece, Malformed> {
        let mut reader = Reader::new("read fru data response", data);
        Ok(FruPiece { count: reader.u8()?, bytes: reader.rest().to_vec() })
    }
}
