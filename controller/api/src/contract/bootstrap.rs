//! What makes bootstrap data.

use super::{FieldError, Foreign};

/// What makes bootstrap data, read by its contract.
#[derive(Debug, Clone, Copy)]
pub struct BootstrapConfig<'a>(pub Foreign<'a>);

impl BootstrapConfig<'_> {
    /// The data exists.
    ///
    /// # Errors
    ///
    /// [`FieldError`] if the field has another shape.
    pub fn data_secret_created(&self) -> Result<bool, FieldError> {
        self.0.flag(self.0.contract().pick("status.ready", "status.initialization.dataSecretCreated"))
    }

    /// Secret with the data.
    ///
    /// # Errors
    ///
    /// [`FieldError`] if the field has another shape.
    pub fn data_secret_name(&self) -> Result<Option<String>, FieldError> {
        self.0.text("status.dataSecretName")
    }
}
