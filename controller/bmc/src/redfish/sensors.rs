//! Sensors over Redfish: `Thermal` and `Power`, two calls for all of them, and where those are gone the newer collection
//! with one resource for each.

use redfish_client::Resource;

use super::RedfishBmc;
use super::inventory::chassis_of;
use super::survey::Survey;
use super::value::{health, is_absent, natural, number, parts, text};
use crate::{BmcError, Sensor, SensorKind, Thresholds};

const ACT: &str = "reading sensors";

impl RedfishBmc {
    pub(super) async fn read_sensors(&self) -> Result<Vec<Sensor>, BmcError> {
        let system = self.system(ACT).await?;
        let survey = Survey::new(self);
        let mut sensors = Vec::new();
        for chassis in chassis_of(&survey, &system).await {
            let mut here: Vec<Sensor> = Vec::new();
            if let Some(thermal) = survey.follow(&chassis, "Thermal").await {
                here.extend(parts(&thermal, "Temperatures").iter().filter_map(temperature));
                here.extend(parts(&thermal, "Fans").iter().filter_map(fan));
            }
            if let Some(power) = survey.follow(&chassis, "Power").await {
                here.extend(parts(&power, "PowerControl").iter().filter_map(consumption));
                here.extend(parts(&power, "Voltages").iter().filter_map(voltage));
            }
            let has = |kind| here.iter().any(|sensor| sensor.kind == kind && sensor.reading.is_some());
            if !(has(SensorKind::Temperature) && has(SensorKind::Power)) {
                let newer: Vec<Sensor> = survey.members(&chassis, "Sensors").await.iter().filter_map(decode).collect();
                let known = |sensor: &Sensor| here.iter().any(|other| other.name == sensor.name);
                let newer: Vec<Sensor> = newer.into_iter().filter(|sensor| !known(sensor)).collect();
                here.extend(newer);
            }
            here.sort_by_key(|sensor| (sensor.kind, natural(&sensor.name)));
            sensors.extend(here);
        }
        if sensors.is_empty() {
            survey.finish_whole(ACT)?;
        } else {
            for gap in survey.finish(ACT)? {
                tracing::warn!(gap, "not all sensors can be read");
            }
        }
        Ok(sensors)
    }
}

fn old(resource: &Resource, kind: SensorKind, reading: Option<f64>, unit: &str) -> Option<Sensor> {
    // A place without a sensor; zeros stand there for its thresholds.
    if is_absent(resource) {
        return None;
    }
    Some(Sensor {
        name: text(resource, "Name").or_else(|| text(resource, "FanName")).or_else(|| text(resource, "MemberId"))?,
        kind,
        reading,
        unit: unit.to_owned(),
        health: health(resource),
        thresholds: Thresholds {
            lower_fatal: measured(resource, "LowerThresholdFatal"),
            lower_critical: measured(resource, "LowerThresholdCritical"),
            lower_warning: measured(resource, "LowerThresholdNonCritical"),
            upper_warning: measured(resource, "UpperThresholdNonCritical"),
            upper_critical: measured(resource, "UpperThresholdCritical"),
            upper_fatal: measured(resource, "UpperThresholdFatal"),
        },
        states: Vec::new(),
    })
}

fn temperature(resource: &Resource) -> Option<Sensor> {
    old(resource, SensorKind::Temperature, measured(resource, "ReadingCelsius"), "°C")
}

fn fan(resource: &Resource) -> Option<Sensor> {
    let (reading, word) = match measured(resource, "Reading") {
        Some(reading) => (Some(reading), resource.text("ReadingUnits").unwrap_or("RPM")),
        None => (measured(resource, "ReadingRPM"), "RPM"),
    };
    old(resource, SensorKind::Fan, reading, unit(word))
}

fn voltage(resource: &Resource) -> Option<Sensor> {
    old(resource, SensorKind::Voltage, measured(resource, "ReadingVolts"), "V")
}

