//! A user name and a password that cannot be printed.

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// What a BMC asks for before it lets anyone in. The password is wiped on drop and shown nowhere.
#[derive(Clone)]
pub struct Credentials {
    username: String,
    password: Zeroizing<String>,
}

impl Credentials {
    /// Credentials as they stand in the host's secret.
    #[must_use]
    pub fn new(username: impl Into<String>, password: impl Into<String>) -> Self {
        Self { username: username.into(), password: Zeroizing::new(password.into()) }
    }

    /// The user name; not a secret.
    #[must_use]
    pub fn username(&self) -> &str {
        &self.username
    }

    /// The password, for the one place that hands it to a protocol.
    #[must_use]
    pub fn expose_password(&self) -> &str {
        &self.password
    }
}

impl PartialEq for Credentials {
    fn eq(&self, other: &Self) -> bool {
        self.username == other.username && bool::from(self.password.as_bytes().ct_eq(other.password.as_bytes()))
    }
}

impl Eq for Credentials {}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("username", &self.username).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_password() {
        let shown = format!("{:?}", Credentials::new("admin", "s3cr3t"));
        assert!(shown.contains("admin"));
        assert!(!shown.contains("s3cr3t"));
    }

    #[test]
    fn equality_covers_both_parts() {
        let one = Credentials::new("admin", "a");
        assert_eq!(one, Credentials::new("admin", "a"));
        assert_ne!(one, Credentials::new("admin", "b"));
        assert_ne!(one, Credentials::new("root", "a"));
    }
}
