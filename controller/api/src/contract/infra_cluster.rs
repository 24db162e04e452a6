//! The infrastructure of a cluster.

use std::collections::BTreeMap;

use super::{Contract, FieldError, Foreign};
use crate::cluster::{ApiEndpoint, FailureDomain};

/// The infrastructure of a cluster, read by its contract.
#[derive(Debug, Clone, Copy)]
pub struct InfraCluster<'a>(pub Foreign<'a>);

/// A failure domain of the older contract, where the name is the key.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedDomain {
    #[serde(default)]
    control_plane: bool,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
}

impl InfraCluster<'_> {
    /// It can be used.
    ///
    /// # Errors
    ///
    /// [`FieldError`] if the field has another shape.
    pub fn provisioned(&self) -> Result<bool, FieldError> {
        self.0.flag(self.0.contract().pick("status.ready", "status.initialization.provisioned"))
    }

    /// Where the API server is to be reached, if the infrastructure says so with host and port.
    ///
    /// # Errors
    ///
    /// [`FieldError`] if the field has another shape.
    pub fn endpoint(&self) -> Result<Option<ApiEndpoint>, FieldError> {
        self.0.endpoint()
    }

    /// Where machines may be placed, by name. Each says whether control plane machines may.
    ///
    /// # Errors
    ///
    /// [`FieldError`] if the field has another shape.
    pub fn failure_domains(&self) -> Result<Vec<FailureDomain>, FieldError> {
        const PATH: &str = "status.failureDomains";
        let mut domains: Vec<FailureDomain> = match self.0.contract() {
            Contract::V1Beta2 => self.0.read(PATH)?.unwrap_or_default(),
            Contract::V1Beta1 => {
                let named: BTreeMap<String, NamedDomain> = self.0.read(PATH)?.unwrap_or_default();
                let domain = |(name, NamedDomain { control_plane, attributes })| FailureDomain {
                    name,
                    control_plane: Some(control_plane),
                    attributes,
                };
                named.into_iter().map(domain).collect()
            }
        };
        for domain in &mut domains {
            domain.control_plane.get_or_insert(false);
        }
        domains.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(domains)
    }
}
