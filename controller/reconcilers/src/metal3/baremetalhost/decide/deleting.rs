//! Deletion: erased if it had a user, off, then let go. Neither a dead BMC nor a disk that cannot be erased holds it for ever.

use bessemer_api::bessemer::BootTarget;
use bessemer_api::metal3::ProvisioningState;
use bessemer_api::well_known::{HOST_DETACHED_ANNOTATION, HOST_FINALIZER};
use bessemer_bmc::PowerAction;
use kube::ResourceExt;

use super::super::budgets::{MAX_POWER_OFF_ATTEMPTS, POWER_POLL_WAITING};
use super::super::effect::Effect;
use super::super::observed::{CredentialsView, PowerView};
use super::Rules;
use super::failure::Gate;

impl Rules<'_> {
    pub(super) fn deleting(&mut self) {
        if !self.seen.host.finalizers().iter().any(|finalizer| finalizer == HOST_FINALIZER) {
            return;
        }
        self.notice_power();
        if !self.powers_off() {
            self.let_go("nothing to switch off");
            return;
        }
        self.notice_agent();
        if self.erases_before_deletion() {
            return;
        }
        if self.state() != ProvisioningState::PoweringOffBeforeDelete {
            self.status().provisioning.state = ProvisioningState::PoweringOffBeforeDelete;
            self.clear_error();
            self.tell("deleting", "powering off");
        }
        self.progress = Some("powering off".to_owned());
        self.aim(BootTarget::PowerOff);
        if self.decision.record.retry.as_ref().is_some_and(|retry| retry.failures >= MAX_POWER_OFF_ATTEMPTS) {
            self.let_go("its BMC does not do as it is told");
            return;
        }
        match (self.gate(), &self.seen.power) {
            (Gate::Until(at), _) => self.wake_at(at),
            (_, PowerView::Known { on: false, .. }) if self.empties_drive() => {}
            (_, PowerView::Known { on: false, .. }) => self.let_go("is off"),
            (_, PowerView::Known { on: true, .. } | PowerView::Failed(_)) => {
                self.decision.effect = Some(Effect::Power(PowerAction::ForceOff));
            }
            (_, PowerView::Unknown) => self.wake_in(POWER_POLL_WAITING),
        }
    }

    /// Whether the host is ours to switch off: it let us in, and it is neither somebody else's nor detached from us.
    fn powers_off(&self) -> bool {
        let status = self.seen.status();
        let ours = !matches!(
            status.provisioning.state,
            ProvisioningState::None
                | ProvisioningState::Unmanaged
                | ProvisioningState::Registering
                | ProvisioningState::ExternallyProvisioned
        );
        let reachable = matches!(self.seen.credentials, CredentialsView::Found { .. });
        let detached = self.seen.host.annotations().contains_key(HOST_DETACHED_ANNOTATION);
        ours && !detached && reachable && status.good_credentials.credentials.is_some()
    }

    fn let_go(&mut self, why: &'static str) {
        self.status().provisioning.state = ProvisioningState::Deleting;
        self.decision.host.finalizers_mut().retain(|finalizer| finalizer != HOST_FINALIZER);
        self.decision.effect = Some(Effect::LetGo { reason: why });
    }
}
