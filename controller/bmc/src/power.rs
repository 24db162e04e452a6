//! Power, as every BMC understands it.

use std::fmt;

/// Whether the server's main power is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PowerState {
    /// Main power is on; the operating system may still be booting, or hung.
    On,
    /// Main power is off; the BMC itself stays alive.
    Off,
}

impl fmt::Display for PowerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

/// A change of power that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PowerAction {
    /// Power on; nothing happens when it is on already.
    On,
    /// Cut power at once, without telling the operating system.
    ForceOff,
    /// Press the power button: the operating system is asked to shut down, and may not.
    GracefulOff,
    /// Hard reset of a running server, without a power interruption.
    Reset,
    /// Cut power, wait as the BMC sees fit, power on. Only for a server that is on.
    Cycle,
}

impl fmt::Display for PowerAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "power on",
            Self::ForceOff => "forced power off",
            Self::GracefulOff => "graceful power off",
            Self::Reset => "reset",
            Self::Cycle => "power cycle",
        })
    }
}
