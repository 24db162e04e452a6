//! Kubernetes quantities ("1500m", "2Gi", "1e3"): decimal numbers with a suffix, held exactly in billionths.

use super::eval::{Found, failed, no_overload};
use super::value::Value;

/// A quantity in billionths of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quantity(i128);

const ONE: i128 = 1_000_000_000;

impl Quantity {
    /// `None` when the text is no quantity, or one too large to hold. Digits below a billionth are rounded up, as
    /// upstream does.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(digits);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let (times, divided) = factor(suffix)?;
        let mut value: i128 = 0;
        for digit in whole.chars().chain(fraction.chars()).filter_map(|c| c.to_digit(10)) {
            value = value.checked_mul(10)?.checked_add(digit.into())?;
        }
        let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?.checked_mul(divided)?;
        let scaled = value.checked_mul(times)?.checked_mul(ONE)?;
        let up = i128::from(scaled % scale != 0);
        let size = scaled.checked_div(scale)?.checked_add(up)?;
        Some(Self(if negative { -size } else { size }))
    }

    pub(super) fn method<'v>(self, name: &str, rest: &[Value<'v>]) -> Found<'v> {
        let other = match rest {
            [Value::Quantity(other)] => Some(*other),
            [Value::Int(number)] => i128::from(*number).checked_mul(ONE).map(Self),
            _ => None,
        };
        let sum =
            |sum: Option<i128>| sum.map_or_else(|| failed("quantity overflow"), |sum| Ok(Value::Quantity(Self(sum))));
        match (name, rest, other) {
            ("sign", [], _) => Ok(Value::Int(i64::try_from(self.0.signum()).unwrap_or_default())),
            ("isInteger", [], _) => Ok(Value::Bool(self.whole().is_some())),
            ("asInteger", [], _) => {
                self.whole().map_or_else(|| failed("cannot convert value to integer"), |number| Ok(Value::Int(number)))
            }
            #[expect(clippy::cast_precision_loss, reason = "asked for approximately")]
            ("asApproximateFloat", [], _) => Ok(Value::Double(self.0 as f64 / ONE as f64)),
            ("add", _, Some(other)) => sum(self.0.checked_add(other.0)),
            ("sub", _, Some(other)) => sum(self.0.checked_sub(other.0)),
            ("isLessThan", _, Some(other)) => Ok(Value::Bool(self < other)),
            ("isGreaterThan", _, Some(other)) => Ok(Value::Bool(self > other)),
            ("compareTo", _, Some(other)) => Ok(Value::Int(match self.cmp(&other) {
                std::cmp::Ordering::Less => -1,
                std::cmp::Ordering::Equal => 0,
                std::cmp::Ordering::Greater => 1,
            })),
            _ => no_overload(),
        }
    }

    fn whole(self) -> Option<i64> {
        (self.0 % ONE == 0).then(|| i64::try_from(self.0 / ONE).ok()).flatten()
    }
}

/// What a suffix multiplies and divides by.
fn factor(suffix: &str) -> Option<(i128, i128)> {
    const DECIMAL: &[(&str, u32)] = &[("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
    const BINARY: &[&str] = &["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    const SMALL: &[(&str, u32)] = &[("m", 3), ("u", 6), ("n", 9)];
    if let Some((_, power)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Some((10_i128.checked_pow(*power)?, 1));
    }
    if let Some(at) = BINARY.iter().position(|known| *known == suffix) {
        return Some((1024_i128.checked_pow(u32::try_from(at).ok()?.checked_add(1)?)?, 1));
    }
    if let Some((_, power)) = SMALL.iter().find(|(known, _)| *known == suffix) {
        return Some((1, 10_i128.checked_pow(*power)?));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    Some(if exponent < 0 { (1, power) } else { (power, 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        let cases = [
            ("1", "1000m", 0),
            ("1Ki", "1024", 0),
            ("1k", "1Ki", -1),
            ("0.5", "500m", 0),
            ("1e3", "1k", 0),
            ("-1", "1", -1),
            ("2E", "1Ei", 1),
        ];
        for (a, b, wanted) in cases {
            let order = Quantity::parse(a).unwrap().cmp(&Quantity::parse(b).unwrap());
            assert_eq!(order as i32, wanted, "{a} {b}");
        }
        for bad in ["", "x", "1.2.3", "1Kib", "--1", "1e", "."] {
            assert_eq!(Quantity::parse(bad), None, "{bad}");
        }
    }
}
