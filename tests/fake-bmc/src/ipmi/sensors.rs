//! What the server's sensors read: raw bytes, as a controller has them.

use std::collections::BTreeMap;

/// One reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Of a value.
    pub(super) raw: u8,
    /// Of states.
    pub(super) states: u16,
    /// Whether it reads while the server is off.
    pub(super) always: bool,
}

/// The sensors by number; [`super::sdr`] describes them.
#[derive(Clone, Debug)]
pub struct Sensors(BTreeMap<u8, State>);

/// Inlet temperature in °C, one step a degree.
pub(super) const INLET: u8 = 0x01;
/// Processor temperature in °C, signed.
pub(super) const CPU: u8 = 0x02;
/// A fan, 120 RPM a step.
pub(super) const FAN: u8 = 0x30;
/// The 12 V rail, 63 mV a step.
pub(super) const RAIL: u8 = 0x40;
/// Power drawn, 4 W a step.
pub(super) const POWER: u8 = 0x50;
/// Two power supplies' states, shared by one record.
pub(super) const SUPPLIES: [u8; 2] = [0x60, 0x61];

impl Default for Sensors {
    fn default() -> Self {
        let value = |raw, always| State { raw, states: 0xc0, always };
        let present = State { raw: 0, states: 0x8001, always: true };
        let [first, second] = SUPPLIES;
        Self(BTreeMap::from([
            (INLET, value(23, true)),
            (CPU, value(45, false)),
            (FAN, value(44, false)),
            (RAIL, value(192, false)),
            (POWER, value(62, false)),
            (first, present),
            (second, present),
        ]))
    }
}

impl Sensors {
    /// Changes what a sensor reads.
    pub fn set(&mut self, number: u8, raw: u8) {
        if let Some(state) = self.0.get_mut(&number) {
            state.raw = raw;
        }
    }

    pub(super) fn get(&self, number: u8) -> Option<State> {
        self.0.get(&number).copied()
    }
}
