//! Inventories, sensor data records, the event log (§31, §33, §34).

use std::time::{SystemTime, UNIX_EPOCH};

use super::{BAD_LENGTH, INVALID_COMMAND, LOST_RESERVATION, NOT_PRESENT, OUT_OF_RANGE, TOO_MUCH};
use crate::ipmi::controller::Controller;
use crate::ipmi::faults::due;
use crate::ipmi::message::Outcome;
use crate::ipmi::{fru, sdr, sel};

const LAST: u16 = 0xffff;
const WHOLE: u8 = 0xff;

impl Controller {
    pub(super) fn storage(&mut self, command: u8, data: &[u8]) -> Outcome {
        match command {
            0x10 => {
                let [device] = data else { return Err(BAD_LENGTH) };
                let inventory = fru::inventory(self.host.identity(), *device).ok_or(NOT_PRESENT)?;
                let [low, high] = u16::try_from(inventory.len()).unwrap_or(u16::MAX).to_le_bytes();
                Ok(vec![low, high, 0])
            }
            0x11 => self.read_fru(data),
            0x20 => {
                let count = u16::try_from(sdr::records().len()).unwrap_or(u16::MAX);
                // Version 1.5, room for more; never changed; reserving is supported.
                Ok([&[0x51][..], &count.to_le_bytes(), &[0xff, 0xff], &[0; 8], &[0x02]].concat())
            }
            0x22 | 0x42 => {
                self.reservation = self.reservation.wrapping_add(1).max(1);
                Ok(self.reservation.to_le_bytes().to_vec())
            }
            0x23 => self.get_sdr(data),
            0x40 => Ok(self.sel_info()),
            0x43 => self.get_sel_entry(data),
            // The clock.
            0x48 => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                Ok(u32::try_from(now).unwrap_or(u32::MAX).to_le_bytes().to_vec())
            }
            _ => Err(INVALID_COMMAND),
        }
    }

    /// Whether an answer of that length fits.
    fn fits(&self, length: usize) -> bool {
        self.faults().answer_max.is_none_or(|max| length <= max)
    }

    /// Whether a reservation still holds; 0 stands for none where none is needed.
    fn check(&mut self, reservation: u16, needed: bool) -> Result<(), u8> {
        if due(&mut self.faults().lose_reservations) {
            self.reservation = self.reservation.wrapping_add(1).max(1);
            return Err(LOST_RESERVATION);
        }
        let held = reservation == self.reservation || (reservation == 0 && !needed);
        if held { Ok(()) } else { Err(LOST_RESERVATION) }
    }

    fn read_fru(&self, data: &[u8]) -> Outcome {
        let [device, low, high, count] = data else { return Err(BAD_LENGTH) };
        let inventory = fru::inventory(self.host.identity(), *device).ok_or(NOT_PRESENT)?;
        if !self.fits(usize::from(*count) + 1) {
            return Err(TOO_MUCH);
        }
        let rest = inventory.get(usize::from(u16::from_le_bytes([*low, *high]))..).ok_or(OUT_OF_RANGE)?;
        let piece = rest.get(..usize::from(*count)).unwrap_or(rest);
        Ok([&[u8::try_from(piece.len()).unwrap_or_default()], piece].concat())
    }

    fn get_sdr(&mut self, data: &[u8]) -> Outcome {
        let [r0, r1, i0, i1, offset, count] = data else { return Err(BAD_LENGTH) };
        self.check(u16::from_le_bytes([*r0, *r1]), *offset != 0)?;
        let records = sdr::records();
        let id = u16::from_le_bytes([*i0, *i1]);
        let place = match id {
            0 => 0,
            LAST => records.len() - 1,
            id => usize::from(id) - 1,
        };
        let record = records.get(place).ok_or(NOT_PRESENT)?;
        let next = if place + 1 == records.len() { LAST } else { u16::try_from(place + 2).unwrap_or(LAST) };
        let rest = record.get(usize::from(*offset)..).ok_or(OUT_OF_RANGE)?;
        let wanted = if *count == WHOLE { rest.len() } else { usize::from(*count).min(rest.len()) };
        if !self.fits(wanted + 2) {
            return Err(TOO_MUCH);
        }
        Ok([&next.to_le_bytes()[..], rest.get(..wanted).unwrap_or(rest)].concat())
    }

    fn sel_info(&self) -> Vec<u8> {
        let count = u16::try_from(self.host.log().entries().len()).unwrap_or(u16::MAX);
        [&[0x51][..], &count.to_le_bytes(), &[0xff, 0xff], &[0; 8], &[0x02]].concat()
    }

    fn get_sel_entry(&mut self, data: &[u8]) -> Outcome {
        let [r0, r1, i0, i1, offset, count] = data else { return Err(BAD_LENGTH) };
        self.check(u16::from_le_bytes([*r0, *r1]), *offset != 0)?;
        let entries: Vec<_> = self.host.log().entries().map(|entry| (entry.id, sel::record(entry))).collect();
        let id = u16::from_le_bytes([*i0, *i1]);
        let place = match id {
            0 => Some(0),
            LAST => entries.len().checked_sub(1),
            id => entries.iter().position(|(known, _)| *known == u32::from(id)),
        };
        let (_, record) = place.and_then(|place| entries.get(place)).ok_or(NOT_PRESENT)?;
        let follows = place.and_then(|place| entries.get(place + 1));
        let follows = follows.or_else(|| entries.first().filter(|_| self.faults().log_goes_round));
        let next = follows.map_or(LAST, |(id, _)| u16::try_from(*id).unwrap_or(LAST));
        let rest = record.get(usize::from(*offset)..).ok_or(OUT_OF_RANGE)?;
        let wanted = if *count == WHOLE { rest.len() } else { usize::from(*count).min(rest.len()) };
        Ok([&next.to_le_bytes()[..], rest.get(..wanted).unwrap_or(rest)].concat())
    }
}
