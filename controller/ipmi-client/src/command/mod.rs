//! Commands, one type each: what it sends, and what the BMC's answer means.

mod boot_options;
mod chassis;
mod identify;
mod session;

pub use boot_options::{BootDevice, BootFlags, BootFlagsReport, GetBootFlags, KeepBootFlagsValid, SetBootFlags};
pub use chassis::{ChassisControl, ChassisStatus, GetChassisStatus};
pub use identify::{DeviceId, GetDeviceId, GetSystemGuid};
pub use session::{CloseSession, SetSessionPrivilege};

use crate::Malformed;

/// The network function of chassis commands.
const CHASSIS: u8 = 0x00;
/// The network function of application commands.
const APPLICATION: u8 = 0x06;

/// A request and the type of its answer.
pub trait Command {
    /// What the answer says.
    type Answer;
    /// The command's name in errors.
    const NAME: &'static str;
    /// The request's network function; even.
    const NETWORK_FUNCTION: u8;
    /// The command number.
    const NUMBER: u8;
    /// Whether carrying it out twice is as good as once. One that is not is sent once and never again, whatever is
    /// lost: a BMC that is merely slow would reset its server once for every repetition.
    const REPEATABLE: bool = true;

    /// The request's data bytes.
    fn data(&self) -> Vec<u8>;

    /// Reads the answer's data bytes, after a completion code of success.
    ///
    /// # Errors
    /// When they are not what the specification says.
    fn parse(data: &[u8]) -> Result<Self::Answer, Malformed>;
}
