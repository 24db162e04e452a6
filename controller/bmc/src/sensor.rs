//! Readings of sensors.

use std::fmt;

use serde::Serialize;

use crate::Health;

/// What a sensor measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SensorKind {
    /// How warm something is.
    Temperature,
    /// How fast a fan turns.
    Fan,
    /// Power drawn or given.
    Power,
    /// Voltage.
    Voltage,
    /// Current.
    Current,
    /// Anything else, such as a switch or humidity.
    Other,
}

impl fmt::Display for SensorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Temperature => "temperature",
            Self::Fan => "fan",
            Self::Power => "power",
            Self::Voltage => "voltage",
            Self::Current => "current",
            Self::Other => "other",
        })
    }
}

/// Where a reading becomes worrying, in the sensor's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Thresholds {
    /// Below it the hardware is damaged or switches off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_fatal: Option<f64>,
    /// Below it is critical.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_critical: Option<f64>,
    /// Below it is a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_warning: Option<f64>,
    /// Above it is a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper_warning: Option<f64>,
    /// Above it is critical.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper_critical: Option<f64>,
    /// Above it the hardware is damaged or switches off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper_fatal: Option<f64>,
}

impl Thresholds {
    /// Whether none is told.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One sensor as it reads now.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sensor {
    /// Its name among the sensors of this BMC, as in `CPU1 Temp`.
    pub name: String,
    /// What it measures.
    pub kind: SensorKind,
    /// The number; none when it does not read now, as when the server is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<f64>,
    /// Its unit: `°C`, `rpm`, `%`, `W`, `V`, `A`, or as the BMC writes it; empty where there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// What the BMC thinks of it; none when it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Where it becomes worrying.
    #[serde(skip_serializing_if = "Thresholds::is_empty")]
    pub thresholds: Thresholds,
    /// What holds now, for sensors that say words instead of numbers, as `presence detected`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<String>,
}
