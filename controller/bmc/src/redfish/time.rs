//! Times as BMCs write them, only to put entries in order. What is no time is none; it is shown as it is written.

/// Seconds since 1970 that `text` stands for: date and time as RFC 3339 has them, with or without a fraction, and with
/// an offset in any of the spellings seen (`Z`, `+01:00`, `-0600`, none).
pub(super) fn seconds(text: &str) -> Option<i64> {
    let (date, rest) = text.trim().split_once(['T', ' '])?;
    let mut date = date.split('-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let zone = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at_checked(zone)?;
    let mut clock = clock.split('.').next()?.split(':').map(str::parse::<i64>);
    let (hour, minute) = (clock.next()?.ok()?, clock.next()?.ok()?);
    let second = clock.next().transpose().ok()?.unwrap_or_default();
    if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
        return None;
    }
    Some(days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset(zone)?)
}

fn offset(zone: &str) -> Option<i64> {
    let (sign, digits) = match zone.split_at_checked(1) {
        None | Some(("Z", _)) => return Some(0),
        Some(("+", digits)) => (1, digits),
        Some(("-", digits)) => (-1, digits),
        Some(_) => return None,
    };
    let digits: String = digits.chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes: i64 = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
    Some(sign * (hours.parse::<i64>().ok()? * 3_600 + minutes * 60))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar: years begin in March, so that leap days are last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings() {
        for (text, wanted) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2024-08-08T18:48:07-05:00", Some(1_723_160_887)),
            ("2024-08-08T18:48:07-0500", Some(1_723_160_887)),
            ("2024-08-08T23:48:07.851+00:00", Some(1_723_160_887)),
            ("2024-08-08 23:48:07", Some(1_723_160_887)),
            ("2012-03-07T14:44+06:00", Some(1_331_109_840)),
            ("2000-02-29T12:00:00Z", Some(951_825_600)),
            ("0000-00-00T00:00:00Z", None),
            ("00:00:00Z", None),
            ("TIME_NA", None),
            ("2024-13-01T00:00:00Z", None),
            ("", None),
        ] {
            assert_eq!(seconds(text), wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,40}") {
            let _ = seconds(&text);
        }

        #[test]
        fn later_is_greater(day in 1_i64..28, hour in 0_i64..23) {
            let at = |day, hour| seconds(&format!("2024-02-{day:02}T{hour:02}:00:00Z")).unwrap();
            prop_assert_eq!(at(day, hour + 1) - at(day, hour), 3_600);
            prop_assert_eq!(at(day + 1, hour) - at(day, hour), 86_400);
        }
    }
}
