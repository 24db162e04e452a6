//! Who the BMC and its system are.

use super::{APPLICATION, Command};
use crate::Malformed;
use crate::bytes::Reader;

/// Get Device ID (§20.1).
#[derive(Clone, Copy, Debug)]
pub struct GetDeviceId;

/// What a BMC says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceId {
    /// Device id, meaningful to the manufacturer.
    pub device: u8,
    /// Device hardware revision.
    pub revision: u8,
    /// Firmware major revision.
    pub firmware_major: u8,
    /// Firmware minor revision, decoded from BCD; 255 when the BMC does not write BCD.
    pub firmware_minor: u8,
    /// Whether the device is starting up or being updated rather than in normal operation.
    pub is_updating: bool,
    /// Whether it has sensors of its own.
    pub has_sensors: bool,
    /// Whether it keeps an SDR repository.
    pub has_sdr_repository: bool,
    /// Whether it keeps a system event log.
    pub has_sel: bool,
    /// Whether it keeps FRU inventories.
    pub has_fru: bool,
    /// IANA enterprise number; 0 when unspecified.
    pub manufacturer: u32,
    /// Product number, the manufacturer's own.
    pub product: u16,
}

impl Command for GetDeviceId {
    type Answer = DeviceId;
    const NAME: &'static str = "get device id";
    const NETWORK_FUNCTION: u8 = APPLICATION;
    const NUMBER: u8 = 0x01;

    fn data(&self) -> Vec<u8> {
        Vec::new()
    }

    fn parse(data: &[u8]) -> Result<DeviceId, Malformed> {
        let mut reader = Reader::new("get device id response", data);
        let [device, revision, firmware_1, firmware_2, _ipmi_version, support] = reader.array()?;
        let [m0, m1, m2] = reader.array()?;
        Ok(DeviceId {
            device,
            revision: revision & 0x0f,
            firmware_major: firmware_1 & 0x7f,
            firmware_minor: from_bcd(firmware_2),
            is_updating: firmware_1 & 0x80 != 0,
            has_sensors: support & 0x01 != 0,
            has_sdr_repository: support & 0x02 != 0,
            has_sel: support & 0x04 != 0,
            has_fru: support & 0x08 != 0,
            // 20 bits; the upper nibble is reserved.
            manufacturer: u32::from_le_bytes([m0, m1, m2 & 0x0f, 0]),
            product: reader.u16_le()?,
        })
    }
}

fn from_bcd(byte: u8) -> u8 {
    let (tens, ones) = (byte >> 4, byte & 0x0f);
    if tens > 9 || ones > 9 { u8::MAX } else { tens * 10 + ones }
}

/// Get System GUID (§22.14): 16 bytes, whose order BMCs disagree on.
#[derive(Clone, Copy, Debug)]
pub struct GetSystemGuid;

impl Command for GetSystemGuid {
    type Answer = [u8; 16];
    const NAME: &'static str = "get system guid";
    const NETWORK_FUNCTION: u8 = APPLICATION;
    const NUMBER: u8 = 0x37;

    fn data(&self) -> Vec<u8> {
        Vec::new()
    }

    fn parse(data: &[u8]) -> Result<[u8; 16], Malformed> {
        Reader::new("get system guid response", data).array()
    }
}
