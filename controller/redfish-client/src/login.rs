//! A user name and a password that cannot be printed.

use std::fmt;

use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::resource::look;

/// What a service asks for before it lets anyone in. The password is wiped on drop and shown nowhere.
#[derive(Clone)]
pub struct Login {
    user: String,
    password: Zeroizing<String>,
    extra: Map<String, Value>,
    oem: Vec<(String, Value)>,
}

impl Login {
    /// A user and a password.
    #[must_use]
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self { user: user.into(), password: Zeroizing::new(password.into()), extra: Map::new(), oem: Vec::new() }
    }

    /// Adds a property to the request that creates a session, for services that want more than the two that the schema
    /// requires (Huawei's iBMC: `Oem.Huawei.Domain`).
    #[must_use]
    pub fn with_property(mut self, name: impl Into<String>, value: Value) -> Self {
        self.extra.insert(name.into(), value);
        self
    }

    /// Adds `value` below `Oem` and the vendor's name to the request that creates a session, at services that show that
    /// vendor's name below `Oem` in their root, and at no others.
    #[must_use]
    pub fn with_oem(mut self, vendor: impl Into<String>, value: Value) -> Self {
        self.oem.push((vendor.into(), value));
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

    /// The body that creates a session (schema `Session`) at a service with this root.
    pub(crate) fn session_request(&self, root: &Value) -> Value {
        let mut body = self.extra.clone();
        let vendors = look(root, "Oem");
        for (vendor, value) in &self.oem {
            if vendors.is_some_and(|vendors| vendors.get(vendor).is_some()) {
                let oem = body.entry("Oem").or_insert_with(|| Value::Object(Map::new()));
                if let Some(oem) = oem.as_object_mut() {
                    oem.insert(vendor.clone(), value.clone());
                }
            }
        }
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
    use serde_json::json;

    use super::*;

    #[test]
    fn debug_shows_no_password() {
        let shown = format!("{:?}", Login::new("admin", "s3cr3t"));
        assert!(shown.contains("admin") && !shown.contains("s3cr3t"), "{shown}");
    }

    #[test]
    fn q26_a_session_request_carries_what_the_vendor_wants_beside_and_only_there() {
        let domain = json!({"Domain": "LocaliBMC"});
        let login = Login::new("a", "b").with_oem("Huawei", domain.clone());
        let wanted = json!({"UserName": "a", "Password": "b", "Oem": {"Huawei": domain}});
        assert_eq!(login.session_request(&json!({"Oem": {"Huawei": {}}})), wanted);
        let plain = json!({"UserName": "a", "Password": "b"});
        for root in [json!({"Oem": {"Hpe": {}}}), json!({"Oem": null}), json!({})] {
            assert_eq!(login.session_request(&root), plain, "{root}");
        }
        let always = Login::new("a", "b").with_property("Context", json!("x")).session_request(&json!({}));
        assert_eq!(always, json!({"UserName": "a", "Password": "b", "Context": "x"}));
    }
}
