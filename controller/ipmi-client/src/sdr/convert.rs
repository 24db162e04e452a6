//! From raw readings to physical ones (§36.3): y = L[(M·x + B·10^K1) · 10^K2].

use crate::command::ReadingFactors;

/// How the raw byte is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Unsigned,
    OnesComplement,
    TwosComplement,
}

/// A sensor's conversion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conversion {
    format: Format,
    linearization: u8,
    m: i16,
    b: i16,
    b_exponent: i8,
    result_exponent: i8,
}

impl Conversion {
    /// From a full record: units 1, linearization, and the six bytes of factors. `None` when the sensor has no analogue
    /// reading.
    pub(crate) fn new(units: u8, linearization: u8, factors: ReadingFactors) -> Option<Self> {
        let format = match units >> 6 {
            0 => Format::Unsigned,
            1 => Format::OnesComplement,
            2 => Format::TwosComplement,
            _ => return None,
        };
        let conversion =
            Self { format, linearization: linearization & 0x7f, m: 0, b: 0, b_exponent: 0, result_exponent: 0 };
        Some(conversion.with(factors))
    }

    /// The same with other factors, as a sensor that is not linear has for each reading.
    #[must_use]
    pub fn with(self, ReadingFactors(factors): ReadingFactors) -> Self {
        let [m, m_high, b, b_high, _accuracy, exponents] = factors;
        Self {
            m: ten_bits(m, m_high),
            b: ten_bits(b, b_high),
            // Both are four-bit two's complement.
            b_exponent: (exponents << 4).cast_signed() >> 4,
            result_exponent: exponents.cast_signed() >> 4,
            ..self
        }
    }

    /// Whether the factors hold for one reading only, and the BMC has to be asked for them.
    #[must_use]
    pub const fn needs_factors(&self) -> bool {
        self.linearization >= 0x70
    }

    /// The physical value of a raw reading. Where the formula has none, as the logarithm of nothing, it is not finite.
    #[must_use]
    pub fn apply(&self, raw: u8) -> f64 {
        let x = match self.format {
            Format::Unsigned => f64::from(raw),
            Format::TwosComplement => f64::from(raw.cast_signed()),
            Format::OnesComplement if raw & 0x80 != 0 => -f64::from(!raw),
            Format::OnesComplement => f64::from(raw),
        };
        let linear = scaled(f64::from(self.m) * x + scaled(f64::from(self.b), self.b_exponent), self.result_exponent);
        match self.linearization {
            1 => linear.ln(),
            2 => linear.log10(),
            3 => linear.log2(),
            4 => linear.exp(),
            5 => 10f64.powf(linear),
            6 => linear.exp2(),
            7 => linear.recip(),
            8 => linear.powi(2),
            9 => linear.powi(3),
            10 => linear.sqrt(),
            11 => linear.cbrt(),
            _ => linear,
        }
    }
}

/// `value · 10^exponent`. Division rather than a negative power keeps 12 · 10^-1 at 1.2.
fn scaled(value: f64, exponent: i8) -> f64 {
    let power = 10f64.powi(i32::from(exponent.unsigned_abs()));
    if exponent < 0 { value / power } else { value * power }
}

/// Eight low bits, and the two high ones atop another byte; two's complement.
fn ten_bits(low: u8, high: u8) -> i16 {
    (i16::from_be_bytes([high & 0xc0, 0]) | i16::from(low) << 6) >> 6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversion(units: u8, linearization: u8, factors: [u8; 6]) -> Conversion {
        Conversion::new(units, linearization, ReadingFactors(factors)).unwrap()
    }

    #[test]
    fn factors_are_signed() {
        assert_eq!(ten_bits(0xff, 0xc0), -1);
        assert_eq!(ten_bits(0x00, 0x80), -512);
        assert_eq!(ten_bits(0xff, 0x40), 511);
        assert_eq!(ten_bits(0x01, 0x3f), 1);
    }

    #[test]
    fn readings_by_the_formula() {
        // A fan in steps of 120 RPM, a 12 V rail of 63 mV steps, a temperature below zero, an offset of -128 °C.
        assert_eq!(conversion(0x00, 0, [120, 0, 0, 0, 0, 0]).apply(35), 4200.0);
        assert_eq!(conversion(0x00, 0, [63, 0, 0, 0, 0, 0xd0]).apply(192), 12.096);
        assert_eq!(conversion(0x80, 0, [1, 0, 0, 0, 0, 0]).apply(0xf6), -10.0);
        assert_eq!(conversion(0x40, 0, [1, 0, 0, 0, 0, 0]).apply(0xf5), -10.0);
        assert_eq!(conversion(0x00, 0, [1, 0, 0x80, 0xc0, 0, 0]).apply(0xa5), 37.0);
        // B = 5, its exponent 2; result exponent -1.
        assert_eq!(conversion(0x00, 0, [2, 0, 5, 0, 0, 0xf2]).apply(10), 52.0);
    }

    #[test]
    fn linearizations() {
        let at = |linearization, raw| conversion(0x00, linearization, [1, 0, 0, 0, 0, 0]).apply(raw);
        assert_eq!((at(8, 12), at(9, 3), at(10, 144), at(7, 4)), (144.0, 27.0, 12.0, 0.25));
        assert!((at(2, 100) - 2.0).abs() < 1e-12 && (at(5, 2) - 100.0).abs() < 1e-9 && at(3, 8) == 3.0);
        assert!(!at(1, 0).is_finite());
        assert!(conversion(0, 0x70, [0; 6]).needs_factors() && !conversion(0, 11, [0; 6]).needs_factors());
        assert!(Conversion::new(0xc0, 0, ReadingFactors([1; 6])).is_none());
    }
}
