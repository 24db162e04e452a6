//! The command line of `bessemer bmc`.

use std::path::PathBuf;
use std::time::Duration;

use bessemer_bmc::MediaKind;
use clap::{Args, Subcommand, ValueEnum};

use super::output::Format;

/// What to do, with which BMC.
#[derive(Debug, Args)]
pub(crate) struct BmcOptions {
    #[command(flatten)]
    pub(super) access: AccessOptions,
    /// How results look on stdout.
    #[arg(short, long, value_enum, default_value = "table", global = true)]
    pub(super) output: Format,
    #[command(subcommand)]
    pub(super) command: BmcCommand,
}

/// Which BMC, who asks, and how it proves who it is.
#[derive(Debug, Args)]
pub(super) struct AccessOptions {
    /// As in a BareMetalHost: `redfish://HOST[:PORT][/SYSTEM]`, `ipmi://HOST[:PORT]`, `idrac-redfish://…`; a bare HOST
    /// means IPMI.
    #[arg(short, long, value_name = "URL", env = "BESSEMER_BMC_ADDRESS", global = true)]
    pub(super) address: Option<String>,
    /// User of the BMC.
    #[arg(short, long, value_name = "NAME", env = "BESSEMER_BMC_USERNAME", global = true)]
    pub(super) username: Option<String>,
    /// File whose first line is the password; `-` is stdin. Without it the variable `BESSEMER_BMC_PASSWORD`, then a
    /// question on the terminal, or the first line of stdin. There is no option for the password itself: other users of
    /// this machine could read it.
    #[arg(long, value_name = "FILE", global = true)]
    pub(super) password_file: Option<PathBuf>,
    /// Believe any certificate: encrypts, proves nothing.
    #[arg(long, global = true, conflicts_with_all = ["ca_file", "pin"])]
    pub(super) insecure: bool,
    /// Believe certificates of these authorities (PEM), or the BMC's own if it is among them.
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "pin")]
    pub(super) ca_file: Option<PathBuf>,
    /// Believe the one certificate with this SHA-256 fingerprint: 64 hexadecimal digits, colons allowed.
    #[arg(long, value_name = "SHA256", global = true)]
    pub(super) pin: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum BmcCommand {
    /// Who is answering: vendor, model, firmware, serial number, power
    Info(InfoOptions),
    /// Power of the server
    Power {
        #[command(subcommand)]
        command: PowerCommand,
    },
    /// What the server boots from next; read back before it is called done
    Boot(BootOptions),
    /// Virtual media
    Media {
        #[command(subcommand)]
        command: MediaCommand,
    },
    /// Temperatures, fans, power and voltages
    Sensors,
    /// What the BMC has written down, newest first
    Log {
        /// At most this many entries.
        #[arg(short, long, value_name = "COUNT", default_value_t = 50)]
        limit: usize,
    },
    /// The server's serial console; `~.` at the beginning of a line ends it
    ///
    /// With IPMI it is opened here. Where the BMC offers other ways only, they are listed.
    Console {
        /// List the ways to the console instead of opening it.
        #[arg(long)]
        ways: bool,
        /// Take it from whoever has it; without this, theirs goes on.
        #[arg(long, conflicts_with = "ways")]
        take_over: bool,
    },
}

