//! Power, the lamp, boot options (§28).

use std::time::Duration;

use tokio::time::Instant;

use super::{BAD_FIELD, BAD_LENGTH, INVALID_COMMAND, WRONG_STATE};
use crate::host::power::{PowerAction, PowerState};
use crate::ipmi::controller::Controller;
use crate::ipmi::message::Outcome;

impl Controller {
    pub(super) fn chassis(&mut self, command: u8, data: &[u8]) -> Outcome {
        match command {
            // Nothing special; all devices are the controller's own.
            0x00 => Ok(vec![0x00, 0x20, 0x20, 0x20, 0x20]),
            0x01 => Ok(self.chassis_status()),
            0x02 => self.chassis_control(data),
            0x04 => self.identify(data),
            // Restart cause: by chassis control.
            0x07 => Ok(vec![0x01, 0x00]),
            0x08 => self.boot_options.set(&self.host, data),
            0x09 => self.boot_option(data),
            _ => Err(INVALID_COMMAND),
        }
    }

    fn boot_option(&self, data: &[u8]) -> Outcome {
        const FLAGS: Option<&u8> = Some(&5);
        const VALID: u8 = 0x80;
        let mut option = self.boot_options.get(&self.host, data)?;
        if self.faults().boot_flags_without_bits
            && data.first() == FLAGS
            && let Some(bits) = option.get_mut(2)
        {
            *bits &= VALID;
        }
        Ok(option)
    }

    /// Whether the server has power, as the status bit has it.
    pub(super) fn is_on(&self) -> bool {
        !matches!(self.host.power(), PowerState::Off | PowerState::PoweringOn)
    }

    fn chassis_status(&self) -> Vec<u8> {
        const ALWAYS_OFF_AFTER_LOSS: u8 = 0x00;
        const IDENTIFY_IS_TOLD: u8 = 0x40;
        let lamp = match (self.host.identify(), self.identify_until) {
            (false, _) => 0,
            (true, Some(_)) => 0x10,
            (true, None) => 0x20,
        };
        vec![u8::from(self.is_on()) | ALWAYS_OFF_AFTER_LOSS, 0, IDENTIFY_IS_TOLD | lamp]
    }

    fn chassis_control(&mut self, data: &[u8]) -> Outcome {
        let [control] = data else { return Err(BAD_LENGTH) };
        let action = match control & 0x0f {
            0 => PowerAction::ForceOff,
            1 => PowerAction::On,
            2 => PowerAction::PowerCycle,
            3 => PowerAction::ForceRestart,
            4 => PowerAction::Nmi,
            5 => PowerAction::GracefulShutdown,
            _ => return Err(BAD_FIELD),
        };
        self.boot_options.on_chassis_control();
        if self.faults().ignore_power {
            return Ok(Vec::new());
        }
        self.host.power_action(action).map(|()| Vec::new()).map_err(|_| WRONG_STATE)
    }

    fn identify(&mut self, data: &[u8]) -> Outcome {
        let (seconds, forever) = match data {
            [] => (15, false),
            [seconds] => (*seconds, false),
            [seconds, force] => (*seconds, force & 1 != 0),
            _ => return Err(BAD_LENGTH),
        };
        self.host.set_identify(forever || seconds != 0);
        let until = || Instant::now() + Duration::from_secs(u64::from(seconds));
        self.identify_until = (!forever && seconds != 0).then(until);
        Ok(Vec::new())
    }
}
