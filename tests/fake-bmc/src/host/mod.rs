//! The state of one host that every protocol shares: identity, power, boot override, media, accounts, log. Whoever
//! changes it by one protocol sees the change by the other. It must not know either protocol, nor any wire format.

pub mod boot;
pub mod identity;
pub mod log;
pub mod media;
pub mod power;
mod transitions;
pub mod users;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::machine::{Boot, Machine, Obedient};
use boot::BootOverride;
use identity::Identity;
use log::Log;
use media::Media;
use power::{PowerState, Repeats, Timing};
use users::Users;

/// With what a host begins.
pub struct HostOptions {
    /// Who it is.
    pub identity: Identity,
    /// Who may use it.
    pub users: Users,
    /// How long transitions take.
    pub timing: Timing,
    /// How it meets actions that change nothing.
    pub repeats: Repeats,
    /// Whether it is on.
    pub power: PowerState,
    /// What hangs on it.
    pub machine: Arc<dyn Machine>,
}

impl HostOptions {
    /// Host number `index`, off, obedient and instantaneous, with the administrator `admin`, password `password`.
    #[must_use]
    pub fn numbered(index: u32) -> Self {
        Self {
            identity: Identity::numbered(index),
            users: Users::administrator("admin", "password"),
            timing: Timing::default(),
            repeats: Repeats::default(),
            power: PowerState::Off,
            machine: Arc::new(Obedient),
        }
    }
}

/// One host. Methods are short and may be called from anywhere; those that change power may run a task when
/// [`Timing`] asks for it and then need a tokio runtime.
pub struct Host {
    identity: Identity,
    repeats: Repeats,
    machine: Arc<dyn Machine>,
    state: Mutex<State>,
    power_changes: watch::Sender<PowerState>,
    users: Mutex<Users>,
    media: Mutex<Media>,
    log: Mutex<Log>,
    log_changes: watch::Sender<u32>,
}

struct State {
    power: PowerState,
    /// Of the last accepted power action: an older one that is still running ends there.
    generation: u64,
    timing: Timing,
    boot: BootOverride,
    identify: bool,
    boots: u64,
    last_boot: Option<Boot>,
}

impl Host {
    /// A host in that state.
    #[must_use]
    pub fn new(options: HostOptions) -> Arc<Self> {
        let state = State {
            power: options.power,
            generation: 0,
            timing: options.timing,
            boot: BootOverride::default(),
            identify: false,
            boots: 0,
            last_boot: None,
        };
        Arc::new(Self {
            identity: options.identity,
            repeats: options.repeats,
            machine: options.machine,
            state: Mutex::new(state),
            power_changes: watch::Sender::new(options.power),
            users: Mutex::new(options.users),
            media: Mutex::default(),
            log: Mutex::default(),
            log_changes: watch::Sender::new(0),
        })
    }

    /// Who it is.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Its power as the controller reports it now.
    #[must_use]
    pub fn power(&self) -> PowerState {
        self.state().power
    }

    /// Follows its power, to wait for a state instead of asking again.
    #[must_use]
    pub fn watch_power(&self) -> watch::Receiver<PowerState> {
        self.power_changes.subscribe()
    }

    /// Changes how long transitions take from now on.
    pub fn set_timing(&self, timing: Timing) {
        self.state().timing = timing;
    }

    /// The boot override as it is now.
    #[must_use]
    pub fn boot_override(&self) -> BootOverride {
        self.state().boot.clone()
    }

    /// Replaces the boot override.
    pub fn set_boot_override(&self, boot: BootOverride) {
        self.state().boot = boot;
    }

    /// How often the machine has started so far.
    #[must_use]
    pub fn boots(&self) -> u64 {
        self.state().boots
    }

    /// What the last start was from.
    #[must_use]
    pub fn last_boot(&self) -> Option<Boot> {
        self.state().last_boot.clone()
    }

    /// Whether the identify light is on.
    #[must_use]
    pub fn identify(&self) -> bool {
        self.state().identify
    }

    /// Switches the identify light.
    pub fn set_identify(&self, on: bool) {
        self.state().identify = on;
    }

    /// The accounts, under their lock: hold it shortly.
    pub fn users(&self) -> MutexGuard<'_, Users> {
        locked(&self.users)
    }

    /// The virtual media, under their lock: hold it shortly.
    pub fn media(&self) -> MutexGuard<'_, Media> {
        locked(&self.media)
    }

    /// The event log, under its lock: hold it shortly; [`Self::note`] adds to it.
    pub fn log(&self) -> MutexGuard<'_, Log> {
        locked(&self.log)
    }

    /// Adds an entry to the event log and tells those that follow it. Gives its id.
    pub fn note(&self, severity: &str, message: impl Into<String>) -> u32 {
        let id = self.log().add(severity, message);
        self.log_changes.send_replace(id);
        id
    }

    /// Follows the ids of the entries that [`Self::note`] adds.
    #[must_use]
    pub fn watch_log(&self) -> watch::Receiver<u32> {
        self.log_changes.subscribe()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

/// A test that panicked while it held the lock has failed already; the others go on.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
