//! The seed's UUID, serial number and hardware addresses, replaced by the host's wherever they stand as a value; paths
//! and ids stay, so that links hold.

use serde_json::Value;
use uuid::Uuid;

use super::super::facts::Address;
use super::super::service::Service;
use crate::host::identity::Mac;

impl Service {
    pub(super) fn rewrite_identity(&self, body: &mut Value) {
        match body {
            Value::String(text) => {
                if let Some(own) = self.own(text) {
                    *text = own;
                }
            }
            Value::Array(array) => array.iter_mut().for_each(|value| self.rewrite_identity(value)),
            Value::Object(object) => {
                let names = |name: &str| matches!(name, "@odata.id" | "@odata.type" | "Id" | "target" | "Name");
                object.iter_mut().filter(|(name, _)| !names(name)).for_each(|(_, value)| self.rewrite_identity(value));
            }
            _ => {}
        }
    }

    fn own(&self, text: &str) -> Option<String> {
        let (facts, identity) = (&self.tree.facts, self.host.identity());
        // that of the first system is the host's own, those of others follow from it
        if let Some(number) = facts.serials.iter().position(|serial| serial == text) {
            return Some(if number == 0 { identity.serial.clone() } else { format!("{}-{number}", identity.serial) });
        }
        let in_case = |number: u128| {
            let uuid = Uuid::from_u128(identity.uuid.as_u128() ^ number << 48);
            let upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
            if upper { uuid.to_string().to_ascii_uppercase() } else { uuid.to_string() }
        };
        if let Some(number) = facts.uuids.iter().position(|uuid| uuid.eq_ignore_ascii_case(text)) {
            return Some(in_case(number as u128));
        }
        if facts.controller_uuid.as_ref().is_some_and(|uuid| uuid.eq_ignore_ascii_case(text)) {
            return Some(in_case(0xbc));
        }
        if !matches!(text.len(), 12 | 17) {
            return None;
        }
        let seeded = Mac::parse(text)?;
        let mac = self.address(seeded, *facts.addresses.get(&seeded)?);
        let written = mac.to_string();
        let written = if text.bytes().any(|byte| byte.is_ascii_lowercase()) { written.to_lowercase() } else { written };
        Some(match text.as_bytes().get(2) {
            Some(b':') => written,
            Some(b'-') => written.replace(':', "-"),
            _ => written.replace(':', ""),
        })
    }

    /// Those the host does not name keep the maker's half and get the host's number.
    fn address(&self, seeded: Mac, address: Address) -> Mac {
        let identity = self.host.identity();
        let made = |number: u16| {
            let Mac([a, b, c, ..]) = seeded;
            let [_, d, e, f] = (identity.index << 10 | u32::from(number & 0x3ff)).to_be_bytes();
            Mac([a, b, c, d, e, f])
        };
        match address {
            Address::Interface(number) => {
                let named = identity.macs.get(number).copied();
                named.unwrap_or_else(|| made(u16::try_from(number).unwrap_or(u16::MAX) | 0x200))
            }
            Address::Controller => identity.bmc_mac,
            Address::Other(number) => made(number & 0x1ff),
        }
    }
}
