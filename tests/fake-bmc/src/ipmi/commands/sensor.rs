//! Sensors' readings and thresholds (§35).

use super::{BAD_LENGTH, INVALID_COMMAND, NOT_PRESENT};
use crate::host::locked;
use crate::ipmi::controller::Controller;
use crate::ipmi::message::Outcome;
use crate::ipmi::sdr;

impl Controller {
    pub(super) fn sensor_event(&mut self, command: u8, data: &[u8]) -> Outcome {
        match command {
            0x2d => {
                let [number] = data else { return Err(BAD_LENGTH) };
                let state = locked(&self.shared.sensors).get(*number).ok_or(NOT_PRESENT)?;
                // Events and scanning are on; a part without power has nothing to read.
                let flags = if state.always || self.is_on() { 0xc0 } else { 0xe0 };
                let [low, high] = state.states.to_le_bytes();
                Ok(vec![state.raw, flags, low, high])
            }
            0x27 => {
                let [number] = data else { return Err(BAD_LENGTH) };
                sdr::thresholds(*number).ok_or(NOT_PRESENT)
            }
            _ => Err(INVALID_COMMAND),
        }
    }
}
