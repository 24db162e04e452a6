//! What hangs on the controller's power lines: a simulated machine, or a process that a test brings. This room must not
//! know how a controller is asked for anything.

use std::sync::Arc;

use crate::host::Host;
use crate::host::boot::BootMode;

/// What the firmware starts from, after the override, its persistence and the inserted media have been looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootSource {
    /// The first disk.
    Disk,
    /// PXE on the first network interface.
    Pxe,
    /// HTTP boot: from the URL of the override, else from the one that DHCP names.
    Http {
        /// `HttpBootUri` of the override.
        url: Option<String>,
    },
    /// A CD: the image that virtual media holds, else what lies in the physical drive.
    Cd {
        /// URL of the inserted image.
        image: Option<String>,
    },
    /// A USB stick or floppy: the image that virtual media holds, if any.
    Usb {
        /// URL of the inserted image.
        image: Option<String>,
    },
    /// Firmware setup, shell, diagnostics and vendors' own: nothing is booted.
    Other(String),
}

/// One start of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// From what.
    pub source: BootSource,
    /// By which firmware interface.
    pub mode: BootMode,
}

/// What became of the request to shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// The operating system obeys: the host is off after [`crate::host::power::Timing::graceful`].
    Obeyed,
    /// The machine will say so itself by [`Host::went_off`], or never.
    WillReport,
    /// Nothing listens.
    Ignored,
}

/// The machine behind a controller. The methods must return quickly; they are called without any lock held, in the
/// order of the transitions, possibly outside a runtime when all delays are zero.
pub trait Machine: Send + Sync + 'static {
    /// Power has come.
    fn power_on(&self, host: &Arc<Host>, boot: &Boot);

    /// Power is gone.
    fn power_off(&self, host: &Arc<Host>);

    /// The reset line was pulled while on.
    fn reset(&self, host: &Arc<Host>, boot: &Boot);

    /// The power button, as ACPI tells the operating system.
    fn shut_down(&self, host: &Arc<Host>) -> Shutdown;

    /// A non-maskable interrupt.
    fn interrupt(&self, _host: &Arc<Host>) {}
}

/// A machine that does as told and runs nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Obedient;

impl Machine for Obedient {
    fn power_on(&self, _host: &Arc<Host>, _boot: &Boot) {}

    fn power_off(&self, _host: &Arc<Host>) {}

    fn reset(&self, _host: &Arc<Host>, _boot: &Boot) {}

    fn shut_down(&self, _host: &Arc<Host>) -> Shutdown {
        Shutdown::Obeyed
    }
}
