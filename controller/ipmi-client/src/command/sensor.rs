//! Sensors (§35): what they read now, and their limits.

use super::{Command, SENSOR_EVENT};
use crate::Malformed;
use crate::bytes::Reader;

/// Get Sensor Reading (§35.14).
#[derive(Clone, Copy, Debug)]
pub struct GetSensorReading {
    /// The sensor's number.
    pub number: u8,
    /// The logical unit it is on.
    pub lun: u8,
}

/// A sensor's answer, still in the sensor's own units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawReading {
    /// The reading; of no meaning when `unavailable`.
    pub raw: u8,
    /// Whether there is no reading, as from a fan that is not there or a server that is off.
    pub unavailable: bool,
    /// For sensors with thresholds: which are crossed; for discrete ones: which states are asserted. 15 bits.
    pub states: u16,
}

impl Command for GetSensorReading {
    type Answer = RawReading;
    const NAME: &'static str = "get sensor reading";
    const NETWORK_FUNCTION: u8 = SENSOR_EVENT;
    const NUMBER: u8 = 0x2d;

    fn lun(&self) -> u8 {
        self.lun
    }

    fn data(&self) -> Vec<u8> {
        vec![self.number]
    }

    fn parse(data: &[u8]) -> Result<RawReading, Malformed> {
        const NO_READING: u8 = 0x20;
        const SCANNING: u8 = 0x40;
        let mut reader = Reader::new("get sensor reading response", data);
        let [raw, flags] = reader.array()?;
        // Both bytes of states are optional.
        let low = reader.u8().unwrap_or(0);
        let high = reader.u8().unwrap_or(0);
        let unavailable = flags & NO_READING != 0 || flags & SCANNING == 0;
        Ok(RawReading { raw, unavailable, states: u16::from_le_bytes([low, high & 0x7f]) })
    }
}

/// Get Sensor Thresholds (§35.9).
#[derive(Clone, Copy, Debug)]
pub struct GetSensorThresholds {
    /// The sensor's number.
    pub number: u8,
    /// The logical unit it is on.
    pub lun: u8,
}

/// Raw thresholds, those the sensor has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawThresholds {
    /// Below it: worth a look.
    pub lower_non_critical: Option<u8>,
    /// Below it: out of the permitted range.
    pub lower_critical: Option<u8>,
    /// Below it: damage.
    pub lower_non_recoverable: Option<u8>,
    /// Above it: worth a look.
    pub upper_non_critical: Option<u8>,
    /// Above it: out of the permitted range.
    pub upper_critical: Option<u8>,
    /// Above it: damage.
    pub upper_non_recoverable: Option<u8>,
}

impl RawThresholds {
    /// From the mask of those that may be read, and all six in the order of [`GetSensorThresholds`]' answer.
    pub(crate) fn from_mask(mask: u8, values: [u8; 6]) -> Self {
        let [lnc, lc, lnr, unc, uc, unr] = values;
        let at = |bit: u8, value| (mask & 1 << bit != 0).then_some(value);
        Self {
            lower_non_critical: at(0, lnc),
            lower_critical: at(1, lc),
            lower_non_recoverable: at(2, lnr),
            upper_non_critical: at(3, unc),
            upper_critical: at(4, uc),
            upper_non_recoverable: at(5, unr),
        }
    }
}

impl Command for GetSensorThresholds {
    type Answer = RawThresholds;
    const NAME: &'static str = "get sensor thresholds";
    const NETWORK_FUNCTION: u8 = SENSOR_EVENT;
    const NUMBER: u8 = 0x27;

    fn lun(&self) -> u8 {
        self.lun
    }

    fn data(&self) -> Vec<u8> {
        vec![self.number]
    }

    fn parse(data: &[u8]) -> Result<RawThresholds, Malformed> {
        let mut reader = Reader::new("get sensor thresholds response", data);
        Ok(RawThresholds::from_mask(reader.u8()?, reader.array()?))
    }
}

/// Get Sensor Reading Factors (§35.5): of a sensor that is not linear, for one reading.
#[derive(Clone, Copy, Debug)]
pub struct GetReadingFactors {
    /// The sensor's number.
    pub number: u8,
    /// The logical unit it is on.
    pub lun: u8,
    /// The reading they are wanted for.
    pub raw: u8,
}

/// The six bytes that a full record has at the same place: M, B, tolerance, accuracy and exponents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadingFactors(pub [u8; 6]);

impl Command for GetReadingFactors {
    type Answer = ReadingFactors;
    const NAME: &'static str = "get sensor reading factors";
    const NETWORK_FUNCTION: u8 = SENSOR_EVENT;
    const NUMBER: u8 = 0x23;

    fn lun(&self) -> u8 {
        self.lun
    }

    fn data(&self) -> Vec<u8> {
        vec![self.number, self.raw]
    }

    fn parse(data: &[u8]) -> Result<ReadingFactors, Malformed> {
        let mut reader = Reader::new("get sensor reading factors response", data);
        let _next_reading = reader.u8()?;
        Ok(ReadingFactors(reader.array()?))
    }
}
