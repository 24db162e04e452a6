//! Disks, clock and Ignition's own words.

use bessemer_api_macros::api;

/// Partitions and file systems to make.
#[api(some)]
#[derive(Eq)]
pub struct DiskSetup {
    /// Partitions.
    #[list(atomic, ..=100)]
    pub partitions: Vec<Partition>,
    /// File systems.
    #[list(atomic, ..=100)]
    pub filesystems: Vec<Filesystem>,
}

/// Partitions of one disk.
#[api]
#[derive(Eq)]
#[rule(
    "[has(self.layout),has(self.diskLayout)].filter(x,x==true).size() == 1",
    "exactly one of the fields in [layout diskLayout] must be set"
)]
pub struct Partition {
    /// The disk.
    #[text(1..=256)]
    pub device: String,
    /// One partition over the whole disk.
    pub layout: Option<bool>,
    /// These partitions.
    #[list(atomic, 1..=100)]
    pub disk_layout: Vec<PartitionSpec>,
    /// What is there may be lost.
    pub overwrite: Option<bool>,
    /// Kind of partition table; `mbr` unless given.
    pub table_type: Option<PartitionTable>,
}

/// One partition.
#[api]
#[derive(Eq)]
pub struct PartitionSpec {
    /// Its share of the disk.
    #[number(1..=100)]
    pub percentage: i32,
    /// What it is for: a name, or a GPT partition type.
    #[text(1..=36)]
    #[rule(
        "self.matches('^(Linux|LinuxSwap|LinuxRAID|LVM|Fat32|NTFS|LinuxExtended|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$')",
        "partitionType must be one of Linux, LinuxSwap, LinuxRAID, LVM, Fat32, NTFS, LinuxExtended or a full GPT partition GUID"
    )]
    pub partition_type: Option<String>,
}

/// Kind of partition table.
#[api]
pub enum PartitionTable {
    /// The old one.
    #[serde(rename = "mbr")]
    Mbr,
    /// The one of UEFI.
    #[serde(rename = "gpt")]
    Gpt,
}

/// One file system.
#[api]
#[derive(Eq)]
pub struct Filesystem {
    /// The disk.
    #[text(1..=256)]
    pub device: String,
    /// Kind.
    #[text(1..=128)]
    pub filesystem: String,
    /// Label.
    #[text(1..=512)]
    pub label: Option<String>,
    /// Which partition: `auto`, `auto|any`, `none` or a number.
    #[text(1..=128)]
    pub partition: Option<String>,
    /// What is there may be lost.
    pub overwrite: Option<bool>,
    /// Only in place of this kind.
    #[serde(rename = "replaceFS")]
    #[text(1..=128)]
    pub replace_fs: Option<String>,
    /// More arguments of `mkfs`.
    #[list(atomic, ..=100, each(1..=256))]
    pub extra_opts: Vec<String>,
}

/// Where the time comes from.
#[api(some)]
#[derive(Eq)]
pub struct Ntp {
    /// Servers.
    #[list(atomic, ..=100, each(1..=512))]
    pub servers: Vec<String>,
    /// Whether at all; yes unless given.
    pub enabled: Option<bool>,
}

/// What only Ignition knows.
#[api(some)]
#[derive(Eq)]
pub struct Ignition {
    /// For Flatcar and its like.
    pub container_linux_config: Option<ContainerLinuxConfig>,
}

/// A Container Linux Config.
#[api(some)]
#[derive(Eq)]
pub struct ContainerLinuxConfig {
    /// Merged into the generated one, in YAML.
    #[text(1..=32768)]
    pub additional_config: Option<String>,
    /// Warnings are failures.
    pub strict: Option<bool>,
}
