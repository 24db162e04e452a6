//! FirmwareSchema: which values BIOS settings take.

use std::collections::BTreeMap;

use bessemer_api_macros::api;

/// The BIOS settings of one vendor and model; hosts of a kind share it. In its fields words are joined by underscores.
#[api(optional_spec)]
#[kube(group = "metal3.io", version = "v1alpha1", kind = "FirmwareSchema", plural = "firmwareschemas", namespaced)]
pub struct FirmwareSchemaSpec {
    /// Model.
    pub hardware_model: Option<String>,
    /// Vendor.
    pub hardware_vendor: Option<String>,
    /// Settings, by name.
    #[required]
    #[serde(default)]
    pub schema: BTreeMap<String, SettingSchema>,
}

/// Which values one setting takes.
#[api]
#[derive(Eq)]
pub struct SettingSchema {
    /// What its values are.
    #[serde(rename = "attribute_type")]
    pub attribute_type: Option<SettingType>,
    /// All values of an enumeration.
    #[serde(rename = "allowable_values")]
    pub allowable_values: Vec<String>,
    /// Smallest value of an integer.
    #[schemars(extend("format" = null))]
    #[serde(rename = "lower_bound")]
    pub lower_bound: Option<i64>,
    /// Largest value of an integer.
    #[schemars(extend("format" = null))]
    #[serde(rename = "upper_bound")]
    pub upper_bound: Option<i64>,
    /// Least number of characters of a string.
    #[schemars(extend("format" = null))]
    #[serde(rename = "min_length")]
    pub min_length: Option<i64>,
    /// Largest number of characters of a string.
    #[schemars(extend("format" = null))]
    #[serde(rename = "max_length")]
    pub max_length: Option<i64>,
    /// Whether it can only be read.
    #[serde(rename = "read_only")]
    pub read_only: Option<bool>,
    /// Whether its value differs from host to host, as a serial number does.
    pub unique: Option<bool>,
}

/// What the values of a setting are.
#[api]
pub enum SettingType {
    /// One of a few words.
    Enumeration,
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A text that is not shown.
    Password,
}
