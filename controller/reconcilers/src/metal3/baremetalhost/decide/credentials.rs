//! Registration: the BMC's address and credentials, and what happens when the Secret changes.

use std::time::Duration;

use bessemer_api::metal3::{CredentialsStatus, ErrorType, OperationalStatus, ProvisioningState};
use k8s_openapi::api::core::v1::SecretReference;
use kube::ResourceExt;

use super::super::budgets::MISSING_SECRET_POLL;
use super::super::effect::Effect;
use super::super::observed::CredentialsView;
use super::Rules;
use crate::kubernetes::time;

impl Rules<'_> {
    /// Whether the BMC let us in with the Secret as it is now; arranges an attempt otherwise.
    pub(super) fn credentials(&mut self) -> bool {
        match &self.seen.credentials {
            CredentialsView::NoBmc => {
                self.unmanaged();
                false
            }
            CredentialsView::Missing { why } => {
                self.show_registration_error(why.clone());
                self.wake_in(MISSING_SECRET_POLL);
                false
            }
            CredentialsView::Found { version, labelled } => {
                if !labelled {
                    // First, as it changes the Secret's version; and without it a later change would go unseen.
                    self.decision.label_secret = true;
                    self.wake_in(Duration::ZERO);
                    return false;
                }
                let wanted = self.credentials_status(version);
                let status = self.seen.status();
                if status.good_credentials == wanted {
                    return true;
                }
                // The same credentials wait for their turn; new ones are tried at once.
                if status.tried_credentials == wanted && self.held_back() {
                    return false;
                }
                self.try_credentials(wanted);
                false
            }
        }
    }

    fn try_credentials(&mut self, wanted: CredentialsStatus) {
        if self.seen.status().tried_credentials != wanted {
            self.decision.record.retry = None;
        }
        let fresh = matches!(self.state(), ProvisioningState::None | ProvisioningState::Unmanaged);
        let (now, id) = (time(self.now), self.id.to_string());
        let status = self.status();
        status.tried_credentials = wanted;
        if fresh {
            status.provisioning.state = ProvisioningState::Registering;
            status.provisioning.id = id;
            status.operation_history.register.start = Some(now);
        }
        self.progress = Some("address and credentials of the BMC are being tried".to_owned());
        self.decision.effect = Some(Effect::Identify);
    }

    fn unmanaged(&mut self) {
        if matches!(self.state(), ProvisioningState::None | ProvisioningState::Unmanaged) {
            let status = self.status();
            status.provisioning.state = ProvisioningState::Unmanaged;
            status.operational_status = OperationalStatus::Discovered;
        } else {
            self.show_registration_error("spec.bmc is gone: the host cannot be reached any more".to_owned());
        }
    }

    /// Shown as long as it lasts; not counted, as nothing was tried.
    pub(super) fn show_registration_error(&mut self, message: String) {
        let (id, state) = (self.id.to_string(), self.state());
        let status = self.status();
        status.error_type = Some(registration_error(state));
        status.error_message = message;
        status.operational_status = OperationalStatus::Error;
        if matches!(state, ProvisioningState::None | ProvisioningState::Unmanaged) {
            status.provisioning.state = ProvisioningState::Registering;
            status.provisioning.id = id;
        }
    }

    fn credentials_status(&self, version: &str) -> CredentialsStatus {
        let name = self.seen.host.spec.bmc.as_ref().map(|bmc| bmc.credentials_name.clone());
        CredentialsStatus {
            credentials: Some(SecretReference { name, namespace: self.seen.host.namespace() }),
            credentials_version: Some(version.to_owned()),
        }
    }
}

/// Upstream tells apart whether a node is at stake.
pub(super) fn registration_error(state: ProvisioningState) -> ErrorType {
    match state {
        ProvisioningState::Provisioned | ProvisioningState::ExternallyProvisioned => ErrorType::ProvisionedRegistration,
        _ => ErrorType::Registration,
    }
}
