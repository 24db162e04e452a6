//! The records themselves.

use super::{Conversion, Unit};
use crate::Malformed;
use crate::bytes::Reader;
use crate::command::{RawThresholds, ReadingFactors};
use crate::text::id_string;

/// Record header: id, version, type, length of what follows.
pub(crate) const HEADER: usize = 5;

/// A record, as far as it is of use here.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Sensors: a full record describes one, a compact one up to sixteen alike.
    Sensors(Vec<Sensor>),
    /// Where another unit's inventory is.
    Fru(FruLocator),
    /// A kind that says nothing about sensors or inventories, by number.
    Other(u8),
}

/// What a sensor's readings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensorClass {
    /// A value with thresholds.
    Threshold,
    /// States, by event type; what they mean goes by that or by the sensor's kind.
    Discrete(u8),
}

/// A sensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    /// Its name.
    pub name: String,
    /// Its number, unique with `lun` for its owner.
    pub number: u8,
    /// The logical unit of the owner.
    pub lun: u8,
    /// The controller that owns it, 0x20 for the BMC itself.
    pub owner: u8,
    /// What it measures, [by number](super::sensor_kind).
    pub kind: u8,
    /// What its readings are.
    pub class: SensorClass,
    /// What it is on: entity id and instance (§43.14).
    pub entity: (u8, u8),
    /// The unit of its readings.
    pub unit: Unit,
    /// How raw readings turn into physical ones; `None` when the sensor has states only.
    pub conversion: Option<Conversion>,
    /// Thresholds as the record holds them.
    pub thresholds: RawThresholds,
    /// Whether the sensor is to be asked for its thresholds, since they may have been changed.
    pub thresholds_readable: bool,
}

/// Where a unit's inventory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FruLocator {
    /// The unit's name.
    pub name: String,
    /// The FRU device number, when the BMC itself keeps the inventory.
    pub device: Option<u8>,
    /// What the inventory is of: entity id and instance (§43.14).
    pub entity: (u8, u8),
}

impl Record {
    /// Reads a whole record, header included.
    ///
    /// # Errors
    /// When it is shorter than its kind must be.
    pub fn parse(record: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("sensor data record", record);
        let [_, _, _version, kind, _length] = reader.array::<HEADER>()?;
        match kind {
            0x01 => Ok(Self::Sensors(vec![full(reader)?])),
            0x02 => compact(reader).map(Self::Sensors),
            0x11 => fru_locator(reader).map(Self::Fru),
            other => Ok(Self::Other(other)),
        }
    }
}

/// What full and compact records begin with; the thresholds' mask goes with it.
fn common(reader: &mut Reader<'_>) -> Result<(Sensor, u8, u8), Malformed> {
    let [owner, lun, number, entity, instance, _initialization, capabilities, kind, event_type] = reader.array()?;
    let [_, _, _, _, readable, _settable] = reader.array()?;
    let [units, base, modifier] = reader.array()?;
    const THRESHOLD: u8 = 0x01;
    let threshold = event_type == THRESHOLD;
    let access = capabilities >> 2 & 0x03;
    let sensor = Sensor {
        name: String::new(),
        number,
        lun: lun & 0x03,
        owner,
        kind,
        class: if threshold { SensorClass::Threshold } else { SensorClass::Discrete(event_type) },
        entity: (entity, instance & 0x7f),
        unit: Unit::new(units, base, modifier),
        conversion: None,
        thresholds: RawThresholds::default(),
        thresholds_readable: threshold && matches!(access, 1 | 2),
    };
    // Of a discrete sensor these bits are a mask of states.
    let mask = if threshold && access != 0 { readable & 0x3f } else { 0 };
    Ok((sensor, units, mask))
}

fn full(mut reader: Reader<'_>) -> Result<Sensor, Malformed> {
    let (sensor, units, mask) = common(&mut reader)?;
    let linearization = reader.u8()?;
    let factors = ReadingFactors(reader.array()?);
    let [_flags, _nominal, _normal_max, _normal_min, _max, _min] = reader.array()?;
    let [unr, uc, unc, lnr, lc, lnc] = reader.array()?;
    let [_rising, _falling, _, _, _oem] = reader.array()?;
    let conversion = Conversion::new(units, linearization, factors);
    let thresholds = RawThresholds::from_mask(mask, [lnc, lc, lnr, unc, uc, unr]);
    Ok(Sensor { name: id_string(&mut reader)?, conversion, thresholds, ..sensor })
}

