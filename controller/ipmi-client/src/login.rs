//! Who logs in, and how far they want to be let in.

use std::fmt;

use zeroize::Zeroizing;

use crate::IpmiError;

/// Longest user name (§22.28).
const MAX_USER_NAME: usize = 16;
/// Longest password of an IPMI 2.0 user (§22.30). Some BMCs keep only 16 bytes of it.
const MAX_PASSWORD: usize = 20;

/// A session's privilege (§6.8); each includes those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Privilege {
    /// Read only.
    User = 2,
    /// Power and boot, no configuration.
    Operator = 3,
    /// Everything.
    Administrator = 4,
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Operator => "operator",
            Self::Administrator => "administrator",
        })
    }
}

/// A user's name and password, and the privilege the session is to have. The password is wiped on drop and never
/// printed.
#[derive(Clone)]
pub struct Login {
    username: String,
    password: Zeroizing<Vec<u8>>,
    privilege: Privilege,
}

impl Login {
    /// An administrator's login.
    ///
    /// # Errors
    /// When the name or the password is longer than IPMI allows.
    pub fn new(username: &str, password: &str) -> Result<Self, IpmiError> {
        if username.len() > MAX_USER_NAME {
            return Err(IpmiError::UserNameTooLong { length: username.len() });
        }
        if password.len() > MAX_PASSWORD {
            return Err(IpmiError::PasswordTooLong { length: password.len() });
        }
        Ok(Self {
            username: username.to_owned(),
            password: Zeroizing::new(password.as_bytes().to_vec()),
            privilege: Privilege::Administrator,
        })
    }

    /// The same login with another privilege.
    #[must_use]
    pub fn with_privilege(mut self, privilege: Privilege) -> Self {
        self.privilege = privilege;
        self
    }

    pub(crate) fn privilege(&self) -> Privilege {
        self.privilege
    }

    /// Whether the password is longer than the 16 bytes that some BMCs keep of it.
    pub(crate) fn has_long_password(&self) -> bool {
        const KEPT_BY_ALL: usize = 16;
        self.password.len() > KEPT_BY_ALL
    }

    /// The user key, K_UID. HMAC pads it with zeros, as the specification does.
    pub(crate) fn key(&self) -> &[u8] {
        &self.password
    }

    /// The role byte and the user name as RAKP carries them. The role asks for a lookup by name only, or a user with
    /// two privileges could be found under the wrong one.
    pub(crate) fn role_and_name(&self) -> (u8, &[u8]) {
        const NAME_ONLY_LOOKUP: u8 = 0x10;
        (NAME_ONLY_LOOKUP | self.privilege as u8, self.username.as_bytes())
    }

    /// What RAKP authenticates of the user: role, name length, name.
    pub(crate) fn identity(&self) -> Vec<u8> {
        let (role, name) = self.role_and_name();
        let mut identity = vec![role, u8::try_from(name.len()).unwrap_or(u8::MAX)];
        identity.extend_from_slice(name);
        identity
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("username", &self.username)
            .field("privilege", &self.privilege)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_specifications() {
        assert!(Login::new("sixteen-bytes-ok", "twenty-bytes-are-ok!").is_ok());
        assert!(matches!(Login::new("seventeen-bytes-x", ""), Err(IpmiError::UserNameTooLong { length: 17 })));
        assert!(matches!(Login::new("", "twenty-one-bytes-long"), Err(IpmiError::PasswordTooLong { length: 21 })));
    }

    #[test]
    fn debug_shows_no_password() {
        let login = Login::new("admin", "hunter2").unwrap();
        assert!(!format!("{login:?}").contains("hunter2"));
        assert!(!format!("{login:?}").contains(&format!("{:?}", b"hunter2")));
    }
}
