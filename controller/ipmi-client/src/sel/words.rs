//! What events mean (§42.1, §42.2), in words: thresholds, the generic states, and the kinds of sensors that tell why a
//! server does not run. Others are shown by number.

use std::fmt;

use super::SensorEvent;
use crate::sdr::sensor_kind;

impl fmt::Display for SensorEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match sensor_kind(self.kind) {
            Some(kind) => write!(f, "{kind} {:#04x}: ", self.sensor)?,
            None => write!(f, "sensor {:#04x} of kind {:#04x}: ", self.sensor, self.kind)?,
        }
        match state_name(self.kind, self.event_type, self.offset) {
            Some(state) => f.write_str(state)?,
            None => write!(f, "event {:#04x} of type {:#04x}", self.offset, self.event_type)?,
        }
        f.write_str(if self.asserted { ": asserted" } else { ": deasserted" })
    }
}

/// A state's name by sensor kind, event type and offset; `None` for those that have no words here.
#[must_use]
pub fn state_name(kind: u8, event_type: u8, offset: u8) -> Option<&'static str> {
    const SENSOR_SPECIFIC: u8 = 0x6f;
    let names: &[&str] = match event_type {
        0x01 => &[
            "lower non-critical, going low",
            "lower non-critical, going high",
            "lower critical, going low",
            "lower critical, going high",
            "lower non-recoverable, going low",
            "lower non-recoverable, going high",
            "upper non-critical, going low",
            "upper non-critical, going high",
            "upper critical, going low",
            "upper critical, going high",
            "upper non-recoverable, going low",
            "upper non-recoverable, going high",
        ],
        0x02 => &["idle", "active", "busy"],
        0x03 => &["state deasserted", "state asserted"],
        0x04 => &["predictive failure deasserted", "predictive failure asserted"],
        0x05 => &["limit not exceeded", "limit exceeded"],
        0x06 => &["performance met", "performance lags"],
        0x07 => &[
            "ok",
            "non-critical from ok",
            "critical from less severe",
            "non-recoverable from less severe",
            "non-critical from more severe",
            "critical from non-recoverable",
            "non-recoverable",
            "monitor",
            "informational",
        ],
        0x08 => &["device absent", "device present"],
        0x09 => &["device disabled", "device enabled"],
        0x0b => &["fully redundant", "redundancy lost", "redundancy degraded"],
        SENSOR_SPECIFIC => specific(kind),
        _ => &[],
    };
    names.get(usize::from(offset)).copied().filter(|name| !name.is_empty())
}

fn specific(kind: u8) -> &'static [&'static str] {
    match kind {
        0x05 => &["chassis opened", "drive bay opened", "i/o area opened", "processor area opened", "lan unplugged"],
        0x07 => &[
            "internal error",
            "thermal trip",
            "built-in self test failed",
            "hung in post",
            "start-up failed",
            "configuration error",
            "uncorrectable machine error",
            "present",
            "disabled",
            "terminator present",
            "throttled",
            "machine check",
            "correctable machine check",
        ],
        0x08 => &["present", "failed", "predictive failure", "input lost", "input lost or out of range"],
        0x09 => &[
            "off",
            "power cycled",
            "240 va power down",
            "interlock power down",
            "ac lost",
            "soft power control failed",
            "power unit failed",
            "predictive failure",
        ],
        0x0c => &[
            "correctable error",
            "uncorrectable error",
            "parity error",
            "scrub failed",
            "memory device disabled",
            "too many correctable errors",
            "present",
            "configuration error",
            "spare",
            "throttled",
            "critical overtemperature",
        ],
        0x0d => &[
            "present",
            "fault",
            "predictive failure",
            "hot spare",
            "consistency check",
            "in critical array",
            "in failed array",
            "rebuilding",
            "rebuild aborted",
        ],
        0x0f => &["firmware error", "firmware hang", "firmware progress"],
        0x10 => &["correctable errors not logged", "event type not logged", "log cleared", "logging off", "log full"],
        0x12 => &["reconfigured", "boot by oem", "undetermined hardware failure", "auxiliary log entry", "pef action"],
        0x13 => &[
            "front panel nmi",
            "bus timeout",
            "i/o channel check nmi",
            "software nmi",
            "pci parity error",
            "pci system error",
            "eisa failsafe timeout",
            "bus correctable error",
            "bus uncorrectable error",
            "fatal nmi",
            "bus fatal error",
            "bus degraded",
        ],
        0x14 => &["power button", "sleep button", "reset button", "fru latch", "fru service"],
        0x1d => &["power up", "hard reset", "warm reset", "pxe boot by user", "diagnostic boot", "restart by os"],
        0x1e => &["no bootable media", "diskette left in drive", "pxe server not found", "invalid boot sector"],
        0x1f => &["a: booted", "c: booted", "pxe booted", "diagnostic booted", "cd booted", "rom booted", "booted"],
        0x20 => &["stopped during load", "stopped at run time", "graceful stop", "graceful shutdown"],
        0x22 => &["s0/g0 working", "s1", "s2", "s3", "s4", "s5/g2 soft off", "s4/s5 soft off", "g3 mechanical off"],
        0x23 => &["timer expired", "hard reset", "power down", "power cycle"],
        0x25 => &["present", "absent", "disabled"],
        0x29 => &["low", "failed", "present"],
        _ => &[],
    }
}
