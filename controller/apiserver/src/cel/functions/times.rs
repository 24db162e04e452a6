//! Timestamps and durations.

use jiff::SignedDuration;
use jiff::tz::{Offset, TimeZone};

use super::super::eval::{Found, failed, no_overload};
use super::super::value::Value;
use super::Args;
use crate::schema::is_go_duration;

/// A duration as Go writes it ("1h30m", "-1.5s"); `None` when it is none.
pub(in super::super) fn parse_duration(text: &str) -> Option<SignedDuration> {
    if !is_go_duration(text) {
        return None;
    }
    let (negative, mut rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    rest = rest.strip_prefix('+').unwrap_or(rest);
    let mut total = 0_i128;
    while !rest.is_empty() && rest != "0" {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (digits, after) = rest.split_at(number);
        let units = [("ns", 1), ("us", 1_000), ("µs", 1_000), ("μs", 1_000), ("ms", 1_000_000)];
        let units =
            units.into_iter().chain([("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000_i128)]);
        let (unit, nanos) = units.filter(|(unit, _)| after.starts_with(unit)).max_by_key(|(unit, _)| unit.len())?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(nanos)?)?;
        let mut scale = nanos;
        for digit in fraction.chars().filter_map(|c| c.to_digit(10)) {
            scale /= 10;
            total = total.checked_add(scale.checked_mul(i128::from(digit))?)?;
        }
        rest = after.get(unit.len()..)?;
    }
    let nanos = i64::try_from(if negative { -total } else { total }).ok()?;
    Some(SignedDuration::from_nanos(nanos))
}

/// A duration as `string()` gives it: seconds.
pub(super) fn shown(span: SignedDuration) -> String {
    let nanos = span.as_nanos();
    let (sign, size) = if nanos < 0 { ("-", nanos.unsigned_abs()) } else { ("", nanos.unsigned_abs()) };
    let (seconds, rest) = (size / 1_000_000_000, size % 1_000_000_000);
    let fraction = format!("{rest:09}");
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { format!("{sign}{seconds}s") } else { format!("{sign}{seconds}.{fraction}s") }
}

pub(super) fn method<'v>(name: &str, target: &Value<'v>, rest: Args<'_, 'v>) -> Found<'v> {
    match (target, rest) {
        (Value::Span(span), []) => {
            let nanos = span.as_nanos();
            let unit = match name {
                "getHours" => 3_600_000_000_000,
                "getMinutes" => 60_000_000_000,
                "getSeconds" => 1_000_000_000,
                "getMilliseconds" => 1_000_000,
                _ => return no_overload(),
            };
            Ok(Value::Int(i64::try_from(nanos / unit).unwrap_or(i64::MAX)))
        }
        (Value::Time(time), rest) => {
            let zone = match rest {
                [] => TimeZone::UTC,
                [Value::Text(name)] => match zone(name) {
                    Some(zone) => zone,
                    None => return failed(format!("unknown time zone {name}")),
                },
                _ => return no_overload(),
            };
            let local = time.to_zoned(zone);
            Ok(Value::Int(match name {
                "getFullYear" => local.year().into(),
                "getMonth" => i64::from(local.month()).saturating_sub(1),
                "getDayOfYear" => i64::from(local.day_of_year()).saturating_sub(1),
                "getDayOfMonth" => i64::from(local.day()).saturating_sub(1),
                "getDate" => local.day().into(),
                "getDayOfWeek" => local.weekday().to_sunday_zero_offset().into(),
                "getHours" => local.hour().into(),
                "getMinutes" => local.minute().into(),
                "getSeconds" => local.second().into(),
                "getMilliseconds" => local.millisecond().into(),
                _ => return no_overload(),
            }))
        }
        _ => no_overload(),
    }
}

/// "UTC", "+01:30" or a name of the zone database, where the machine has one.
fn zone(name: &str) -> Option<TimeZone> {
    let offset = || {
        let (negative, digits) = name.strip_prefix('-').map_or((false, name), |rest| (true, rest));
        let (hours, minutes) = digits.strip_prefix('+').unwrap_or(digits).split_once(':')?;
        let seconds =
            hours.parse::<i32>().ok()?.checked_mul(3600)?.checked_add(minutes.parse::<i32>().ok()?.checked_mul(60)?)?;
        Offset::from_seconds(if negative { seconds.checked_neg()? } else { seconds }).ok().map(TimeZone::fixed)
    };
    if name == "UTC" { Some(TimeZone::UTC) } else { offset().or_else(|| TimeZone::get(name).ok()) }
}