fn consumption(resource: &Resource) -> Option<Sensor> {
    let reading = measured(resource, "PowerConsumedWatts");
    old(resource, SensorKind::Power, reading, "W").filter(|sensor| sensor.reading.is_some())
}

/// A resource of the newer collection.
fn decode(resource: &Resource) -> Option<Sensor> {
    if is_absent(resource) {
        return None;
    }
    let word = resource.text("ReadingUnits").unwrap_or_default();
    let kind = match (resource.text("ReadingType"), word) {
        (Some("Temperature"), _) | (None, "Cel") => SensorKind::Temperature,
        (Some("Rotational"), _) | (None, "RPM") => SensorKind::Fan,
        (Some("Power"), _) | (None, "W") => SensorKind::Power,
        (Some("Voltage"), _) | (None, "V") => SensorKind::Voltage,
        (Some("Current"), _) | (None, "A") => SensorKind::Current,
        _ => SensorKind::Other,
    };
    let threshold = |name: &str| measured(resource, &format!("Thresholds/{name}/Reading"));
    Some(Sensor {
        name: text(resource, "Name").or_else(|| text(resource, "Id"))?,
        kind,
        reading: measured(resource, "Reading"),
        unit: unit(word).to_owned(),
        health: health(resource),
        thresholds: Thresholds {
            lower_fatal: threshold("LowerFatal"),
            lower_critical: threshold("LowerCritical"),
            lower_warning: threshold("LowerCaution"),
            upper_warning: threshold("UpperCaution"),
            upper_critical: threshold("UpperCritical"),
            upper_fatal: threshold("UpperFatal"),
        },
        states: Vec::new(),
    })
}

/// A reading without the noise of a number that was once narrower.
fn tidy(reading: f64) -> f64 {
    (reading * 10_000.0).round() / 10_000.0
}

/// The number at `path`, tidied.
fn measured(resource: &Resource, path: &str) -> Option<f64> {
    number(resource, path).map(tidy)
}

/// The unit as people write it.
fn unit(word: &str) -> &str {
    match word {
        "Cel" => "°C",
        "RPM" => "rpm",
        "Percent" => "%",
        word => word,
    }
}

/// Every decoder on one body, for tests that feed them anything.
#[cfg(test)]
pub(super) fn decode_everything(resource: &Resource) -> String {
    let all = [temperature, fan, voltage, consumption, decode].map(|decode| decode(resource));
    format!("{all:?}")
}

#[cfg(test)]
mod tests {
    use redfish_client::Reference;
    use serde_json::{Value, json};

    use super::*;

    fn resource(body: Value) -> Resource {
        Resource::new(Reference::root(), None, body)
    }

    #[test]
    fn old_and_new_forms_are_one() {
        let old = temperature(&resource(json!({
            "Name": "CPU1 Temp", "ReadingCelsius": 37, "UpperThresholdCritical": 99, "UpperThresholdFatal": null,
            "Status": {"State": "Enabled", "Health": "OK"},
        })));
        let new = decode(&resource(json!({
            "Id": "3", "Name": "CPU1 Temp", "ReadingType": "Temperature", "ReadingUnits": "Cel", "Reading": 37,
            "Thresholds": {"UpperCritical": {"Reading": 99}}, "Status": {"State": "Enabled", "Health": "OK"},
        })));
        assert_eq!(old, new);
        let sensor = old.unwrap();
        assert_eq!(
            (sensor.reading, sensor.unit.as_str(), sensor.thresholds.upper_critical),
            (Some(37.0), "°C", Some(99.0))
        );
    }

    #[test]
    fn places_without_a_sensor_are_left_out() {
        assert_eq!(fan(&resource(json!({"Name": "FAN1", "Reading": 0, "Status": {"State": "Absent"}}))), None);
        assert_eq!(consumption(&resource(json!({"Name": "Chassis Power Control"}))), None);
        let percent = fan(&resource(json!({"FanName": "Fan 1", "Reading": 23, "ReadingUnits": "Percent"}))).unwrap();
        assert_eq!(percent.unit, "%");
    }
}
