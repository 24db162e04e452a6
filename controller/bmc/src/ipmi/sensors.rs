//! Sensors, in the words of the trait.

use ipmi_client::sdr::{SensorClass, sensor_kind};
use ipmi_client::sel::state_name;
use ipmi_client::{Reading, SensorValue};

use super::IpmiBmc;
use crate::{BmcError, Health, Sensor, SensorKind, Thresholds};

impl IpmiBmc {
    pub(super) async fn read_sensors(&self) -> Result<Vec<Sensor>, BmcError> {
        const ACT: &str = "reading its sensors";
        let records = self.client.read_sdr().await.map_err(|error| self.explain(ACT, error))?;
        let mut sensors = Vec::with_capacity(records.sensors.len());
        for record in &records.sensors {
            let value = self.client.read_sensor(record).await.map_err(|error| self.explain(ACT, error))?;
            // What belongs to controllers behind the BMC is theirs to tell.
            if value.reading != Reading::Elsewhere {
                sensors.push(sensor(value));
            }
        }
        Ok(sensors)
    }
}

fn sensor(SensorValue { sensor, reading, thresholds }: SensorValue) -> Sensor {
    let thresholds = Thresholds {
        lower_fatal: thresholds.lower_non_recoverable,
        lower_critical: thresholds.lower_critical,
        lower_warning: thresholds.lower_non_critical,
        upper_warning: thresholds.upper_non_critical,
        upper_critical: thresholds.upper_critical,
        upper_fatal: thresholds.upper_non_recoverable,
    };
    let (number, states) = match reading {
        Reading::Value(number) => (Some(number), Vec::new()),
        Reading::States(states) => (None, words(&sensor, states)),
        Reading::Unavailable | Reading::Refused(_) | Reading::Elsewhere => (None, Vec::new()),
    };
    let unit = sensor.unit.to_string();
    let kind = kind(sensor.kind, &unit);
    Sensor {
        // A nameless sensor is still one of its kind.
        name: if sensor.name.is_empty() {
            format!("{} {:#04x}", sensor_kind(sensor.kind).unwrap_or("sensor"), sensor.number)
        } else {
            sensor.name
        },
        kind,
        reading: number,
        health: number.map(|number| health(number, &thresholds)),
        unit: if sensor.conversion.is_none() { String::new() } else { unit.replace("RPM", "rpm") },
        thresholds,
        states,
    }
}

fn kind(number: u8, unit: &str) -> SensorKind {
    match (number, unit) {
        // Power is a sensor of kind "other units", known by its watts.
        (_, "W") => SensorKind::Power,
        (0x01, _) => SensorKind::Temperature,
        (0x02, _) => SensorKind::Voltage,
        (0x03, _) => SensorKind::Current,
        (0x04, _) => SensorKind::Fan,
        _ => SensorKind::Other,
    }
}

fn words(sensor: &ipmi_client::sdr::Sensor, states: u16) -> Vec<String> {
    let event_type = match sensor.class {
        SensorClass::Threshold => 0x01,
        SensorClass::Discrete(event_type) => event_type,
    };
    (0..15u8)
        .filter(|bit| states >> bit & 1 != 0)
        .map(|bit| state_name(sensor.kind, event_type, bit).map_or_else(|| format!("state {bit}"), str::to_owned))
        .collect()
}

fn health(number: f64, thresholds: &Thresholds) -> Health {
    let below = |limit: Option<f64>| limit.is_some_and(|limit| number <= limit);
    let above = |limit: Option<f64>| limit.is_some_and(|limit| number >= limit);
    let Thresholds { lower_fatal, lower_critical, lower_warning, upper_warning, upper_critical, upper_fatal } =
        *thresholds;
    if below(lower_fatal) || below(lower_critical) || above(upper_critical) || above(upper_fatal) {
        Health::Critical
    } else if below(lower_warning) || above(upper_warning) {
        Health::Warning
    } else {
        Health::Ok
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_where_it_begins_to_be_worrying() {
        let limits = Thresholds {
            lower_critical: Some(5.0),
            lower_warning: Some(7.0),
            upper_warning: Some(90.0),
            upper_fatal: Some(100.0),
            ..Thresholds::default()
        };
        for (number, expected) in [
            (50.0, Health::Ok),
            (7.0, Health::Warning),
            (5.0, Health::Critical),
            (90.0, Health::Warning),
            (99.9, Health::Warning),
            (100.0, Health::Critical),
        ] {
            assert_eq!(health(number, &limits), expected, "{number}");
        }
        assert_eq!(health(-40.0, &Thresholds::default()), Health::Ok);
    }
}
