//! Identifiers that travel: each is its own type so that none can stand in for another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A text that is no identifier of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is no {what}: expected a UUID or 32 hexadecimal digits")]
pub struct InvalidId {
    what: &'static str,
    value: String,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A fresh random identifier (122 random bits).
            pub fn random() -> Self {
                Self(Uuid::new_v4())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(value: &str) -> Result<Self, InvalidId> {
                value.parse().map(Self).map_err(|_| InvalidId { what: $what, value: value.chars().take(64).collect() })
            }
        }
    };
}

id!(
    /// A host, for as long as its BareMetalHost lives: minted once and kept in the annotation `bessemer.dev/host-id`.
    /// Object UIDs change on a move or a restore; this does not.
    HostId,
    "host id"
);
id!(
    /// One boot into the ramdisk. Script, kernel, ramdisk and overlay of that boot are named by it.
    BootId,
    "boot id"
);
id!(
    /// One attempt at one work item. The controller stores it before it sends the item.
    WorkId,
    "work id"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_its_text_form() {
        let id = BootId::random();
        assert_eq!(id.to_string().parse::<BootId>(), Ok(id));
    }

    #[test]
    fn a_wrong_id_is_named_in_the_error() {
        let error = "r7-u12".parse::<HostId>().unwrap_err();
        assert_eq!(error.to_string(), "\"r7-u12\" is no host id: expected a UUID or 32 hexadecimal digits");
    }
}
