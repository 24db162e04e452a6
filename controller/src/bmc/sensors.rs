//! `bmc sensors`.

use bessemer_bmc::{Bmc, Sensor, Thresholds};

use super::exit::Failure;
use super::output::{Format, show as output};
use super::table::Table;

pub(super) async fn show(bmc: &dyn Bmc, format: Format) -> Result<(), Failure> {
    output(format, &bmc.sensors().await?, |sensors| {
        let mut table = Table::new(["NAME", "KIND", "READING", "HEALTH", "LIMITS"]);
        for sensor in sensors {
            table.row([
                Some(sensor.name.clone()),
                Some(sensor.kind.to_string()),
                reading(sensor),
                sensor.health.map(|health| health.to_string()),
                limits(&sensor.thresholds),
            ]);
        }
        table.render()
    })
}

fn reading(sensor: &Sensor) -> Option<String> {
    let number = sensor.reading.map(|reading| format!("{} {}", short(reading), sensor.unit).trim().to_owned());
    number.or_else(|| Some(sensor.states.join(", ")).filter(|states| !states.is_empty()))
}

/// The outermost bounds that matter: `5 to 90`.
fn limits(thresholds: &Thresholds) -> Option<String> {
    let low = thresholds.lower_critical.or(thresholds.lower_fatal).or(thresholds.lower_warning).map(short);
    let high = thresholds.upper_critical.or(thresholds.upper_fatal).or(thresholds.upper_warning).map(short);
    match (low, high) {
        (Some(low), Some(high)) => Some(format!("{low} to {high}")),
        (Some(low), None) => Some(format!("from {low}")),
        (None, Some(high)) => Some(format!("to {high}")),
        (None, None) => None,
    }
}

/// At most three digits behind the point, none that say nothing.
fn short(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([short(45.0), short(3.3125), short(-0.5), short(12000.0)], ["45", "3.312", "-0.5", "12000"]);
    }

    #[test]
    fn limits_are_those_that_matter() {
        let of = |lower_critical, upper_warning| Thresholds { lower_critical, upper_warning, ..Thresholds::default() };
        assert_eq!(limits(&of(Some(5.0), Some(90.5))).as_deref(), Some("5 to 90.5"));
        assert_eq!(limits(&of(None, Some(90.0))).as_deref(), Some("to 90"));
        assert_eq!(limits(&of(None, None)), None);
    }
}
