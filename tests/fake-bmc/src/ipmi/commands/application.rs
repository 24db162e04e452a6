//! Who the controller is, sessions, channels, users, payloads (§20, §22, §24).

use std::time::Duration;

use tokio::time::Instant;

use super::{BAD_FIELD, BAD_LENGTH, INVALID_COMMAND, NOT_PRESENT, PRIVILEGE};
use crate::ipmi::controller::Controller;
use crate::ipmi::crypto::Suite;
use crate::ipmi::login::privilege_of;
use crate::ipmi::message::Outcome;
use crate::ipmi::sol::{Line, PACKET_MAX, PAYLOAD};

/// For so long a controller that starts anew says nothing.
const RESTART: Duration = Duration::from_millis(700);
const ALREADY_ACTIVE: u8 = 0x80;
const DISABLED: u8 = 0x81;

impl Controller {
    pub(super) fn application(&mut self, id: u32, command: u8, data: &[u8]) -> Outcome {
        match command {
            0x01 => Ok(self.device_id()),
            0x02 | 0x03 => {
                let mut counts = self.counts();
                if command == 0x02 {
                    counts.cold_resets += 1
                } else {
                    counts.warm_resets += 1
                }
                drop(counts);
                self.forget_sessions();
                self.deaf_until = Some(Instant::now() + RESTART);
                Ok(Vec::new())
            }
            // Self test passed.
            0x04 => Ok(vec![0x55, 0x00]),
            0x08 | 0x37 => Ok(self.guid().to_vec()),
            0x38 => self.channel_authentication(data),
            0x3b => self.set_privilege(id, data),
            0x3c => self.close_session(id, data),
            0x42 => self.channel_info(data),
            0x44 => self.user_access(data),
            0x46 => self.user_name(data),
            0x48 => self.activate_payload(id, data),
            0x49 => self.deactivate_payload(data),
            0x4a => {
                let [kind] = data else { return Err(BAD_LENGTH) };
                let active = *kind == PAYLOAD && self.sessions.values().any(|session| session.line.is_some());
                Ok(vec![1, u8::from(active), 0])
            }
            0x54 if self.options.lists_cipher_suites => self.channel_cipher_suites(data),
            _ => Err(INVALID_COMMAND),
        }
    }

    fn device_id(&self) -> Vec<u8> {
        // Sensors, SDR repository, SEL, FRU, chassis.
        const SUPPORT: u8 = 0x8f;
        let [m0, m1, m2, _] = self.options.manufacturer.to_le_bytes();
        let [p0, p1] = self.options.product.to_le_bytes();
        vec![0x20, 0x01, 0x02, 0x13, 0x02, SUPPORT, m0, m1, m2, p0, p1, 0, 0, 0, 0]
    }

    pub(in crate::ipmi) fn channel_authentication(&self, data: &[u8]) -> Outcome {
        let [channel, _privilege] = data else { return Err(BAD_LENGTH) };
        let wants_extended = channel & 0x80 != 0;
        // No IPMI 1.5 log in at all; users have names; IPMI 2.0.
        Ok(vec![self.real_channel(*channel), if wants_extended { 0x80 } else { 0 }, 0x04, 0x02, 0, 0, 0, 0])
    }

    pub(in crate::ipmi) fn channel_cipher_suites(&self, data: &[u8]) -> Outcome {
        const PIECE: usize = 16;
        let [channel, _payload, index] = data else { return Err(BAD_LENGTH) };
        let allowed = Suite::ALL.into_iter().filter(|suite| self.suites.contains(&suite.number()));
        let list: Vec<u8> = allowed
            .flat_map(|suite| {
                let [authentication, integrity, confidentiality] = suite.algorithms();
                [0xc0, suite.number(), authentication, 0x40 | integrity, 0x80 | confidentiality]
            })
            .collect();
        let rest = list.get(usize::from(index & 0x3f) * PIECE..).unwrap_or_default();
        Ok([&[self.real_channel(*channel)], rest.get(..PIECE).unwrap_or(rest)].concat())
    }

