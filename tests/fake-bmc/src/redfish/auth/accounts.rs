//! Accounts as resources: the seed's first account, or a plain one, with what the shared state says of each.

use serde_json::{Value, json};

use crate::redfish::answer::{Answer, Body};
use crate::redfish::json::{members, replace, set, text};
use crate::redfish::service::Service;

/// IPMI has no room for longer ones.
const PASSWORD: std::ops::RangeInclusive<usize> = 8..=20;

impl Service {
    pub(super) fn account_path(&self, id: u8) -> Option<String> {
        self.tree.facts.accounts.as_ref().map(|accounts| format!("{accounts}/{id}"))
    }

    /// The paths of all accounts.
    pub(in crate::redfish) fn account_paths(&self) -> Vec<String> {
        let ids: Vec<u8> = self.host.users().all().iter().map(|account| account.id).collect();
        ids.into_iter().filter_map(|id| self.account_path(id)).collect()
    }

    /// An account by its path.
    pub(in crate::redfish) fn account(&self, path: &str) -> Option<Value> {
        let accounts = self.tree.facts.accounts.as_ref()?;
        let id: u8 = path.strip_prefix(accounts.as_str())?.strip_prefix('/')?.parse().ok()?;
        let account = self.host.users().all().iter().find(|account| account.id == id)?.clone();
        let seeded = members(self.tree.get(accounts)?).into_iter().find_map(|path| self.tree.get(&path).cloned());
        let service = accounts.rsplit_once('/').map(|(service, _)| service).unwrap_or_default();
        let mut body = seeded.unwrap_or_else(|| {
            json!({
                "@odata.type": "#ManagerAccount.v1_12_1.ManagerAccount",
                "Name": "Account",
                "Password": null,
                "AccountTypes": ["Redfish", "IPMI"],
                "PasswordChangeRequired": false,
            })
        });
        set(&mut body, "@odata.id", path);
        set(&mut body, "Id", id.to_string());
        set(&mut body, "UserName", account.name);
        set(&mut body, "RoleId", account.role.as_str());
        set(&mut body, "Enabled", account.enabled);
        set(&mut body, "Locked", account.locked);
        set(&mut body, "Password", Value::Null);
        set(&mut body, "Links", json!({ "Role": { "@odata.id": format!("{service}/Roles/{}", account.role) } }));
        replace(&mut body, "PasswordChangeRequired", account.must_change_password);
        Some(body)
    }

    pub(in crate::redfish) fn create_account(&self, body: &Value) -> Answer {
        let (Some(name), Some(password)) = (text(body, "UserName"), text(body, "Password")) else {
            let sentence = "an account needs UserName and Password";
            return Answer::error(400, "PropertyMissing", sentence, &["UserName"]);
        };
        if let Some(answer) = refused(password) {
            return answer;
        }
        if self.host.users().named(name).is_some() {
            let sentence = format!("there is an account {name}");
            return Answer::error(400, "ResourceAlreadyExists", &sentence, &["ManagerAccount", "UserName", name]);
        }
        let id = self.host.users().add(name, password, text(body, "RoleId").unwrap_or("ReadOnly"));
        let path = self.account_path(id).unwrap_or_default();
        let account = self.account(&path).unwrap_or_default();
        Answer::new(201, Body::Json(account)).with("Location", self.location(&path))
    }

    pub(in crate::redfish) fn delete_account(&self, path: &str) -> Answer {
        let id = path.rsplit('/').next().and_then(|id| id.parse().ok());
        match id.is_some_and(|id| self.host.users().remove(id)) {
            true => Answer::no_content(),
            false => Answer::not_found(path),
        }
    }

    /// Changes an account.
    pub(in crate::redfish) fn patch_account(&self, path: &str, patch: &Value) -> Result<(), Answer> {
        if let Some(answer) = text(patch, "Password").and_then(refused) {
            return Err(answer);
        }
        let id = path.rsplit('/').next().and_then(|id| id.parse().ok()).unwrap_or_default();
        let mut users = self.host.users();
        let account = users.slot_mut(id).ok_or_else(|| Answer::not_found(path))?;
        if let Some(password) = text(patch, "Password") {
            password.clone_into(&mut account.password);
            account.must_change_password = false;
        }
        if let Some(name) = text(patch, "UserName") {
            name.clone_into(&mut account.name);
        }
        if let Some(role) = text(patch, "RoleId") {
            role.clone_into(&mut account.role);
        }
        let flag = |name: &str| patch.get(name).and_then(Value::as_bool);
        account.enabled = flag("Enabled").unwrap_or(account.enabled);
        // a client may unlock, never lock
        account.locked = account.locked && flag("Locked").unwrap_or(true);
        account.must_change_password = flag("PasswordChangeRequired").unwrap_or(account.must_change_password);
        Ok(())
    }
}

fn refused(password: &str) -> Option<Answer> {
    let sentence = format!("a password has {} to {} characters", PASSWORD.start(), PASSWORD.end());
    (!PASSWORD.contains(&password.len()))
        .then(|| Answer::error(400, "PropertyValueFormatError", &sentence, &["", "Password"]))
}
