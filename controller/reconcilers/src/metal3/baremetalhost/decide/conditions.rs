//! The conditions of a host, each a function of what was decided.

use bessemer_api::conditions::{self, Wanted, wanted};
use bessemer_api::metal3::{BareMetalHostStatus, ErrorType, OperationalStatus, ProvisioningState};

use super::Rules;
use crate::kubernetes::{is_deleting, time};

impl Rules<'_> {
    pub(super) fn conditions(&mut self) {
        let status = self.decision.host.status.clone().unwrap_or_default();
        let consumed = self.seen.host.spec.consumer_ref.is_some();
        let list = [
            manageable(&status),
            self.progressing(&status),
            available(&status, consumed),
            provisioned(&status),
            ready(&status),
        ];
        let (now, generation) = (time(self.now), self.seen.host.metadata.generation);
        for condition in list.into_iter().chain(self.transport()) {
            conditions::set(&mut self.status().conditions, condition, generation, now.clone());
        }
    }

    fn progressing(&self, status: &BareMetalHostStatus) -> Wanted {
        let state = status.provisioning.state;
        let reason = match state {
            _ if is_deleting(&self.seen.host) => "Deleting",
            ProvisioningState::Registering => "Registering",
            ProvisioningState::Inspecting => "Inspecting",
            ProvisioningState::Preparing => "Preparing",
            ProvisioningState::Provisioning => "Provisioning",
            ProvisioningState::Deprovisioning => "Deprovisioning",
            _ => "NotProgressing",
        };
        let message = self.progress.clone().unwrap_or_default();
        let goes_on = reason != "NotProgressing" && status.error_type.is_none();
        wanted("Progressing", goes_on, reason, message)
    }
}

fn manageable(status: &BareMetalHostStatus) -> Wanted {
    let registration = matches!(status.error_type, Some(ErrorType::Registration | ErrorType::ProvisionedRegistration));
    if registration {
        wanted("Manageable", false, "RegistrationFailed", status.error_message.clone())
    } else if status.good_credentials.credentials.is_some() {
        wanted("Manageable", true, "Manageable", "")
    } else if status.provisioning.state == ProvisioningState::Registering {
        wanted("Manageable", false, "Registering", "")
    } else {
        wanted("Manageable", false, "NotManaged", "")
    }
}

fn available(status: &BareMetalHostStatus, consumed: bool) -> Wanted {
    let free = status.provisioning.state == ProvisioningState::Available && !consumed;
    if free && status.error_type.is_none() {
        wanted("AvailableForProvisioning", true, "Available", "")
    } else {
        wanted("AvailableForProvisioning", false, "NotAvailable", "")
    }
}

fn provisioned(status: &BareMetalHostStatus) -> Wanted {
    match status.provisioning.state {
        ProvisioningState::Provisioned | ProvisioningState::ExternallyProvisioned => {
            wanted("Provisioned", true, "Provisioned", "")
        }
        ProvisioningState::Provisioning => wanted("Provisioned", false, "Provisioning", ""),
        _ => wanted("Provisioned", false, "NotProvisioned", ""),
    }
}

fn ready(status: &BareMetalHostStatus) -> Wanted {
    if status.error_type.is_some() {
        return wanted("Ready", false, "Error", status.error_message.clone());
    }
    if status.operational_status == OperationalStatus::Detached {
        return wanted("Ready", false, "Detached", "");
    }
    match status.provisioning.state {
        ProvisioningState::Available => wanted("Ready", true, "Available", ""),
        ProvisioningState::Provisioned | ProvisioningState::ExternallyProvisioned => {
            wanted("Ready", true, "Provisioned", "")
        }
        other => wanted("Ready", false, "NotAvailable", format!("host is {}", word(other))),
    }
}

fn word(state: ProvisioningState) -> String {
    match state {
        ProvisioningState::None => "new".to_owned(),
        other => other.to_string(),
    }
}
