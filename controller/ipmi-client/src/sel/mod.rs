//! Entries of the system event log (§32), as bytes and as words. Pure decoding; reading them from a BMC is
//! [`Client`](crate::Client)'s.

mod words;

pub use words::state_name;

use crate::Malformed;
use crate::bytes::Reader;

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelEntry {
    /// Its id; ids grow, and need not be without gaps.
    pub id: u16,
    /// Seconds since 1970 by the BMC's clock. `None` for entries without a time, and for those written before the
    /// clock was set, which count from the BMC's start.
    pub time: Option<u32>,
    /// What happened.
    pub event: Event,
}

/// What an entry is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Something a sensor saw.
    Sensor(SensorEvent),
    /// Something only the vendor can read.
    Vendor {
        /// The record type.
        kind: u8,
        /// Its bytes.
        data: Vec<u8>,
    },
}

/// Something a sensor saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SensorEvent {
    /// Who reports it: a controller's address, or a program's id when the lowest bit is set.
    pub generator: u8,
    /// What the sensor measures, [by number](crate::sdr::sensor_kind).
    pub kind: u8,
    /// Its number.
    pub sensor: u8,
    /// How `offset` is to be read: 1 for thresholds, 0x6f for what is peculiar to `kind`.
    pub event_type: u8,
    /// Whether the state begins, rather than ends.
    pub asserted: bool,
    /// Which state or threshold.
    pub offset: u8,
    /// Event data as they are.
    pub data: [u8; 3],
}

impl SelEntry {
    /// Reads an entry's 16 bytes.
    ///
    /// # Errors
    /// When the record's type is one the specification reserves.
    pub fn parse(bytes: &[u8; 16]) -> Result<Self, Malformed> {
        /// Up to here time stamps count seconds since the BMC's start (§37.1).
        const SINCE_START: u32 = 0x2000_0000;
        const UNKNOWN: u32 = 0xffff_ffff;
        let mut reader = Reader::new("sel entry", bytes);
        let (id, kind) = (reader.u16_le()?, reader.u8()?);
        if kind >= 0xe0 {
            return Ok(Self { id, time: None, event: Event::Vendor { kind, data: reader.rest().to_vec() } });
        }
        let time = Some(reader.u32_le()?).filter(|time| (SINCE_START..UNKNOWN).contains(time));
        let event = match kind {
            0x02 => {
                let [generator, _channel, _revision, kind, sensor, direction] = reader.array()?;
                let data: [u8; 3] = reader.array()?;
                let [first, ..] = data;
                let (event_type, asserted, offset) = (direction & 0x7f, direction & 0x80 == 0, first & 0x0f);
                Event::Sensor(SensorEvent { generator, kind, sensor, event_type, asserted, offset, data })
            }
            0xc0..=0xdf => Event::Vendor { kind, data: reader.rest().to_vec() },
            _ => return reader.fail("is of a reserved type"),
        };
        Ok(Self { id, time, event })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sensors_event() {
        let bytes = [0x12, 0, 2, 0x80, 0x51, 0x01, 0x65, 0x20, 0, 4, 0x01, 0x30, 0x01, 0x59, 0x62, 0x5f];
        let entry = SelEntry::parse(&bytes).unwrap();
        assert_eq!((entry.id, entry.time), (0x12, Some(0x6501_5180)));
        let Event::Sensor(event) = entry.event else { panic!() };
        assert_eq!((event.kind, event.sensor, event.event_type, event.asserted, event.offset), (1, 0x30, 1, true, 9));
        assert_eq!(event.to_string(), "temperature 0x30: upper critical, going high: asserted");
    }

    #[test]
    fn times_before_the_clock_was_set_are_none() {
        let at = |time: u32| {
            let mut bytes = [0; 16];
            bytes[2] = 2;
            bytes[3..7].copy_from_slice(&time.to_le_bytes());
            SelEntry::parse(&bytes).unwrap().time
        };
        assert_eq!([at(0), at(5), at(u32::MAX), at(0x1fff_ffff)], [None; 4]);
        assert_eq!(at(1_700_000_000), Some(1_700_000_000));
    }

    #[test]
    fn the_vendors_own() {
        let mut bytes = [7; 16];
        bytes[2] = 0xe1;
        let entry = SelEntry::parse(&bytes).unwrap();
        assert_eq!((entry.time, entry.event), (None, Event::Vendor { kind: 0xe1, data: vec![7; 13] }));
        bytes[2] = 0xc1;
        let Event::Vendor { data, .. } = SelEntry::parse(&bytes).unwrap().event else { panic!() };
        assert_eq!(data.len(), 9);
        bytes[2] = 0x55;
        assert!(SelEntry::parse(&bytes).is_err());
    }

    proptest::proptest! {
        #[test]
        fn parsing_anything_never_panics(bytes: [u8; 16]) {
            if let Ok(SelEntry { event: Event::Sensor(event), .. }) = SelEntry::parse(&bytes) {
                proptest::prop_assert!(!event.to_string().is_empty());
            }
        }
    }
}
