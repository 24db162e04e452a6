//! Reading what takes more than one command: logs, records, inventories, sensors. Each survives what real BMCs do in the
//! middle of it: lost reservations, answers shorter than asked for, message buffers of a few dozen bytes.

mod fru;
mod lan;
mod sdr;
mod sel;
mod sensors;

pub use lan::LanInterface;
pub use sdr::SdrInventory;
pub use sel::SelPage;
pub use sensors::{Reading, SensorValue, Thresholds};

use crate::CompletionCode;

/// How often a lost reservation is taken anew before the one who takes it away has won.
const RESERVATIONS: usize = 8;

/// How many bytes to ask for at once: fewer each time the BMC cannot.
#[derive(Clone, Copy, Debug)]
struct Chunk(u8);

impl Chunk {
    /// What all but the smallest buffers hold.
    const fn new() -> Self {
        Self(32)
    }

    /// Whether there is a smaller size to try after this verdict.
    fn shrink(&mut self, code: CompletionCode) -> bool {
        const SMALLEST: u8 = 4;
        let too_much = matches!(code.0, 0xc7 | 0xc8 | 0xca | 0xff);
        if !too_much || self.0 <= SMALLEST {
            return false;
        }
        self.0 /= 2;
        true
    }

    /// As much of `wanted` as fits.
    fn of(self, wanted: usize) -> u8 {
        u8::try_from(wanted).map_or(self.0, |wanted| wanted.min(self.0))
    }
}
