//! Objects from one version of a custom kind to another. It knows versions and metadata, and nothing of storage: the
//! caller says which version it wants.

use serde_json::Value;

use crate::object;
use crate::status::ApiError;

/// How the objects of a kind change version.
#[derive(Debug, Default)]
pub(crate) enum Conversion {
    /// The versions differ in nothing but their name.
    #[default]
    None,
}

impl Conversion {
    /// The object as `api_version` has it.
    pub(crate) fn convert(&self, mut object: Value, api_version: &str) -> Result<Value, ApiError> {
        match self {
            Self::None => object::set_field(&mut object, "apiVersion", api_version.into()),
        }
        Ok(object)
    }

    /// Whether a stored object is what a client of `api_version` gets.
    pub(crate) fn is_current(&self, object: &Value, api_version: &str) -> bool {
        object.get("apiVersion").and_then(Value::as_str) == Some(api_version)
    }
}
