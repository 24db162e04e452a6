//! Writing an image, and leaving for it. Order is everything: the result is stored, then the host's next boot is its
//! disk, then the agent may leave. Leaving first would install for ever.

use std::time::Duration;

use bessemer_api::bessemer::{BootStep, BootTarget, WorkKind, WorkRecord};
use bessemer_api::metal3::{ErrorType, Image, ProvisioningState};
use bessemer_bmc::{BootDevice, BootOverride, PowerAction};
use bessemer_protocol::{DeployReport, FailureCode, LeaveHow, Report, Role, Work, WorkId};

use super::super::budgets::{DEPLOY_BUDGET, LEAVE_BUDGET};
use super::super::effect::Effect;
use super::super::observed::{PowerView, claim};
use super::work::WorkState;
use super::{Rules, images, later};
use crate::kubernetes::time;

impl Rules<'_> {
    pub(super) fn provisioning(&mut self) {
        let Some(image) = self.seen.host.spec.image.clone() else {
            self.end_work("the image is no longer wanted");
            self.enter(ProvisioningState::Deprovisioning);
            return;
        };
        match self.written(&image) {
            Some(step) => self.leave(step, &image),
            None => self.write(&image),
        }
    }

    /// How far the leaving is, when the image is on the disk and its report is stored.
    fn written(&self, image: &Image) -> Option<BootStep> {
        let work = self.decision.record.work.as_ref()?;
        let boot = self.decision.record.boot.as_ref()?;
        let deploy = images::deploy(&self.seen.host, image).ok()?;
        let ours = work.claim == claim(&self.seen.host);
        let leaving = work.kind == WorkKind::Leave && boot.target == BootTarget::LocalDisk;
        let deployed = work.kind == WorkKind::Deploy
            && work.payload_digest == super::work::payload_digest(&Work::Deploy(deploy))
            && boot.target == BootTarget::LocalDisk;
        (ours && (leaving || deployed)).then_some(boot.step)
    }

    fn write(&mut self, image: &Image) {
        let deploy = match images::deploy(&self.seen.host, image) {
            Ok(deploy) => deploy,
            Err(why) => {
                if !self.held_back() {
                    self.give_up(ErrorType::Provisioning, why);
                }
                return;
            }
        };
        if !self.ramdisk(ErrorType::Provisioning) {
            return;
        }
        self.progress = Some(format!("writing {}", image.url));
        let claim = claim(&self.seen.host);
        match self.work(WorkKind::Deploy, Work::Deploy(deploy), claim, DEPLOY_BUDGET) {
            WorkState::Pending => {}
            WorkState::Failed(failure) => {
                let bootable = match failure.code {
                    FailureCode::DigestMismatch | FailureCode::BadImage | FailureCode::WriteFailed => {
                        ". The disk was not marked bootable"
                    }
                    _ => "",
                };
                let message = format!("image {}: {}{bootable}", image.url, failure.message.trim_end_matches('.'));
                self.fail(ErrorType::Provisioning, message);
            }
            // The effect of this pass tells the agent that its report is safe; the next one turns the boot target.
            WorkState::Done(_) if self.decision.effect.is_some() => self.wake_in(Duration::ZERO),
            WorkState::Done(Report::Deployed(report)) => self.turn_to_disk(&report),
            WorkState::Done(_) => {
                let message = "the agent answered the deployment with another report".to_owned();
                self.give_up(ErrorType::Provisioning, message);
            }
        }
    }

    fn turn_to_disk(&mut self, report: &DeployReport) {
        let detail = format!(
            "{} bytes → {}, {} {}… ok",
            report.image_bytes,
            report.disk.name,
            format!("{:?}", report.digest.algorithm).to_lowercase(),
            report.digest.hex.chars().take(8).collect::<String>()
        );
        self.tell("written", detail);
        if let Some(boot) = &mut self.decision.record.boot {
            boot.target = BootTarget::LocalDisk;
            boot.step = BootStep::ClearOverride;
        }
        self.clear_override();
    }

    fn clear_override(&mut self) {
        self.progress = Some("the disk is made its next boot device".to_owned());
        self.decision.effect = Some(Effect::SetOverride(BootOverride::once(BootDevice::None)));
    }

    fn leave(&mut self, step: BootStep, image: &Image) {
        if step == BootStep::ClearOverride {
            self.clear_override();
            return;
        }
        self.progress = Some("leaving the ramdisk".to_owned());
        let work = self.decision.record.work.clone().filter(|work| work.kind == WorkKind::Leave);
        match work {
            None => self.ask_to_leave(),
            Some(work) if self.has_left(&work) => self.left(image),
            Some(work) if later(work.deadline.0, LEAVE_BUDGET) <= self.now => self.make_it_leave(),
            Some(work) => {
                let id = work.id.parse::<WorkId>().ok();
                if !id.is_some_and(|id| self.seen.agent.items.contains_key(&id)) {
                    self.ask_to_leave();
                }
                self.wake_at(later(work.deadline.0, LEAVE_BUDGET));
            }
        }
    }

    fn ask_to_leave(&mut self) {
        let claim = claim(&self.seen.host);
        if let WorkState::Failed(_) =
            self.work(WorkKind::Leave, Work::Leave { how: LeaveHow::Reboot }, claim, LEAVE_BUDGET)
        {
            self.make_it_leave();
        }
    }

    /// The agent said so, or is gone after it was asked, or the installed system speaks already.
    fn has_left(&self, work: &WorkRecord) -> bool {
        let agent = &self.seen.agent;
        let item = work.id.parse::<WorkId>().ok().and_then(|id| agent.items.get(&id));
        let answered = work.outcome.is_some() || item.is_some_and(|item| item.outcome.is_some());
        let ramdisk = agent.connected && agent.role == Some(Role::Ramdisk);
        let node = agent.connected && agent.role == Some(Role::Node);
        // Away without an answer: it has left, or died with the image on the disk, which comes to the same. A
        // controller that has just started waits for it to come back first.
        let away = !ramdisk && agent.lost_since.is_some();
        answered || node || away
    }

    /// The disk is ready, the agent is stuck: the BMC resets the host into it.
    fn make_it_leave(&mut self) {
        self.end_work("the agent did not leave");
        self.tell("leave", "the agent did not leave by itself");
        let on = matches!(self.seen.power, PowerView::Known { on: true, .. });
        let action = if on { PowerAction::Reset } else { PowerAction::On };
        self.decision.effect = Some(Effect::Power(action));
    }

    fn left(&mut self, image: &Image) {
        self.end_work("the host has left");
        let hints = self.seen.host.spec.root_device_hints.clone();
        let now = time(self.now);
        let status = self.status();
        status.provisioning.image = Some(image.clone());
        status.provisioning.root_device_hints = hints;
        status.operation_history.provision.end = Some(now);
        status.provisioning_fail_count = 0;
        self.enter(ProvisioningState::Provisioned);
        self.tell("provisioned", "left the ramdisk for its disk");
    }
}
