//! The system event log, the newest entries first.

use std::collections::HashSet;

use ipmi_client::command::GetSelInfo;
use ipmi_client::sel::{Event, SelEntry, SensorEvent};

use super::IpmiBmc;
use crate::{BmcError, Health, LogEntry};

/// Entries read at once, to forget those that are too old.
const PAGE: usize = 64;
/// More than any log has.
const PAGES: usize = 1024;

impl IpmiBmc {
    pub(super) async fn read_log(&self, limit: usize) -> Result<Vec<LogEntry>, BmcError> {
        const ACT: &str = "reading its event log";
        if self.execute(ACT, &GetSelInfo).await?.entries == 0 {
            return Ok(Vec::new());
        }
        // The log can only be walked from its oldest entry on: ids have gaps.
        let mut newest = std::collections::VecDeque::new();
        let mut seen = HashSet::new();
        let mut from = None;
        'log: for _ in 0..PAGES {
            let page = self.client.read_sel(from, PAGE).await.map_err(|error| self.explain(ACT, error))?;
            for (record, why) in page.unreadable {
                tracing::warn!(bmc = %self.address, record, %why, "cannot make out an entry of the event log");
            }
            for entry in page.entries {
                // A log whose last entry names an earlier one as the next goes in circles; an id of 0 names nothing.
                if entry.id != 0 && !seen.insert(entry.id) {
                    break 'log;
                }
                newest.push_back(entry);
            }
            newest.drain(..newest.len().saturating_sub(limit));
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        newest.drain(..newest.len().saturating_sub(limit));
        Ok(newest.into_iter().rev().map(entry).collect())
    }
}

fn entry(SelEntry { id, time, event }: SelEntry) -> LogEntry {
    let (severity, message) = match event {
        Event::Sensor(event) => (severity(event), event.to_string()),
        Event::Vendor { kind, data } => {
            let bytes: Vec<String> = data.iter().map(|byte| format!("{byte:02x}")).collect();
            (None, format!("vendor's own entry of type {kind:#04x}: {}", bytes.join(" ")))
        }
    };
    LogEntry {
        log: "SEL".to_owned(),
        id: id.to_string(),
        // The clock has no time zone of its own: as a rule it is UTC.
        time: time.map(|seconds| timestamp(i64::from(seconds))),
        severity,
        message,
        message_id: None,
    }
}

/// What event types tell of severity: thresholds and the type that is made for it.
fn severity(event: SensorEvent) -> Option<Health> {
    match (event.event_type, event.offset, event.asserted) {
        (0x01 | 0x07, _, false) => Some(Health::Ok),
        (0x01, 0 | 1 | 6 | 7, true) | (0x07, 1 | 4, true) => Some(Health::Warning),
        (0x01, _, true) | (0x07, 2 | 3 | 5 | 6, true) => Some(Health::Critical),
        (0x07, 0 | 7 | 8, true) => Some(Health::Ok),
        _ => None,
    }
}

/// RFC 3339, by the civil calendar (H. Hinnant's algorithm).
fn timestamp(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_706_774_400, "2024-02-01T08:00:00Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
        ] {
            assert_eq!(timestamp(seconds), text);
        }
    }

    #[test]
    fn severities() {
        let event = |event_type, offset, asserted| SensorEvent {
            generator: 0x20,
            kind: 1,
            sensor: 0x30,
            event_type,
            asserted,
            offset,
            data: [offset, 0, 0],
        };
        for (event_type, offset, asserted, expected) in [
            (1, 7, true, Some(Health::Warning)),
            (1, 9, true, Some(Health::Critical)),
            (1, 9, false, Some(Health::Ok)),
            (7, 2, true, Some(Health::Critical)),
            (0x6f, 1, true, None),
        ] {
            assert_eq!(severity(event(event_type, offset, asserted)), expected);
        }
    }
}