#[derive(Debug, Args)]
pub(super) struct InfoOptions {
    /// Also the hardware, as the BMC knows it. May take minutes.
    #[arg(long)]
    pub(super) inventory: bool,
    /// Also what this BMC can do, and why not what it cannot.
    #[arg(long)]
    pub(super) capabilities: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum PowerCommand {
    /// Whether the server is on
    Status,
    /// Switch it on and wait until it is
    On,
    /// Cut its power and wait until it is off
    Off {
        /// Ask the operating system to shut down instead of cutting power.
        #[arg(long)]
        soft: bool,
        /// With `--soft`: how long to wait until it is off.
        #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration, requires = "soft")]
        timeout: Duration,
        /// With `--soft`: cut power if it is still on then.
        #[arg(long, requires = "soft")]
        force: bool,
    },
    /// Cut power and switch it on again
    Cycle,
    /// Reset it without cutting power
    Reset,
}

#[derive(Debug, Args)]
pub(super) struct BootOptions {
    /// From where.
    #[arg(value_enum)]
    pub(super) device: Device,
    /// With `http`: the program's address; without it, the one that DHCP gives.
    #[arg(value_name = "URL")]
    pub(super) url: Option<String>,
    /// For the next boot only; otherwise until it is changed.
    #[arg(long)]
    pub(super) once: bool,
    /// For a server that boots by legacy BIOS instead of UEFI.
    #[arg(long)]
    pub(super) legacy: bool,
}

/// Boot sources by the names that they have here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Device {
    /// The network.
    Pxe,
    /// The network, by UEFI's own HTTP client.
    Http,
    /// The disk.
    Disk,
    /// The CD, virtual or not.
    Cd,
    /// Firmware's own order: ends an override.
    None,
}

#[derive(Debug, Subcommand)]
pub(super) enum MediaCommand {
    /// The slots and what is in them
    List,
    /// Insert an image; what is in the slot is ejected first
    Insert(InsertOptions),
    /// Eject what is inserted; nothing inserted is a success
    Eject {
        /// Slots for this kind of medium.
        #[arg(long, value_enum, default_value = "cd")]
        kind: Kind,
    },
}

#[derive(Debug, Args)]
pub(super) struct InsertOptions {
    /// Where the BMC fetches the image.
    pub(super) url: String,
    /// What the server sees it as.
    #[arg(long, value_enum, default_value = "cd")]
    pub(super) kind: Kind,
    /// User that the web server asks the BMC for.
    #[arg(long, value_name = "NAME", requires = "media_password_file")]
    pub(super) media_username: Option<String>,
    /// File whose first line is the password that the web server asks the BMC for.
    #[arg(long, value_name = "FILE", requires = "media_username")]
    pub(super) media_password_file: Option<PathBuf>,
}

/// Kinds of media by the names that they have here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// CD or DVD.
    Cd,
    /// USB stick.
    Usb,
    /// Floppy.
    Floppy,
}

impl From<Kind> for MediaKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Cd => Self::Cd,
            Kind::Usb => Self::Usb,
            Kind::Floppy => Self::Floppy,
        }
    }
}

/// `90s`, `2m` or `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time: write it as 90s, 2m or 1h");
    let (number, unit) = match text.chars().last() {
        Some('s') => (text.trim_end_matches('s'), 1),
        Some('m') => (text.trim_end_matches('m'), 60),
        Some('h') => (text.trim_end_matches('h'), 3600),
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(unit).map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::cli::Cli;

    fn parse(words: &str) -> Result<(), String> {
        let words = ["bessemer", "bmc"].into_iter().chain(words.split_whitespace());
        Cli::try_parse_from(words).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn options_may_stand_before_and_after_the_command() {
        for words in [
            "-a redfish://b -u root power status",
            "power status -a redfish://b -u root -o json",
            "media insert http://h/a.iso --kind usb --pin aa",
            "boot http http://h/a.efi --once",
            "power off --soft --timeout 90s --force",
            "console --ways --insecure",
            "console --take-over",
        ] {
            assert_eq!(parse(words), Ok(()), "{words}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (words, part) in [
            ("power status --insecure --pin aa", "cannot be used with"),
            ("power off --force", "--soft"),
            ("power off --soft --timeout 2x", "no time"),
            ("power status --password secret", "unexpected argument"),
            ("media insert http://h/a.iso --media-username bob", "--media-password-file"),
            ("boot usb", "possible values"),
        ] {
            let said = parse(words).unwrap_err();
            assert!(said.contains(part), "{words}: {said}");
        }
    }
}
