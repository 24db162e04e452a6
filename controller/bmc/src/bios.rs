//! Settings of the server's firmware, and what they may be set to.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// A setting's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum BiosValue {
    /// A switch.
    Boolean(bool),
    /// A number. Registries have bounds beyond 32 bits (Dell).
    Integer(i64),
    /// A text, or one of the registry's words.
    Text(String),
}

impl fmt::Display for BiosValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Text(value) => f.write_str(value),
        }
    }
}

/// All settings, as they hold now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bios {
    /// The registry that describes them, as `BiosAttributeRegistry.v1_0_3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry: Option<String>,
    /// Settings by name.
    pub attributes: BTreeMap<String, BiosAttribute>,
    /// What is wished for at the next boot and does not hold yet.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pending: BTreeMap<String, BiosValue>,
    /// What firmware found wrong with the wishes that it was last given; they do not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// One setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BiosAttribute {
    /// What holds now; none stands for null, as of passwords.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<BiosValue>,
    /// Whether it can be written; taken to be so where no registry says.
    pub read_only: bool,
    /// What the registry tells of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<BiosDescription>,
}

/// What a registry tells of a setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BiosDescription {
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// `Enumeration`, `String`, `Integer`, `Boolean`, `Password`, or as the registry writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The words it may be set to, each with what people call it; empty where there is no list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<BiosChoice>,
    /// The smallest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<i64>,
    /// The largest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper_bound: Option<i64>,
    /// The shortest text, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<i64>,
    /// The longest text, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<i64>,
    /// Whether a change holds only after a reset of the server; none when the registry does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_required: Option<bool>,
    /// Whether firmware's own menus hide it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// Other settings that decide over it, as by the registry; how, only the BMC judges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
}

/// One word that a setting may be set to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BiosChoice {
    /// The word that is written.
    pub value: String,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}
