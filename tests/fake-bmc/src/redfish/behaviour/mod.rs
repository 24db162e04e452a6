//! How a controller behaves where the specification leaves a choice, or where vendors take one against it. Everything
//! may be changed while the host runs.

mod vendors;

use std::time::Duration;

pub use vendors::Vendor;

/// Whether and how resources carry ETags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Etags {
    /// As the seed's system does: none, weak or strong.
    #[default]
    AsSeed,
    /// None at all.
    Off,
    /// `W/"…"`.
    Weak,
    /// `"…"`.
    Strong,
}

/// What `If-Match` does on writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IfMatch {
    /// A wrong one gives 412, none is fine.
    #[default]
    Checked,
    /// It is not looked at.
    Ignored,
    /// A write without it gives 428.
    Required,
    /// Only the strong form is taken, though the weak one is given.
    StrongOnly,
}

/// How a successful write is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reply {
    /// 204.
    #[default]
    NoContent,
    /// 200 with the resource, or with a message for actions.
    Body,
    /// 202 with a task; it is done when the task ends.
    Task,
}

/// What `Location` of a 202 names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Location {
    /// The task monitor.
    #[default]
    Monitor,
    /// The task itself.
    Task,
    /// There is none.
    Missing,
}

/// The choices of one controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behaviour {
    /// ETags on resources.
    pub etags: Etags,
    /// `If-Match` on writes.
    pub if_match: IfMatch,
    /// Any `If-Match` on an action gives 412.
    pub action_refuses_if_match: bool,
    /// Answer to PATCH.
    pub patch_reply: Reply,
    /// Answer to actions on virtual media and firmware settings; a reset is answered by [`Self::reset_reply`].
    pub action_reply: Reply,
    /// Answer to a reset.
    pub reset_reply: Reply,
    /// `Location` of a 202.
    pub location: Location,
    /// Locations are absolute URLs instead of paths.
    pub absolute_location: bool,
    /// How long a task runs.
    pub task_time: Duration,
    /// How long an ended task can be read; for ever if none.
    pub task_keep: Option<Duration>,
    /// Why firmware updates fail, if they do.
    pub update_fails: Option<String>,
    /// Sessions at once.
    pub session_limit: usize,
    /// Status when there is no session left.
    pub session_limit_status: u16,
    /// A session ends when it was not used for so long.
    pub session_timeout: Duration,
    /// Whether sessions can be made.
    pub sessions: bool,
    /// Whether Basic authentication is taken.
    pub basic: bool,
    /// Requests without `OData-Version: 4.0` give 412.
    pub needs_odata_version: bool,
    /// Every link ends in a slash.
    pub trailing_slashes: bool,
    /// Members of a collection in one answer; the rest by `Members@odata.nextLink`.
    pub page: Option<usize>,
    /// The boot override can be written at the settings resource only.
    pub boot_in_settings_only: bool,
    /// A boot override that has not target, enabled and mode together changes nothing.
    pub boot_needs_all: bool,
    /// A boot override without `BootSourceOverrideMode` makes it Legacy.
    pub boot_forgets_mode: bool,
    /// A boot override without `BootSourceOverrideEnabled` makes it Once.
    pub boot_falls_to_once: bool,
    /// `InsertMedia` takes `Image` only.
    pub media_image_only: bool,
    /// An image must be named `….iso`.
    pub media_needs_iso: bool,
    /// Inserting over an image is refused.
    pub media_refuses_second: bool,
    /// `Image` is shown after the eject.
    pub media_keeps_image: bool,
    /// An ejected image shows for so long, and inserting meanwhile gives 500.
    pub media_eject_lag: Duration,
    /// `Bios` shows what waits for the next start.
    pub bios_shows_pending: bool,
    /// How long the controller is away after its own reset.
    pub restart: Duration,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            etags: Etags::AsSeed,
            if_match: IfMatch::Checked,
            action_refuses_if_match: false,
            patch_reply: Reply::NoContent,
            action_reply: Reply::NoContent,
            reset_reply: Reply::NoContent,
            location: Location::Monitor,
            absolute_location: false,
            task_time: Duration::ZERO,
            task_keep: None,
            update_fails: None,
            session_limit: 16,
            session_limit_status: 503,
            session_timeout: Duration::from_secs(1800),
            sessions: true,
            basic: true,
            needs_odata_version: false,
            trailing_slashes: false,
            page: None,
            boot_in_settings_only: false,
            boot_needs_all: false,
            boot_forgets_mode: false,
            boot_falls_to_once: false,
            media_image_only: false,
            media_needs_iso: false,
            media_refuses_second: false,
            media_keeps_image: false,
            media_eject_lag: Duration::ZERO,
            bios_shows_pending: false,
            restart: Duration::from_millis(200),
        }
    }
}
