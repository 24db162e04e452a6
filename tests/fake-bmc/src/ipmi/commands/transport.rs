//! The controller's network, and settings of the serial console (§23, §26).

use super::{BAD_LENGTH, INVALID_COMMAND, OUT_OF_RANGE};
use crate::ipmi::controller::Controller;
use crate::ipmi::message::Outcome;

const NOT_SUPPORTED: u8 = 0x80;
/// Of parameters: 1.1.
const REVISION: u8 = 0x11;

impl Controller {
    /// The channel itself, where it is called "this one".
    pub(super) fn real_channel(&self, channel: u8) -> u8 {
        if channel & 0x0f == 0x0e { self.options.lan_channel } else { channel & 0x0f }
    }

    pub(super) fn transport(&mut self, command: u8, data: &[u8]) -> Outcome {
        match command {
            0x02 => self.lan(data),
            0x22 => self.sol_settings(data),
            _ => Err(INVALID_COMMAND),
        }
    }

    fn lan(&self, data: &[u8]) -> Outcome {
        let [channel, parameter, _set, _block] = data else { return Err(BAD_LENGTH) };
        let channel = self.real_channel(*channel);
        let is_ours = channel == self.options.lan_channel;
        if !is_ours && !self.options.idle_channels.contains(&channel) {
            return Err(OUT_OF_RANGE);
        }
        let mac = if is_ours { self.host.identity().bmc_mac.0 } else { [0x52, 0x54, 0xfe, 0, 0, channel] };
        let address = if is_ours { [127, 0, 0, 1] } else { [0; 4] };
        let value: &[u8] = match parameter {
            0 => &[0],
            1 => &[0],
            2 => &[0; 5],
            3 => &address,
            4 => &[2],
            5 => &mac,
            6 => &[255, 0, 0, 0],
            12 => &[127, 0, 0, 254],
            13 => &[0; 6],
            20 => &[0, 0],
            _ => return Err(NOT_SUPPORTED),
        };
        Ok([&[REVISION], value].concat())
    }

    fn sol_settings(&self, data: &[u8]) -> Outcome {
        let [_channel, parameter, _set, _block] = data else { return Err(BAD_LENGTH) };
        let port = self.udp_port.to_le_bytes();
        let value: &[u8] = match parameter {
            0 => &[0],
            1 => &[u8::from(self.options.sol_enabled)],
            // Encrypted, authenticated, for operators.
            2 => &[0xc3],
            3 => &[12, 96],
            4 => &[7, 50],
            // 115200 baud.
            5 | 6 => &[0x0a],
            7 => &[self.options.lan_channel],
            8 => &port,
            _ => return Err(NOT_SUPPORTED),
        };
        Ok([&[REVISION], value].concat())
    }
}
