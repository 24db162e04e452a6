//! References between objects, in Cluster API's v1beta2 forms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reference without a version: the CRD's contract label tells it. Always within the referrer's namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContractReference {
    /// API group of the kind.
    pub api_group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

/// A reference to an object of a known kind in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NameReference {
    /// Name.
    pub name: String,
}

/// One key of a Secret in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyReference {
    /// Name of the Secret.
    pub name: String,
    /// Key in its data.
    pub key: String,
}
