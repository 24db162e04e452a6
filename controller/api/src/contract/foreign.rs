//! An object of a foreign kind, and reading a field of it.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Contract;
use crate::cluster::ApiEndpoint;
use crate::{Condition, Time};

/// A field that is not what the contract says.
#[derive(Debug, thiserror::Error)]
#[error("{kind} {name}: .{path} does not keep the contract {contract}: {source}", contract = contract.as_str())]
pub struct FieldError {
    /// Kind of the object.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Path of the field.
    pub path: String,
    /// The contract.
    pub contract: Contract,
    /// What is wrong.
    pub source: Mismatch,
}

/// What is wrong with a field.
#[derive(Debug, thiserror::Error)]
pub enum Mismatch {
    /// It has another shape.
    #[error(transparent)]
    Shape(#[from] serde_json::Error),
    /// It has a value that cannot be.
    #[error("{0}")]
    Value(String),
}

/// An object of a foreign kind, and the contract that its kind keeps.
#[derive(Debug, Clone, Copy)]
pub struct Foreign<'a> {
    object: &'a DynamicObject,
    contract: Contract,
}

impl<'a> Foreign<'a> {
    /// An object read in a version that keeps `contract`.
    #[must_use]
    pub fn new(object: &'a DynamicObject, contract: Contract) -> Self {
        Self { object, contract }
    }

    /// The contract.
    #[must_use]
    pub fn contract(&self) -> Contract {
        self.contract
    }

    /// Its conditions, as far as they can be read: those of either contract.
    #[must_use]
    pub fn conditions(&self) -> Vec<Condition> {
        super::conditions::read(&self.object.data)
    }

    pub(super) fn value(&self, path: &str) -> Option<&'a Value> {
        let mut value = &self.object.data;
        for name in path.split('.') {
            value = value.get(name)?;
        }
        (!value.is_null()).then_some(value)
    }

    /// The field at `path`; none if it is not there.
    pub(super) fn read<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, FieldError> {
        let read = self.value(path).map(|value| T::deserialize(value)).transpose();
        read.map_err(|error| self.mismatch(path, error))
    }

    /// A flag; false if it is not there.
    pub(super) fn flag(&self, path: &str) -> Result<bool, FieldError> {
        Ok(self.read(path)?.unwrap_or(false))
    }

    /// A text; none if it is not there or empty.
    pub(super) fn text(&self, path: &str) -> Result<Option<String>, FieldError> {
        Ok(self.read::<String>(path)?.filter(|text| !text.is_empty()))
    }

    /// A point in time.
    pub(super) fn time(&self, path: &str) -> Result<Option<Time>, FieldError> {
        Ok(self.read::<Timestamp>(path)?.map(Time))
    }

    /// `spec.controlPlaneEndpoint`, once it has both parts.
    pub(super) fn endpoint(&self) -> Result<Option<ApiEndpoint>, FieldError> {
        Ok(self.read::<ApiEndpoint>("spec.controlPlaneEndpoint")?.filter(ApiEndpoint::is_valid))
    }

    pub(super) fn mismatch(&self, path: &str, source: impl Into<Mismatch>) -> FieldError {
        FieldError {
            kind: self.object.types.as_ref().map_or_else(|| "object".to_owned(), |types| types.kind.clone()),
            name: self.object.name_any(),
            path: path.to_owned(),
            contract: self.contract,
            source: source.into(),
        }
    }
}
