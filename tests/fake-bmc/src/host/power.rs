//! Power states, what may be asked for, and how long it takes.

use std::time::Duration;

/// As Redfish names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerState {
    /// Running.
    On,
    /// Not running; the controller is.
    Off,
    /// On its way up.
    PoweringOn,
    /// On its way down.
    PoweringOff,
    /// Halted by `Pause` or `Suspend`.
    Paused,
}

impl PowerState {
    /// As Redfish spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "On",
            Self::Off => "Off",
            Self::PoweringOn => "PoweringOn",
            Self::PoweringOff => "PoweringOff",
            Self::Paused => "Paused",
        }
    }
}

/// What may be asked for: Redfish's `ResetType`s, which hold IPMI's chassis controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the specification's names")]
pub enum PowerAction {
    On,
    ForceOn,
    ForceOff,
    GracefulShutdown,
    GracefulRestart,
    ForceRestart,
    PowerCycle,
    FullPowerCycle,
    PushPowerButton,
    Nmi,
    Suspend,
    Pause,
    Resume,
}

impl PowerAction {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::On,
        Self::ForceOn,
        Self::ForceOff,
        Self::GracefulShutdown,
        Self::GracefulRestart,
        Self::ForceRestart,
        Self::PowerCycle,
        Self::FullPowerCycle,
        Self::PushPowerButton,
        Self::Nmi,
        Self::Suspend,
        Self::Pause,
        Self::Resume,
    ];

    /// As Redfish spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "On",
            Self::ForceOn => "ForceOn",
            Self::ForceOff => "ForceOff",
            Self::GracefulShutdown => "GracefulShutdown",
            Self::GracefulRestart => "GracefulRestart",
            Self::ForceRestart => "ForceRestart",
            Self::PowerCycle => "PowerCycle",
            Self::FullPowerCycle => "FullPowerCycle",
            Self::PushPowerButton => "PushPowerButton",
            Self::Nmi => "Nmi",
            Self::Suspend => "Suspend",
            Self::Pause => "Pause",
            Self::Resume => "Resume",
        }
    }

    /// Of Redfish's spelling.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }
}

/// The host's state does not allow what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} is not possible while the host is {}", action.name(), state.name())]
pub struct NotNow {
    /// What was asked for.
    pub action: PowerAction,
    /// The state it was in.
    pub state: PowerState,
}

/// How long transitions take. All zero: they are done when the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// From off to on.
    pub on: Duration,
    /// From on to off.
    pub off: Duration,
    /// From the button to off, when the operating system obeys.
    pub graceful: Duration,
    /// A reset.
    pub reset: Duration,
    /// Between a request and the first sign of it: the state reads as before for so long.
    pub lag: Duration,
}

/// How a controller meets an action that changes nothing (on when on, off when off).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repeats {
    /// Accepted, and nothing is done.
    #[default]
    Accepted,
    /// Refused, as some vendors do.
    Refused,
}
