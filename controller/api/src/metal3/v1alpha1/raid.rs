//! RAID volumes. No list leaves what is there alone; an empty list takes it away.

use bessemer_api_macros::api;

use super::RootDeviceHints;

/// The volumes of a host.
#[api]
#[derive(Eq)]
pub struct RaidConfig {
    /// Volumes of RAID controllers. If given, software volumes are not made.
    #[serde(rename = "hardwareRAIDVolumes")]
    #[schemars(extend("nullable" = true))]
    pub hardware_raid_volumes: Option<Vec<HardwareRaidVolume>>,
    /// Volumes of the kernel. The first is RAID 1 and holds the root file system.
    #[serde(rename = "softwareRAIDVolumes")]
    #[schemars(extend("nullable" = true, "maxItems" = 2))]
    pub software_raid_volumes: Option<Vec<SoftwareRaidVolume>>,
}

/// A volume of a RAID controller.
#[api(no_default)]
#[derive(Eq)]
pub struct HardwareRaidVolume {
    /// RAID level.
    pub level: HardwareRaidLevel,
    /// Name; made up unless given.
    #[text(..=64)]
    pub name: Option<String>,
    /// Size in GiB; as large as can be unless given.
    #[number(0..)]
    #[schemars(extend("format" = null))]
    pub size_gibibytes: Option<i64>,
    /// Spinning disks, or the others; either unless given.
    pub rotational: Option<bool>,
    /// How many disks; as few as the level needs unless given.
    #[number(1..)]
    #[schemars(extend("format" = null))]
    pub number_of_physical_disks: Option<i64>,
    /// Controller, by its name.
    pub controller: Option<String>,
    /// Disks, by their names.
    pub physical_disks: Vec<String>,
}

/// RAID levels of controllers.
#[api]
pub enum HardwareRaidLevel {
    /// Striped.
    #[serde(rename = "0")]
    Raid0,
    /// Mirrored.
    #[serde(rename = "1")]
    Raid1,
    /// Bits striped, with parity.
    #[serde(rename = "2")]
    Raid2,
    /// Striped, with parity.
    #[serde(rename = "5")]
    Raid5,
    /// Striped, with two parities.
    #[serde(rename = "6")]
    Raid6,
    /// Striped mirrors.
    #[serde(rename = "1+0")]
    Raid10,
    /// Striped level 5.
    #[serde(rename = "5+0")]
    Raid50,
    /// Striped level 6.
    #[serde(rename = "6+0")]
    Raid60,
}

/// A volume of the kernel.
#[api(no_default)]
#[derive(Eq)]
pub struct SoftwareRaidVolume {
    /// RAID level.
    pub level: SoftwareRaidLevel,
    /// Size in GiB; as large as can be unless given.
    #[number(0..)]
    #[schemars(extend("format" = null))]
    pub size_gibibytes: Option<i64>,
    /// Disks; all unless given.
    #[schemars(extend("minItems" = 2))]
    pub physical_disks: Vec<RootDeviceHints>,
    /// Whether it holds the root file system.
    #[schemars(extend("x-default" = false))]
    pub root_volume: Option<bool>,
}

/// RAID levels of the kernel.
#[api]
pub enum SoftwareRaidLevel {
    /// Striped.
    #[serde(rename = "0")]
    Raid0,
    /// Mirrored.
    #[serde(rename = "1")]
    Raid1,
    /// Striped mirrors.
    #[serde(rename = "1+0")]
    Raid10,
}
