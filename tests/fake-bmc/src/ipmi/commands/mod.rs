//! What commands do. Each group has its file; this one shares them out and knows who may use which.

mod application;
mod chassis;
mod sensor;
mod storage;
mod transport;

use super::controller::Controller;
use super::message::{Outcome, Request};

pub(super) const INVALID_COMMAND: u8 = 0xc1;
pub(super) const LOST_RESERVATION: u8 = 0xc5;
pub(super) const BAD_LENGTH: u8 = 0xc7;
pub(super) const OUT_OF_RANGE: u8 = 0xc9;
pub(super) const TOO_MUCH: u8 = 0xca;
pub(super) const NOT_PRESENT: u8 = 0xcb;
pub(super) const BAD_FIELD: u8 = 0xcc;
const PRIVILEGE: u8 = 0xd4;
pub(super) const WRONG_STATE: u8 = 0xd5;

const OPERATOR: u8 = 3;

impl Controller {
    /// What may be asked by who is not logged in (§G).
    pub(super) fn before_login(&mut self, request: &Request<'_>) -> Outcome {
        match (request.function, request.command) {
            (0x06, 0x38) => self.channel_authentication(request.data),
            (0x06, 0x54) if self.options.lists_cipher_suites => self.channel_cipher_suites(request.data),
            (0x06, 0x37) => Ok(self.guid().to_vec()),
            (0x06, 0x54) => Err(INVALID_COMMAND),
            _ => Err(PRIVILEGE),
        }
    }

    pub(super) fn carry_out(&mut self, id: u32, request: &Request<'_>) -> Outcome {
        let held = self.sessions.get(&id).map_or(0, |session| session.privilege);
        let needed = match (request.function, request.command) {
            // Chassis control, identify, restore policy; boot options.
            (0x00, 0x02 | 0x04 | 0x06 | 0x08 | 0x09) => OPERATOR,
            // Resets of the controller and users.
            (0x06, 0x02 | 0x03 | 0x43 | 0x45 | 0x47) => 4,
            (0x06, 0x44 | 0x46) => OPERATOR,
            (0x0c, 0x02) => OPERATOR,
            _ => 2,
        };
        if held < needed {
            return Err(PRIVILEGE);
        }
        match request.function {
            0x00 => self.chassis(request.command, request.data),
            0x04 => self.sensor_event(request.command, request.data),
            0x06 => self.application(id, request.command, request.data),
            0x0a => self.storage(request.command, request.data),
            0x0c => self.transport(request.command, request.data),
            _ => Err(INVALID_COMMAND),
        }
    }
}
