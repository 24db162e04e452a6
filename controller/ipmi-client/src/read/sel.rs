//! The system event log, a page at a time.

use std::collections::HashSet;

use crate::command::{GetSelEntry, GetSelInfo, ReserveSel};
use crate::sel::SelEntry;
use crate::{Client, CompletionCode, IpmiError, Malformed};

use super::RESERVATIONS;

const FIRST: u16 = 0;
const END: u16 = 0xffff;

/// A part of the log, the oldest entry first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelPage {
    /// The entries.
    pub entries: Vec<SelEntry>,
    /// Entries that could not be made out, by record id.
    pub unreadable: Vec<(u16, Malformed)>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<u16>,
}

impl Client {
    /// Reads at most `limit` entries from the record `from` on, or from the oldest one.
    ///
    /// A log that is cleared meanwhile ends the page early rather than failing it.
    ///
    /// # Errors
    /// Any of [`IpmiError`]; without a log, a completion code that says so.
    pub async fn read_sel(&self, from: Option<u16>, limit: usize) -> Result<SelPage, IpmiError> {
        let mut page = SelPage { entries: Vec::new(), unreadable: Vec::new(), next: None };
        let info = self.execute(&GetSelInfo).await?;
        if info.entries == 0 {
            return Ok(page);
        }
        let mut reservation = if info.reserves { self.execute(&ReserveSel).await? } else { 0 };
        let mut reservations = 1;
        let mut record = from.unwrap_or(FIRST);
        let mut seen = HashSet::from([record]);
        for _ in 0..limit {
            let entry = match self.execute(&GetSelEntry { reservation, record }).await {
                Ok(entry) => entry,
                Err(IpmiError::Completion { code: CompletionCode::RESERVATION_LOST, .. })
                    if reservations < RESERVATIONS =>
                {
                    reservation = self.execute(&ReserveSel).await?;
                    reservations += 1;
                    continue;
                }
                // The log became shorter than it was, or never was as long as it said.
                Err(IpmiError::Completion { code: CompletionCode::NOT_PRESENT, .. }) => return Ok(page),
                Err(error) => return Err(error),
            };
            match SelEntry::parse(&entry.bytes) {
                Ok(entry) => page.entries.push(entry),
                Err(malformed) => page.unreadable.push((record, malformed)),
            }
            // Some BMCs end the log with 0, and some with the last entry over again; one that goes back goes in circles.
            if entry.next == END || entry.next == FIRST || !seen.insert(entry.next) {
                return Ok(page);
            }
            record = entry.next;
        }
        page.next = Some(record);
        Ok(page)
    }
}
