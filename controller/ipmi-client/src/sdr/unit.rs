//! Units of sensors (§43.17).

use std::fmt;

/// A sensor's unit: a base unit, perhaps with a second one and a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    percent: bool,
    base: u8,
    modifier: u8,
    /// 1 for base/modifier, 2 for base·modifier.
    relation: u8,
    rate: u8,
}

impl Unit {
    /// From the three unit bytes of a sensor record.
    pub(crate) const fn new(units: u8, base: u8, modifier: u8) -> Self {
        Self { percent: units & 0x01 != 0, base, modifier, relation: units >> 1 & 0x03, rate: units >> 3 & 0x07 }
    }

    /// The base unit's number in table 43-15.
    #[must_use]
    pub const fn base_number(self) -> u8 {
        self.base
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.percent {
            f.write_str("%")?;
            // "percent of nothing" is the usual way to write a plain percentage.
            if self.base == 0 {
                return Ok(());
            }
            f.write_str(" ")?;
        }
        f.write_str(name(self.base))?;
        match self.relation {
            1 => write!(f, "/{}", name(self.modifier))?,
            2 => write!(f, "·{}", name(self.modifier))?,
            _ => {}
        }
        match RATES.get(usize::from(self.rate)) {
            Some(rate) if !rate.is_empty() => write!(f, "/{rate}"),
            _ => Ok(()),
        }
    }
}

const RATES: [&str; 8] = ["", "µs", "ms", "s", "min", "h", "d", ""];

fn name(number: u8) -> &'static str {
    NAMES.get(usize::from(number)).copied().unwrap_or("unknown unit")
}

/// Table 43-15, by number.
const NAMES: [&str; 93] = [
    "",
    "°C",
    "°F",
    "K",
    "V",
    "A",
    "W",
    "J",
    "C",
    "VA",
    "nit",
    "lm",
    "lx",
    "cd",
    "kPa",
    "psi",
    "N",
    "CFM",
    "RPM",
    "Hz",
    "µs",
    "ms",
    "s",
    "min",
    "h",
    "d",
    "weeks",
    "mil",
    "in",
    "ft",
    "in³",
    "ft³",
    "mm",
    "cm",
    "m",
    "cm³",
    "m³",
    "l",
    "fl oz",
    "rad",
    "sr",
    "rev",
    "cycles",
    "g",
    "oz",
    "lbf",
    "oz·in",
    "G",
    "Gb",
    "H",
    "mH",
    "F",
    "µF",
    "Ω",
    "S",
    "mol",
    "Bq",
    "ppm",
    "",
    "dB",
    "dBA",
    "dBC",
    "Gy",
    "Sv",
    "K colour",
    "bit",
    "kbit",
    "Mbit",
    "Gbit",
    "B",
    "kB",
    "MB",
    "GB",
    "word",
    "dword",
    "qword",
    "line",
    "hits",
    "misses",
    "retries",
    "resets",
    "overruns",
    "underruns",
    "collisions",
    "packets",
    "messages",
    "characters",
    "errors",
    "correctable errors",
    "uncorrectable errors",
    "fatal errors",
    "grams",
    "",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_as_people_write_them() {
        for (units, base, modifier, text) in [
            (0x80, 1, 0, "°C"),
            (0x00, 18, 0, "RPM"),
            (0x00, 4, 0, "V"),
            (0x00, 6, 0, "W"),
            (0x01, 0, 0, "%"),
            (0x01, 18, 0, "% RPM"),
            (0x18, 43, 0, "g/s"),
            (0x02, 17, 23, "CFM/min"),
            (0x00, 0xff, 0, "unknown unit"),
        ] {
            assert_eq!(Unit::new(units, base, modifier).to_string(), text);
        }
    }
}
