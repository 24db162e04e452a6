//! A user name and a password that cannot be printed.

use std::fmt;

use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// What a service asks for before it lets anyone in. The password is wiped on drop and shown nowhere.
#[derive(Clone)]
pub struct Login {
    user: String,
    password: Zeroizing<String>,
    extra: Map<String, Value>,
}

impl Login {
    /// A user and a password.
    #[must_use]
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self { user: user.into(), password: Zeroizing::new(password.into()), extra: Map::new() }
    }

    /// Adds a property to the request that creates a session, for services that want more than the two that the schema
    /// requires (Huawei's iBMC: `Oem.Huawei.Domain`).
    #[must_use]
    pub fn with_property(mut self, name: impl Into<String>, value: Value) -> Self {
        self.extra.insert(name.into(), value);
        self
    }

    /// The user's name; not a secret.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    pub(crate) fn password(&self) -> &str {
        &self.password
    }

    /// The body that creates a session (schema `Session`).
    pub(crate) fn session_request(&self) -> Value {
        let mut body = self.extra.clone();
        body.insert("UserName".to_owned(), self.user.clone().into());
        body.insert("Password".to_owned(), self.password.as_str().into());
        Value::Object(body)
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_password() {
        let shown = format!("{:?}", Login::new("admin", "s3cr3t"));
        assert!(shown.contains("admin") && !shown.contains("s3cr3t"), "{shown}");
    }

    #[test]
    fn a_session_request_carries_what_the_vendor_wants_beside() {
        let login = Login::new("a", "b").with_property("Oem", serde_json::json!({"Huawei": {"Domain": "LocaliBMC"}}));
        let wanted = serde_json::json!({"UserName": "a", "Password": "b", "Oem": {"Huawei": {"Domain": "LocaliBMC"}}});
        assert_eq!(login.session_request(), wanted);
    }
}
