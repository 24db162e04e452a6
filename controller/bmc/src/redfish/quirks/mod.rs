//! What only some BMCs do and no answer of theirs tells: rows of data, each with its public source.
//!
//! A row is the last resort. What can be discovered, read back or tried again is dealt with for all BMCs alike where it
//! happens, and has no row here. This room must not talk to BMCs: it is told who one is, and says what it is known for.

mod console;
mod identity;
mod rows;
mod update;

use redfish_client::{Login, Resource};
use serde_json::json;

pub(crate) use console::console_command;
pub(crate) use identity::{boot_mode_settings, is_known_by_sku, is_virtual_drive, makes_only_firmware};
use rows::{LOGINS, ROWS};
pub(crate) use update::{OwnState, own_state, queues_of, wants_own_form};

/// What a BMC may be known for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// A forced restart may never come to an end; off, a pause, and on does.
    RestartHangs,
    /// The boot target `Cd` is the drive in the server. The virtual one is an attribute of the manager.
    VirtualCdIsAnAttribute,
}

/// The login of `user`, with what some vendors want beside it.
pub(crate) fn login(user: &str, password: &str) -> Login {
    LOGINS.iter().fold(Login::new(user, password), |login, row| {
        let (field, value) = row.field;
        login.with_oem(row.vendor, json!({ field: value }))
    })
}

/// One row: a field in the request for a session, below `Oem` and the vendor's name, where the root shows that name.
#[derive(Debug)]
struct LoginRow {
    /// Its id in the register.
    #[cfg_attr(not(test), expect(dead_code, reason = "the register is held to it by a test"))]
    id: &'static str,
    vendor: &'static str,
    field: (&'static str, &'static str),
}

/// Who a server is, as far as rows ask.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Subject<'a> {
    /// `Manufacturer` of the system.
    pub(crate) vendor: &'a str,
    /// `Model` of the system.
    pub(crate) model: &'a str,
    /// `BiosVersion` of the system.
    pub(crate) bios: &'a str,
}

impl<'a> Subject<'a> {
    /// The server that `system` (a `ComputerSystem`) describes.
    pub(crate) fn of(system: &'a Resource) -> Self {
        let text = |name| system.text(name).unwrap_or_default();
        Self { vendor: text("Manufacturer"), model: text("Model"), bios: text("BiosVersion") }
    }

    /// Whether a row says this of such a server.
    pub(crate) fn has(&self, what: Habit) -> bool {
        let row = ROWS.iter().find(|row| row.what == what && row.matches(self));
        if let Some(row) = row {
            tracing::debug!(quirk = row.id, model = self.model, ?what, "known of this server");
        }
        row.is_some()
    }
}

/// One row: servers that are known for something.
#[derive(Debug)]
struct Row {
    /// Its id in the register.
    id: &'static str,
    what: Habit,
    /// Each text must be in its field, in any case; an empty one is in every field.
    vendor: &'static str,
    model: &'static str,
    bios: &'static str,
}

impl Row {
    fn matches(&self, subject: &Subject<'_>) -> bool {
        let holds = |field: &str, wanted: &str| field.to_ascii_lowercase().contains(&wanted.to_ascii_lowercase());
        holds(subject.vendor, self.vendor) && holds(subject.model, self.model) && holds(subject.bios, self.bios)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_match_whom_they_are_about() {
        let lenovo = Subject { vendor: "Lenovo", model: "ThinkSystem SR675 V3", bios: "QGE138G" };
        assert!(lenovo.has(Habit::RestartHangs));
        assert!(!Subject { model: "ThinkSystem SR670 V2", ..lenovo }.has(Habit::RestartHangs));
        assert!(!Subject { vendor: "Dell Inc.", ..lenovo }.has(Habit::RestartHangs));
    }

    #[test]
    fn every_row_is_in_the_register() {
        let register = include_str!("../../../quirks.yaml");
        let rows = ROWS.iter().map(|row| (row.id, row.vendor));
        for (id, vendor) in rows.chain(LOGINS.iter().map(|row| (row.id, row.vendor))) {
            assert!(register.contains(&format!("- id: {id}\n")), "{id}");
            assert!(!vendor.is_empty(), "a row without a vendor is general behaviour: {id}");
        }
    }
}