fn compact(mut reader: Reader<'_>) -> Result<Vec<Sensor>, Malformed> {
    let (sensor, _, _) = common(&mut reader)?;
    let [sharing, modifier] = reader.array()?;
    let [_rising, _falling, _, _, _, _oem] = reader.array()?;
    let name = id_string(&mut reader)?;
    let (share, offset, alphabetic) = (sharing & 0x0f, modifier & 0x7f, sharing >> 4 & 0x03 == 1);
    // 0 and 1 both stand for a record that nobody shares.
    if share < 2 {
        return Ok(vec![Sensor { name, ..sensor }]);
    }
    let same_entity = modifier & 0x80 == 0;
    let each = (0..share).map(|index| {
        let ordinal = offset.wrapping_add(index);
        let suffix = if alphabetic { letter(ordinal) } else { ordinal.to_string() };
        Sensor {
            name: format!("{name}{suffix}"),
            number: sensor.number.wrapping_add(index),
            entity: (sensor.entity.0, if same_entity { sensor.entity.1 } else { sensor.entity.1.wrapping_add(index) }),
            ..sensor.clone()
        }
    });
    Ok(each.collect())
}

fn letter(ordinal: u8) -> String {
    char::from(b'A' + ordinal % 26).to_string()
}

fn fru_locator(mut reader: Reader<'_>) -> Result<FruLocator, Malformed> {
    let [controller, device, access, _channel, _, _kind, _modifier, entity, instance, _oem] = reader.array()?;
    const BMC: u8 = 0x20;
    const LOGICAL: u8 = 0x80;
    let ours = access & LOGICAL != 0 && controller & 0xfe == BMC;
    Ok(FruLocator { name: id_string(&mut reader)?, device: ours.then_some(device), entity: (entity, instance & 0x7f) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fan of a Dell R630, as ipmi-rs publishes it.
    const FAN: &str = "0d00510130200032 07017fd404010530 0500030000120000 7802000230000754 c58bff00ffffff00 \
                       0507 01010000 00c546616e3241";

    fn unhex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    fn header(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[1, 0, 0x51, kind, u8::try_from(body.len()).unwrap()][..], body].concat()
    }

    #[test]
    fn a_shared_record_is_several_sensors() {
        let mut body = vec![0x20, 0x00, 0x40, 0x07, 0x60, 0x7f, 0x68, 0x07, 0x6f];
        body.extend([0; 6]);
        body.extend([0xc0, 0, 0]);
        body.extend([0x03, 0x81, 0, 0, 0, 0, 0, 0]);
        body.extend([0xc3, b'C', b'P', b'U']);
        let Record::Sensors(sensors) = Record::parse(&header(2, &body)).unwrap() else { panic!() };
        let each: Vec<_> = sensors.iter().map(|sensor| (sensor.name.as_str(), sensor.number, sensor.entity)).collect();
        assert_eq!(each, [("CPU1", 0x40, (7, 0x60)), ("CPU2", 0x41, (7, 0x61)), ("CPU3", 0x42, (7, 0x62))]);
        assert!(sensors.iter().all(|sensor| sensor.class == SensorClass::Discrete(0x6f) && sensor.kind == 7));
    }

    #[test]
    fn a_locator_of_the_bmcs_own_and_one_on_a_bus() {
        let mut body = vec![0x20, 0x03, 0x80, 0, 0, 0x10, 0, 0x0a, 0x01, 0];
        body.extend([0xc4, b'P', b'S', b'U', b'1']);
        let found = Record::parse(&header(0x11, &body)).unwrap();
        assert_eq!(found, Record::Fru(FruLocator { name: "PSU1".into(), device: Some(3), entity: (10, 1) }));
        body[2] = 0x00;
        let Record::Fru(found) = Record::parse(&header(0x11, &body)).unwrap() else { panic!() };
        assert_eq!(found.device, None);
    }

    #[test]
    fn a_full_record_of_a_real_fan() {
        let Record::Sensors(sensors) = Record::parse(&unhex(FAN)).unwrap() else { panic!() };
        let [fan] = &sensors[..] else { panic!() };
        assert_eq!((fan.name.as_str(), fan.kind, fan.class), ("Fan2A", 4, SensorClass::Threshold));
        assert_eq!(fan.unit.to_string(), "RPM");
        assert_eq!(fan.conversion.unwrap().apply(0x2c), 5280.0);
        let low = (fan.thresholds.lower_non_critical, fan.thresholds.lower_critical);
        assert_eq!((low, fan.thresholds.upper_critical, fan.thresholds_readable), ((Some(7), Some(5)), None, true));
    }

    proptest::proptest! {
        #[test]
        fn parsing_anything_never_panics(mut record: Vec<u8>, kind in 0usize..6) {
            let kind = [0x01, 0x02, 0x03, 0x11, 0x12, 0xc0][kind];
            record.splice(0..0, [1, 0, 0x51, kind, 0x40]);
            if let Ok(Record::Sensors(sensors)) = Record::parse(&record) {
                for sensor in sensors {
                    let _ = (sensor.conversion.map(|conversion| conversion.apply(record[record.len() - 1])), sensor.unit.to_string());
                }
            }
        }
    }
}
