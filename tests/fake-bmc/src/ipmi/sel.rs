//! The host's log as a system event log (§32).

use std::time::UNIX_EPOCH;

use crate::host::log::Entry;

/// An entry's record. Its words do not fit: severity becomes an event of the kind that tells it.
pub(super) fn record(entry: &Entry) -> Vec<u8> {
    const SYSTEM_EVENT: u8 = 0x12;
    const SEVERITY: u8 = 0x07;
    const SENSOR_SPECIFIC: u8 = 0x6f;
    let (event_type, offset) = match entry.severity.as_str() {
        "Critical" => (SEVERITY, 2),
        "Warning" => (SEVERITY, 1),
        // "Entry added to auxiliary log".
        _ => (SENSOR_SPECIFIC, 3),
    };
    let time = entry.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let time = u32::try_from(time).unwrap_or(u32::MAX);
    let mut record = u16::try_from(entry.id).unwrap_or(u16::MAX).to_le_bytes().to_vec();
    record.push(0x02);
    record.extend(time.to_le_bytes());
    record.extend([0x20, 0, 0x04, SYSTEM_EVENT, 0x70, event_type, offset, 0xff, 0xff]);
    record
}
