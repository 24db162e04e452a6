//! Sensor types (§42.2) by name.

/// A sensor type's name; `None` for reserved numbers.
#[must_use]
pub fn sensor_kind(number: u8) -> Option<&'static str> {
    const OEM: u8 = 0xc0;
    if number >= OEM {
        return Some("vendor's own");
    }
    NAMES.get(usize::from(number)).copied()
}

const NAMES: [&str; 45] = [
    "reserved",
    "temperature",
    "voltage",
    "current",
    "fan",
    "physical security",
    "platform security",
    "processor",
    "power supply",
    "power unit",
    "cooling device",
    "other units",
    "memory",
    "drive slot",
    "post memory resize",
    "system firmware progress",
    "event logging",
    "watchdog 1",
    "system event",
    "critical interrupt",
    "button",
    "module or board",
    "microcontroller",
    "add-in card",
    "chassis",
    "chip set",
    "other fru",
    "cable or interconnect",
    "terminator",
    "system boot",
    "boot error",
    "os boot",
    "os stop",
    "slot or connector",
    "acpi power state",
    "watchdog 2",
    "platform alert",
    "entity presence",
    "monitor",
    "lan",
    "management subsystem health",
    "battery",
    "session audit",
    "version change",
    "fru state",
];
