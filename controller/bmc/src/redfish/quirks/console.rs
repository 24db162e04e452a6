//! How the host's serial console is entered from a BMC's own shell, which services older than `ConsoleEntryCommand` do
//! not tell.

use super::Subject;

/// Part of the vendor's name, and the command.
const COMMANDS: &[(&str, &str)] = &[
    // iDRAC RACADM guide: `console com2` or `connect` redirect the serial console.
    ("dell", "console com2"),
    // iLO scripting guide: `VSP` starts the virtual serial port.
    ("hpe", "VSP"),
];

/// The command, where it is known.
pub(crate) fn console_command(subject: &Subject<'_>) -> Option<&'static str> {
    let vendor = subject.vendor.to_ascii_lowercase();
    COMMANDS.iter().find(|(name, _)| vendor.starts_with(name)).map(|(_, command)| *command)
}
