//! Writing an image, and leaving for it. Order is everything: the result is stored, then the host's next boot is its
//! disk, then the agent may leave. Leaving first would install for ever.

use std::time::Duration;

use bessemer_api::bessemer::{BootStep, BootTarget, WorkKind, WorkRecord};
use bessemer_api::metal3::{ErrorType, Image, ProvisioningState};
use bessemer_bmc::{BootDevice, BootOverride};
use bessemer_protocol::{DeployReport, LeaveHow, LeaveReport, Outcome, Report, Role, Work, WorkId};
use jiff::Timestamp;

use super::super::budgets::{AGENT_GRACE, DEPLOY_BUDGET, LEAVE_BUDGET};
use super::super::effect::Effect;
use super::super::observed::claim;
use super::live::is_live;
use super::work::WorkState;
use super::{Rules, images, later};
use crate::kubernetes::time;
use crate::outside::ItemView;

impl Rules<'_> {
    pub(super) fn provisioning(&mut self) {
        let Some(image) = self.seen.host.spec.image.clone() else {
            self.take_back();
            return;
        };
        if is_live(&image) {
            self.provisioning_live(&image);
            return;
        }
        match self.written(&image) {
            Some(step) => self.leave(step, &image),
            None => self.write(&image),
        }
    }

    /// How far the leaving is, when the image is on the disk and its report is stored.
    fn written(&self, image: &Image) -> Option<BootStep> {
        let work = self.decision.record.work.as_ref()?;
        let boot = self.decision.record.boot.as_ref()?;
        let ours = work.claim == claim(&self.seen.host);
        let deployed = work.kind == WorkKind::Deploy && self.decision.record.written.as_ref() == Some(image);
        let turned = boot.target == BootTarget::LocalDisk && (work.kind == WorkKind::Leave || deployed);
        (ours && turned).then_some(boot.step)
    }

    fn write(&mut self, image: &Image) {
        // The disk is chosen of those that an inspection found; a host that was moved here may have lost its own.
        if self.seen.status().hardware.is_none() {
            if self.ramdisk(ErrorType::Provisioning) {
                self.inspected(ErrorType::Provisioning);
            }
            return;
        }
        let data = match &self.seen.seed_data {
            Ok(data) => data,
            Err(why) => {
                self.show_until_mended(ErrorType::Provisioning, why.clone());
                return;
            }
        };
        if self.decision.record.retry.is_none() {
            self.hide_error();
        }
        let deploy = match images::deploy(&self.seen.host, image, data) {
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
        if let Some(why) = self.distrusts() {
            if !self.held_back() {
                self.give_up(ErrorType::Provisioning, why);
            }
            return;
        }
        self.progress = Some(format!("writing {}", image.url));
        let claim = claim(&self.seen.host);
        self.decision.record.seed_since.get_or_insert(time(self.now));
        match self.work(WorkKind::Deploy, Work::Deploy(deploy), claim, DEPLOY_BUDGET) {
            WorkState::Pending => {}
            WorkState::Failed(failure) => {
                // whether the disk can boot is the agent's to say: it knows what it could undo
                let message = format!("image {}: {}", image.url, failure.message.trim_end_matches('.'));
                self.fail(ErrorType::Provisioning, message);
            }
            // The effect of this pass tells the agent that its report is safe; the next one turns the boot target.
            WorkState::Done(_) if self.decision.effect.is_some() => self.wake_in(Duration::ZERO),
            WorkState::Done(Report::Deployed(report)) => self.turn_to_disk(&report, image),
            WorkState::Done(_) => {
                let message = "the agent answered the deployment with another report".to_owned();
                self.give_up(ErrorType::Provisioning, message);
            }
        }
    }

    fn turn_to_disk(&mut self, report: &DeployReport, image: &Image) {
        let detail = format!(
            "{} bytes → {}, {} {}… ok",
            report.image_bytes,
            report.disk.name,
            report.digest.algorithm,
            report.digest.hex.chars().take(8).collect::<String>()
        );
        self.tell("written", detail);
        self.decision.record.written = Some(image.clone());
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
        match step {
            BootStep::ClearOverride => self.clear_override(),
            BootStep::Left => self.left(image),
            BootStep::Eject => self.unplug(),
            _ if self.has_left() && self.decision.record.medium.is_some() => self.begin_to_unplug(),
            _ if self.has_left() => self.left(image),
            BootStep::Reset => self.reset(),
            _ => self.await_leaving(),
        }
    }

    fn await_leaving(&mut self) {
        self.progress = Some("leaving the ramdisk".to_owned());
        let Some(work) = self.leave_record().cloned() else {
            self.ask_to_leave();
            return;
        };
        // A controller that has just started waits for the host to be heard again: it may run its disk already.
        let patience = later(work.deadline.0, LEAVE_BUDGET).max(later(self.seen.started, AGENT_GRACE));
        if patience <= self.now {
            self.make_it_leave("the agent did not leave by itself");
            return;
        }
        self.wake_at(patience);
        match self.gone_for_good_at(&work) {
            Some(gone) => self.wake_at(gone),
            None if self.in_ramdisk() => self.ask_to_leave(),
            None => {}
        }
    }

    fn ask_to_leave(&mut self) {
        let claim = claim(&self.seen.host);
        // A medium can only be ejected in peace from a host that is off.
        let by_media = self.decision.record.medium.is_some();
        let how = if by_media { LeaveHow::PowerOff } else { images::leave_how(&self.seen.host) };
        let work = Work::Leave { how };
        if let WorkState::Failed(failure) = self.work(WorkKind::Leave, work, claim, LEAVE_BUDGET) {
            self.make_it_leave(&format!("the agent does not leave: {}", failure.message));
        }
    }

    fn leave_record(&self) -> Option<&WorkRecord> {
        self.decision.record.work.as_ref().filter(|work| work.kind == WorkKind::Leave)
    }

    fn in_ramdisk(&self) -> bool {
        self.seen.agent.connected && self.seen.agent.role == Some(Role::Ramdisk)
    }

    /// The agent said so, or is gone for good after it was asked, or the installed system speaks already. A refusal is
    /// an answer too, but of an agent that is still there.
    fn has_left(&self) -> bool {
        let agent = &self.seen.agent;
        if agent.connected && agent.role == Some(Role::Node) {
            return true;
        }
        let Some(work) = self.leave_record() else { return false };
        let stored = work.outcome.clone().and_then(|outcome| serde_json::from_value::<Outcome>(outcome).ok());
        let outcome = stored.or_else(|| self.leave_item(work)?.outcome.clone());
        let gone = self.gone_for_good_at(work).is_some_and(|gone| gone <= self.now);
        gone || matches!(outcome, Some(Outcome::Done { .. }))
    }

    /// When an agent that had the item, and whose stream ended without an answer, counts as having left, or as having
    /// died with the image on the disk, which comes to the same. Until then its stream may just be broken.
    fn gone_for_good_at(&self, work: &WorkRecord) -> Option<Timestamp> {
        self.leave_item(work).filter(|item| item.outcome.is_none() && !self.seen.agent.connected)?;
        Some(later(self.seen.agent.lost_since?, AGENT_GRACE))
    }

    fn leave_item(&self, work: &WorkRecord) -> Option<&ItemView> {
        self.seen.agent.items.get(&work.id.parse::<WorkId>().ok()?)
    }

    /// The disk is ready, the agent is stuck: the BMC resets the host into it. Nothing is over before that has worked.
    fn make_it_leave(&mut self, why: &str) {
        self.tell("leave", why);
        let by_media = self.decision.record.medium.is_some();
        if let Some(boot) = &mut self.decision.record.boot {
            boot.step = if by_media { BootStep::Eject } else { BootStep::Reset };
        }
        self.wake_in(Duration::ZERO);
    }

    fn reset(&mut self) {
        self.progress = Some("the BMC resets it out of the ramdisk".to_owned());
        if !self.held_back() {
            self.start_anew();
        }
    }

    fn begin_to_unplug(&mut self) {
        self.keep_answer();
        if let Some(boot) = &mut self.decision.record.boot {
            boot.step = BootStep::Eject;
        }
        self.wake_in(Duration::ZERO);
    }

    /// Stores what the agent answered to the order to leave, and tells it so: it waits for that before it goes.
    fn keep_answer(&mut self) {
        let item = self.leave_record().and_then(|work| {
            let id = work.id.parse::<WorkId>().ok()?;
            Some((id, self.seen.agent.items.get(&id)?.outcome.clone()?))
        });
        if let Some((id, outcome)) = item {
            if let Some(work) = self.decision.record.work.as_mut().filter(|work| work.outcome.is_none()) {
                work.outcome = serde_json::to_value(outcome).ok();
            }
            self.decision.effect = Some(Effect::Stored(id));
        }
    }

    fn left(&mut self, image: &Image) {
        self.keep_answer();
        let way = self.way_out();
        self.end_work("the host left without an answer");
        // What was written, not what is wanted by now.
        let image = self.decision.record.written.clone().unwrap_or_else(|| image.clone());
        self.now_provisioned(image, format!("left the ramdisk for its disk{way}"));
    }

    pub(super) fn now_provisioned(&mut self, image: Image, detail: String) {
        let hints = self.seen.host.spec.root_device_hints.clone();
        let now = time(self.now);
        let status = self.status();
        status.provisioning.image = Some(image);
        status.provisioning.root_device_hints = hints;
        status.operation_history.provision.end = Some(now);
        status.provisioning_fail_count = 0;
        self.enter(ProvisioningState::Provisioned);
        self.tell("provisioned", detail);
    }

    /// How the agent said it goes, as the end of a sentence.
    fn way_out(&self) -> String {
        let stored = self.leave_record().and_then(|work| work.outcome.clone());
        let outcome = stored.and_then(|outcome| serde_json::from_value::<Outcome>(outcome).ok());
        let Some(Outcome::Done { report: Report::Leaving(LeaveReport { how, detail: Some(detail) }) }) = outcome else {
            return String::new();
        };
        let how = match how {
            LeaveHow::Kexec => "kexec",
            LeaveHow::Reboot => "reboot",
            LeaveHow::PowerOff => "switching off",
        };
        format!(" by {how}: {detail}")
    }
}
