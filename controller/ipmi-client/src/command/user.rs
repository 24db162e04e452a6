//! The BMC's users (§22.27, §22.29), as far as it takes to know a free slot from a taken one.

use super::{APPLICATION, Command};
use crate::Malformed;
use crate::bytes::Reader;

/// Get User Name.
#[derive(Clone, Copy, Debug)]
pub struct GetUserName(pub u8);

/// A slot's name as the BMC gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserName(pub String);

impl UserName {
    /// Whether nobody has the slot: no name, or the placeholder that Supermicro BMCs put in its place.
    #[must_use]
    pub fn is_free(&self) -> bool {
        const PLACEHOLDER: &str = "(Empty User)";
        self.0.is_empty() || self.0 == PLACEHOLDER
    }
}

impl Command for GetUserName {
    type Answer = UserName;
    const NAME: &'static str = "get user name";
    const NETWORK_FUNCTION: u8 = APPLICATION;
    const NUMBER: u8 = 0x46;

    fn data(&self) -> Vec<u8> {
        vec![self.0 & 0x3f]
    }

    fn parse(data: &[u8]) -> Result<UserName, Malformed> {
        let name: [u8; 16] = Reader::new("get user name response", data).array()?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(UserName(String::from_utf8_lossy(name).trim().to_owned()))
    }
}

/// Get User Access.
#[derive(Clone, Copy, Debug)]
pub struct GetUserAccess {
    /// The channel.
    pub channel: u8,
    /// The user's slot.
    pub user: u8,
}

/// What a slot is allowed on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserAccess {
    /// Slots there are.
    pub slots: u8,
    /// Whether the user may use IPMI messages at all.
    pub messaging: bool,
    /// Whether the user is held to call-back, and so cannot log in directly.
    pub callback_only: bool,
    /// The privilege limit, 4 for administrator, 15 for none.
    pub privilege: u8,
}

impl Command for GetUserAccess {
    type Answer = UserAccess;
    const NAME: &'static str = "get user access";
    const NETWORK_FUNCTION: u8 = APPLICATION;
    const NUMBER: u8 = 0x44;

    fn data(&self) -> Vec<u8> {
        vec![self.channel & 0x0f, self.user & 0x3f]
    }

    fn parse(data: &[u8]) -> Result<UserAccess, Malformed> {
        let [slots, _enabled, _named, access] = Reader::new("get user access response", data).array()?;
        Ok(UserAccess {
            slots: slots & 0x3f,
            messaging: access & 0x10 != 0,
            callback_only: access & 0x40 != 0,
            privilege: access & 0x0f,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q146_a_placeholder_is_no_user() {
        let name = |text: &[u8]| {
            let mut data = [0; 16];
            data[..text.len()].copy_from_slice(text);
            GetUserName::parse(&data).unwrap()
        };
        assert!(name(b"").is_free() && name(b"(Empty User)").is_free());
        assert!(!name(b"ADMIN").is_free() && !name(b"empty").is_free());
        // Slot 3 of ten, on the channel with messaging, call-back not restricted, administrator.
        let access = GetUserAccess::parse(&[0x0a, 0x03, 0x01, 0x14]).unwrap();
        assert_eq!(access, UserAccess { slots: 10, messaging: true, callback_only: false, privilege: 4 });
        assert!(GetUserAccess::parse(&[0x0a, 0x03, 0x01, 0x54]).unwrap().callback_only);
    }
}
