//! Parts of a BareMetalHost's spec.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Extra;

/// How to reach a management controller.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BmcDetails {
    /// URL of the BMC, such as `ipmi://192.0.2.7`.
    pub address: String,
    /// Secret with the keys `username` and `password`.
    #[serde(default)]
    pub credentials_name: String,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An operating system image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Where it is.
    pub url: String,
    /// Hexadecimal digest of the bytes at that URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// `sha256`, `sha512`, `md5` or `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum_type: Option<String>,
    /// `raw`, `qcow2`, `vdi`, `vmdk` or `live-iso`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Which disk to write to: every given field must hold of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RootDeviceHints {
    /// Exact device path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// Exact SCSI address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hctl: Option<String>,
    /// Substring of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Substring of the vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Exact serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// At least this size, in GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_size_gigabytes: Option<i64>,
    /// Exact world wide name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// Spinning or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}
