//! What public reports say of vendors' controllers, put together: a host that behaves like one, whatever it is seeded
//! from. Each line is a switch of [`Behaviour`]; the reports are those of the register of quirks.

use std::time::Duration;

use super::{Behaviour, Etags, IfMatch, Reply};

/// Whose controllers a host behaves like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// iDRAC 9: eight sessions, resources without ETags, tasks that are forgotten.
    Dell,
    /// iLO 5: weak ETags, links that end in a slash.
    Hpe,
    /// XCC: writes answered with the resource.
    Lenovo,
    /// X11 to H13: an override that must be whole or falls back, media that take a plain image only and keep it.
    Supermicro,
    /// MegaRAC: writes need an ETag, the override goes to the settings resource, whole.
    Ami,
}

impl Vendor {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Dell, Self::Hpe, Self::Lenovo, Self::Supermicro, Self::Ami];

    /// In lower case, for command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dell => "dell",
            Self::Hpe => "hpe",
            Self::Lenovo => "lenovo",
            Self::Supermicro => "supermicro",
            Self::Ami => "ami",
        }
    }
}

impl Behaviour {
    /// Like that vendor's.
    #[must_use]
    pub fn like(vendor: Vendor) -> Self {
        let plain = Self::default();
        match vendor {
            Vendor::Dell => Self {
                etags: Etags::Off,
                session_limit: 8,
                patch_reply: Reply::Body,
                task_keep: Some(Duration::from_secs(60)),
                media_refuses_second: true,
                ..plain
            },
            Vendor::Hpe => Self {
                etags: Etags::Weak,
                trailing_slashes: true,
                patch_reply: Reply::Body,
                action_reply: Reply::Body,
                reset_reply: Reply::Body,
                ..plain
            },
            Vendor::Lenovo => Self { etags: Etags::Strong, patch_reply: Reply::Body, ..plain },
            Vendor::Supermicro => Self {
                etags: Etags::Strong,
                patch_reply: Reply::Body,
                action_reply: Reply::Task,
                boot_forgets_mode: true,
                boot_falls_to_once: true,
                media_image_only: true,
                media_needs_iso: true,
                media_keeps_image: true,
                media_eject_lag: Duration::from_millis(500),
                ..plain
            },
            Vendor::Ami => Self {
                etags: Etags::Weak,
                if_match: IfMatch::Required,
                boot_needs_all: true,
                boot_in_settings_only: true,
                ..plain
            },
        }
    }
}
