//! Sensors, as they read now.

use crate::command::{GetReadingFactors, GetSensorReading, GetSensorThresholds, RawReading, RawThresholds};
use crate::sdr::{Conversion, Sensor, SensorClass};
use crate::{Client, CompletionCode, IpmiError};

/// What a sensor reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// A physical value, in the sensor's unit.
    Value(f64),
    /// States, a bit each.
    States(u16),
    /// Nothing now, as from a fan that is not there or a server that is off.
    Unavailable,
    /// The BMC would not say.
    Refused(CompletionCode),
    /// The sensor belongs to another controller behind the BMC, which is not asked.
    Elsewhere,
}

/// Limits in the sensor's unit, those it has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Thresholds {
    /// Below it: worth a look.
    pub lower_non_critical: Option<f64>,
    /// Below it: out of the permitted range.
    pub lower_critical: Option<f64>,
    /// Below it: damage.
    pub lower_non_recoverable: Option<f64>,
    /// Above it: worth a look.
    pub upper_non_critical: Option<f64>,
    /// Above it: out of the permitted range.
    pub upper_critical: Option<f64>,
    /// Above it: damage.
    pub upper_non_recoverable: Option<f64>,
}

/// A sensor and what it reads.
#[derive(Clone, Debug, PartialEq)]
pub struct SensorValue {
    /// The sensor.
    pub sensor: Sensor,
    /// What it reads.
    pub reading: Reading,
    /// Its limits.
    pub thresholds: Thresholds,
}

impl Client {
    /// Asks a sensor for its reading and, where they may have changed, its thresholds.
    ///
    /// # Errors
    /// Any of [`IpmiError`] but a completion code, which is an answer about one sensor.
    pub async fn read_sensor(&self, sensor: &Sensor) -> Result<SensorValue, IpmiError> {
        const BMC: u8 = 0x20;
        let value = |reading, thresholds| SensorValue { sensor: sensor.clone(), reading, thresholds };
        if sensor.owner & 0xfe != BMC {
            return Ok(value(Reading::Elsewhere, Thresholds::default()));
        }
        let (number, lun) = (sensor.number, sensor.lun);
        let reading = match answered(self.execute(&GetSensorReading { number, lun }).await)? {
            Ok(raw) => self.interpret(sensor, raw).await?,
            Err(code) => Reading::Refused(code),
        };
        let raw = if sensor.thresholds_readable && !matches!(reading, Reading::Refused(_)) {
            answered(self.execute(&GetSensorThresholds { number, lun }).await)?.unwrap_or(sensor.thresholds)
        } else {
            sensor.thresholds
        };
        Ok(value(reading, sensor.conversion.map(|conversion| convert(&conversion, raw)).unwrap_or_default()))
    }

    async fn interpret(&self, sensor: &Sensor, raw: RawReading) -> Result<Reading, IpmiError> {
        if raw.unavailable {
            return Ok(Reading::Unavailable);
        }
        let Some(conversion) = sensor.conversion.filter(|_| sensor.class == SensorClass::Threshold) else {
            return Ok(Reading::States(raw.states));
        };
        let conversion = if conversion.needs_factors() {
            let command = GetReadingFactors { number: sensor.number, lun: sensor.lun, raw: raw.raw };
            match answered(self.execute(&command).await)? {
                Ok(factors) => conversion.with(factors),
                Err(code) => return Ok(Reading::Refused(code)),
            }
        } else {
            conversion
        };
        Ok(finite(conversion.apply(raw.raw)).map_or(Reading::Unavailable, Reading::Value))
    }
}

/// A verdict of the BMC's, or an error of the conversation.
fn answered<T>(result: Result<T, IpmiError>) -> Result<Result<T, CompletionCode>, IpmiError> {
    match result {
        Ok(answer) => Ok(Ok(answer)),
        Err(IpmiError::Completion { code, .. }) if !code.is_transient() => Ok(Err(code)),
        Err(error) => Err(error),
    }
}

fn convert(conversion: &Conversion, raw: RawThresholds) -> Thresholds {
    let value = |raw: Option<u8>| raw.and_then(|raw| finite(conversion.apply(raw)));
    Thresholds {
        lower_non_critical: value(raw.lower_non_critical),
        lower_critical: value(raw.lower_critical),
        lower_non_recoverable: value(raw.lower_non_recoverable),
        upper_non_critical: value(raw.upper_non_critical),
        upper_critical: value(raw.upper_critical),
        upper_non_recoverable: value(raw.upper_non_recoverable),
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
