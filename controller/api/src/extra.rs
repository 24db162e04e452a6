//! The fields of an upstream struct that we do not type.

use std::collections::BTreeMap;

use serde_json::Value;

/// Flattened into a struct: keeps what others wrote there. In the CRD it becomes
/// `x-kubernetes-preserve-unknown-fields`.
pub type Extra = BTreeMap<String, Value>;
