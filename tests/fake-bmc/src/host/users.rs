//! Accounts of a controller. Passwords are kept as they are: IPMI's handshake needs them, and nothing here is secret.

/// One account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Number of the slot, from 1; IPMI's user id.
    pub id: u8,
    /// User name.
    pub name: String,
    /// Password, in the clear.
    pub password: String,
    /// `Administrator`, `Operator` or `ReadOnly`.
    pub role: String,
    /// Whether it may log in.
    pub enabled: bool,
    /// Locked after too many wrong passwords, or by a test.
    pub locked: bool,
    /// Logged in, it may do nothing but change the password.
    pub must_change_password: bool,
    failures: u32,
}

/// Why somebody was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// No such name, or not that password.
    Wrong,
    /// The account is locked.
    Locked,
    /// The account is disabled.
    Disabled,
}

/// The accounts of one controller.
#[derive(Debug, Clone, Default)]
pub struct Users {
    accounts: Vec<Account>,
    /// Wrong passwords in a row after which an account is locked; never if none.
    pub lockout: Option<u32>,
}

impl Users {
    /// One administrator.
    #[must_use]
    pub fn administrator(name: &str, password: &str) -> Self {
        let mut users = Self::default();
        users.add(name, password, "Administrator");
        users
    }

    /// Adds an account in the next slot and gives its id.
    pub fn add(&mut self, name: &str, password: &str, role: &str) -> u8 {
        let id = self.accounts.iter().map(|account| account.id).max().unwrap_or(0).saturating_add(1);
        self.accounts.push(Account {
            id,
            name: name.to_owned(),
            password: password.to_owned(),
            role: role.to_owned(),
            enabled: true,
            locked: false,
            must_change_password: false,
            failures: 0,
        });
        id
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Account] {
        &self.accounts
    }

    /// By name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Account> {
        self.accounts.iter().find(|account| account.name == name)
    }

    /// By name, to be changed.
    pub fn named_mut(&mut self, name: &str) -> Option<&mut Account> {
        self.accounts.iter_mut().find(|account| account.name == name)
    }

    /// By slot, to be changed.
    pub fn slot_mut(&mut self, id: u8) -> Option<&mut Account> {
        self.accounts.iter_mut().find(|account| account.id == id)
    }

    /// Takes an account away.
    pub fn remove(&mut self, id: u8) -> bool {
        let before = self.accounts.len();
        self.accounts.retain(|account| account.id != id);
        self.accounts.len() < before
    }

    /// Tries a password, and counts the wrong ones.
    ///
    /// # Errors
    /// Why it was refused.
    pub fn log_in(&mut self, name: &str, password: &str) -> Result<Account, Refused> {
        let lockout = self.lockout;
        let account = self.named_mut(name).ok_or(Refused::Wrong)?;
        if account.locked {
            return Err(Refused::Locked);
        }
        if account.password != password {
            account.failures += 1;
            account.locked = lockout.is_some_and(|limit| account.failures >= limit);
            return Err(Refused::Wrong);
        }
        if !account.enabled {
            return Err(Refused::Disabled);
        }
        account.failures = 0;
        Ok(account.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_wrong_passwords_lock_the_account() {
        let mut users = Users::administrator("root", "right");
        users.lockout = Some(2);
        assert_eq!(users.log_in("nobody", "right"), Err(Refused::Wrong));
        assert_eq!(users.log_in("root", "wrong"), Err(Refused::Wrong));
        assert!(users.log_in("root", "right").is_ok(), "a right one starts the count anew");
        assert_eq!(users.log_in("root", "wrong"), Err(Refused::Wrong));
        assert_eq!(users.log_in("root", "wrong"), Err(Refused::Wrong));
        assert_eq!(users.log_in("root", "right"), Err(Refused::Locked));
    }
}
