//! Which managers are a server's.

use redfish_client::{Reference, Resource};

use super::RedfishBmc;
use super::survey::Survey;
use crate::BmcError;

impl RedfishBmc {
    /// The managers of `system`: those that it names, or else the one that can only be its own.
    pub(super) async fn managers_of(&self, act: &str, system: &Resource) -> Result<Vec<Reference>, BmcError> {
        let named = system.links("Links/ManagedBy");
        if !named.is_empty() {
            return Ok(named);
        }
        let survey = Survey::new(self);
        let only = self.manager(&survey, system).await;
        survey.finish_whole(act)?;
        Ok(only.into_iter().map(|manager| manager.uri().clone()).collect())
    }
}
