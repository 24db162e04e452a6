//! Times by which something must be done, and how they are written.

use std::time::{Duration, Instant};

/// `within` from now.
pub(crate) fn after(within: Duration) -> Instant {
    Instant::now() + within
}

/// What is left until `deadline`.
pub(crate) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// `90s`, `70m` or `2h`.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time: write it as 90s, 70m or 2h");
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = text.trim_end_matches(['s', 'm', 'h']).parse().map_err(|_| wrong())?;
    number.checked_mul(unit).map(Duration::from_secs).ok_or_else(wrong)
}

/// For people: `47 s`, `12 min 5 s`.
pub(crate) fn show(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 100 { format!("{seconds} s") } else { format!("{} min {} s", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        assert_eq!(parse("70m"), Ok(Duration::from_secs(4200)));
        assert_eq!(parse("90s"), Ok(Duration::from_secs(90)));
        for wrong in ["", "70", "m", "1d", "99999999999999999999h", "-1m"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(show(Duration::from_secs(725)), "12 min 5 s");
    }
}
