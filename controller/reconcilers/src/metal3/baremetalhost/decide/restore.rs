//! A host that was moved from another cluster, or restored from a backup: its status is in an annotation, as Metal3 has it.
//! What is a user's machine there must not be taken for a new one here, which would be erased.

use bessemer_api::metal3::{BareMetalHostStatus, ProvisioningState};
use bessemer_api::well_known::HOST_STATUS_ANNOTATION;
use kube::ResourceExt;

use super::Rules;
use crate::kubernetes::is_deleting;

impl Rules<'_> {
    /// Whether this pass is about the annotation. The status is stored first, and the annotation goes in another pass: in
    /// between, nothing is lost. What does not read as a status holds a new host, until it is mended or removed.
    pub(super) fn restores(&mut self) -> bool {
        let Some(text) = self.seen.host.annotations().get(HOST_STATUS_ANNOTATION) else { return false };
        let state = self.state();
        let is_new =
            matches!(state, ProvisioningState::None | ProvisioningState::Unmanaged | ProvisioningState::Registering);
        let kept = serde_json::from_str::<BareMetalHostStatus>(text).map_err(|error| error.to_string());
        let kept = kept.and_then(|kept| match kept.provisioning.state {
            // Every field of a status may be missing: a misspelt one must not pass for a new host's.
            ProvisioningState::None => Err("it has no provisioning.state".to_owned()),
            _ => Ok(kept),
        });
        match kept {
            Ok(kept) if is_new && kept.provisioning.state != state => {
                let event = format!("status taken over from the annotation {HOST_STATUS_ANNOTATION}");
                *self.status() = kept;
                self.tell("restored", event);
            }
            Err(error) if is_new && !is_deleting(&self.seen.host) => {
                let message = format!(
                    "annotation {HOST_STATUS_ANNOTATION} is not the JSON of a host's status ({error}): correct it, or remove it \
                     to have the host inspected and its disks erased like a new one's"
                );
                self.show_registration_error(message);
            }
            _ => {
                self.decision.host.annotations_mut().remove(HOST_STATUS_ANNOTATION);
            }
        }
        true
    }
}