    fn set_privilege(&mut self, id: u32, data: &[u8]) -> Outcome {
        const TOO_HIGH: u8 = 0x81;
        let [wanted] = data else { return Err(BAD_LENGTH) };
        let session = self.sessions.get_mut(&id).ok_or(PRIVILEGE)?;
        match wanted & 0x0f {
            0 => {}
            1 => return Err(BAD_FIELD),
            wanted if wanted > session.privilege_max => return Err(TOO_HIGH),
            wanted => session.privilege = wanted,
        }
        Ok(vec![session.privilege])
    }

    fn close_session(&mut self, id: u32, data: &[u8]) -> Outcome {
        const UNKNOWN: u8 = 0x87;
        let (named, _) = data.split_first_chunk::<4>().ok_or(BAD_LENGTH)?;
        if u32::from_le_bytes(*named) != id {
            return Err(UNKNOWN);
        }
        self.closing = Some(id);
        Ok(Vec::new())
    }

    fn channel_info(&self, data: &[u8]) -> Outcome {
        let [channel] = data else { return Err(BAD_LENGTH) };
        let channel = self.real_channel(*channel);
        let is_lan = channel == self.options.lan_channel || self.options.idle_channels.contains(&channel);
        let medium = match channel {
            0x0f => 0x0c,
            _ if is_lan => 0x04,
            _ => return Err(BAD_FIELD),
        };
        // Several sessions at once; IPMI's own number as vendor.
        Ok(vec![channel, medium, 0x01, 0x80, 0xf2, 0x1b, 0x00, 0, 0])
    }

    fn user_access(&self, data: &[u8]) -> Outcome {
        let [_channel, slot] = data else { return Err(BAD_LENGTH) };
        let users = self.host.users();
        let account = users.all().iter().find(|account| account.id == slot & 0x3f);
        let enabled = users.all().iter().filter(|account| account.enabled).count();
        let access = account.map_or(0x0f, |account| 0x30 | privilege_of(account));
        Ok(vec![10, u8::try_from(enabled).unwrap_or(u8::MAX) & 0x3f, 0, access])
    }

    fn user_name(&self, data: &[u8]) -> Outcome {
        let [slot] = data else { return Err(BAD_LENGTH) };
        let users = self.host.users();
        let account = users.all().iter().find(|account| account.id == slot & 0x3f);
        let mut name = account.map(|account| account.name.clone().into_bytes()).unwrap_or_default();
        name.resize(16, 0);
        Ok(name)
    }

    fn activate_payload(&mut self, id: u32, data: &[u8]) -> Outcome {
        let [kind, _instance, ..] = data else { return Err(BAD_LENGTH) };
        if *kind != PAYLOAD {
            return Err(BAD_FIELD);
        }
        if !self.options.sol_enabled {
            return Err(DISABLED);
        }
        if self.sessions.values().any(|session| session.line.is_some()) {
            return Err(ALREADY_ACTIVE);
        }
        let session = self.sessions.get_mut(&id).ok_or(NOT_PRESENT)?;
        session.line = Some(Line::default());
        let size = u16::try_from(PACKET_MAX + 4).unwrap_or(u16::MAX).to_le_bytes();
        Ok([&[0; 4][..], &size, &size, &self.udp_port.to_le_bytes(), &[0xff, 0xff]].concat())
    }

    /// Anybody may: whoever had it is told.
    fn deactivate_payload(&mut self, data: &[u8]) -> Outcome {
        const ALREADY_INACTIVE: u8 = 0x80;
        const DEACTIVATED: u8 = 0x10;
        let [kind, _instance, ..] = data else { return Err(BAD_LENGTH) };
        let had = self.sessions.values_mut().find(|session| *kind == PAYLOAD && session.line.is_some());
        let session = had.ok_or(ALREADY_INACTIVE)?;
        session.line = None;
        let last_words = session.seal(PAYLOAD, &[0, 0, 0, DEACTIVATED]);
        self.last_words.push((session.peer, last_words));
        Ok(Vec::new())
    }
}
