//! Commands, one type each: what it sends, and what the BMC's answer means.

mod boot_options;
mod chassis;
mod device;
mod fru;
mod identify;
mod lan;
mod payload;
mod sdr;
mod sel;
mod sensor;
mod session;
mod user;

pub use boot_options::{
    AcknowledgeBootInfo, BootDevice, BootFlags, BootFlagsReport, GetBootFlags, KeepBootFlagsValid, SetBootFlags,
    SetInProgress,
};
pub use chassis::{ChassisControl, ChassisIdentify, ChassisStatus, GetChassisStatus};
pub use device::{ColdReset, WarmReset};
pub use fru::{FruAreaInfo, FruPiece, GetFruAreaInfo, ReadFruData};
pub use identify::{DeviceId, GetDeviceId, GetSystemGuid};
pub use lan::{
    ChannelInfo, GetChannelInfo, GetLan, LanAddress, LanGateway, LanIsDhcp, LanMac, LanMask, LanParameter, LanReader,
    THIS_CHANNEL,
};
pub use payload::{ActivateSol, DeactivateSol, SolActivated};
pub use sdr::{DeviceRecords, GetSdr, Repository, ReserveSdr, SdrPiece, SdrSource};
pub use sel::{GetSelEntry, GetSelInfo, ReserveSel, SelEntryBytes, SelInfo};
pub use sensor::{GetReadingFactors, GetSensorReading, GetSensorThresholds, RawReading, RawThresholds, ReadingFactors};
pub use session::{CloseSession, SetSessionPrivilege};
pub use user::{GetUserAccess, GetUserName, UserAccess, UserName};

use crate::Malformed;

/// The network function of chassis commands.
const CHASSIS: u8 = 0x00;
/// The network function of sensor and event commands.
const SENSOR_EVENT: u8 = 0x04;
/// The network function of application commands.
const APPLICATION: u8 = 0x06;
/// The network function of storage commands.
const STORAGE: u8 = 0x0a;
/// The network function of commands about the BMC's channels.
const TRANSPORT: u8 = 0x0c;

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

    /// The logical unit it is for; only sensors have others than the first.
    fn lun(&self) -> u8 {
        0
    }

    /// The request's data bytes.
    fn data(&self) -> Vec<u8>;

    /// Reads the answer's data bytes, after a completion code of success.
    ///
    /// # Errors
    /// When they are not what the specification says.
    fn parse(data: &[u8]) -> Result<Self::Answer, Malformed>;
}
