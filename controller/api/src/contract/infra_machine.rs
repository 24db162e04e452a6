//! What a machine runs on.

use std::net::IpAddr;

use serde_json::Value;

use super::{Contract, FieldError, Foreign};
use crate::cluster::{AddressKind, MachineAddress};

/// What a machine runs on, read by its contract.
#[derive(Debug, Clone, Copy)]
pub struct InfraMachine<'a>(pub Foreign<'a>);

impl InfraMachine<'_> {
    /// It can be used.
    ///
    /// # Errors
    ///
    /// [`FieldError`] if the field has another shape.
    pub fn provisioned(&self) -> Result<bool, FieldError> {
        self.0.flag(self.0.contract().pick("status.ready", "status.initialization.provisioned"))
    }

    /// Its Node's provider id. Minimal providers of the older contract have it in the status.
    ///
    /// # Errors
    ///
    /// [`FieldError`] if the field has another shape.
    pub fn provider_id(&self) -> Result<Option<String>, FieldError> {
        match (self.0.text("spec.providerID")?, self.0.contract()) {
            (None, Contract::V1Beta1) => self.0.text("status.providerID"),
            (found, _) => Ok(found),
        }
    }

    /// Its addresses. Minimal providers write plain texts: an address, or else a host name.
    ///
    /// # Errors
    ///
    /// [`FieldError`] if the field has another shape.
    pub fn addresses(&self) -> Result<Vec<MachineAddress>, FieldError> {
        const PATH: &str = "status.addresses";
        let list: Vec<Value> = self.0.read(PATH)?.unwrap_or_default();
        let address = |value: Value| match value {
            Value::String(address) => {
                let is_ip = address.parse::<IpAddr>().is_ok();
                let kind = if is_ip { AddressKind::InternalIP } else { AddressKind::Hostname };
                Ok(MachineAddress { kind, address })
            }
            value => serde_json::from_value(value).map_err(|error| self.0.mismatch(PATH, error)),
        };
        list.into_iter().map(address).collect()
    }

    /// Failure domain that it runs in.
    ///
    /// # Errors
    ///
    /// [`FieldError`] if the field has another shape.
    pub fn failure_domain(&self) -> Result<Option<String>, FieldError> {
        match self.0.text("status.failureDomain")? {
            None => self.0.text("spec.failureDomain"),
            found => Ok(found),
        }
    }

    /// It may be taken away at any time.
    ///
    /// # Errors
    ///
    /// [`FieldError`] if the field has another shape.
    pub fn interruptible(&self) -> Result<bool, FieldError> {
        self.0.flag("status.interruptible")
    }
}
