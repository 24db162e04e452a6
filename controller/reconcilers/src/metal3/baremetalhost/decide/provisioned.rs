//! Hosts that run somebody's system, and hosts that shall be off.

use std::time::Duration;

use bessemer_api::bessemer::{BootRecord, BootStep, BootTarget};
use bessemer_api::metal3::{OperationalStatus, ProvisioningState};
use bessemer_bmc::PowerAction;

use super::super::budgets::{POWER_POLL, POWER_POLL_WAITING, SOFT_OFF_BUDGET};
use super::super::effect::Effect;
use super::super::observed::PowerView;
use super::live::is_live;
use super::{Rules, later};
use crate::kubernetes::time;

impl Rules<'_> {
    pub(super) fn provisioned(&mut self) {
        let on_disk = self.seen.status().provisioning.image.map(|image| image.url);
        let wanted = self.seen.host.spec.image.as_ref().map(|image| image.url.clone());
        if wanted.is_none() || on_disk.is_some() && on_disk != wanted {
            if self.seen.host.spec.externally_provisioned == Some(true) {
                // Metal3's webhook refuses this edit. Whoever made it does not want the disk erased.
                let message = "spec.externallyProvisioned can be set of an available host only, and this one is                                provisioned: remove the flag to have it taken back and erased, or set the annotation                                baremetalhost.metal3.io/detached to have it left alone";
                self.show_registration_error(message.to_owned());
                return;
            }
            self.take_back();
            return;
        }
        if let Some(image) = self.seen.status().provisioning.image.filter(is_live) {
            self.provisioned_live(&image);
            return;
        }
        self.run_disk();
    }

    /// Lets a host that has no user of ours become somebody else's: nothing is written or erased any more.
    pub(super) fn hand_over(&mut self) {
        self.end_work("the host is externally provisioned");
        self.enter(ProvisioningState::ExternallyProvisioned);
        self.tell("externally provisioned", "what runs on it is left alone; if that is the ramdisk, restart it");
    }

    pub(super) fn externally_provisioned(&mut self) {
        if self.seen.host.spec.externally_provisioned != Some(true) {
            self.enter(ProvisioningState::Provisioned);
            let image = self.seen.host.spec.image.clone();
            self.status().provisioning.image = image;
            return;
        }
        self.run_disk();
    }

    /// A system on the disk: it boots from there, and is on or off as its spec says.
    fn run_disk(&mut self) {
        self.aim(BootTarget::LocalDisk);
        // Whatever made it provisioned without leaving a ramdisk: no medium of ours stays.
        if !self.held_back() && !self.empties_drive() {
            self.keep_power(self.seen.host.spec.online);
        }
    }

    /// Off, whatever runs on it: only for hosts that run nobody's system.
    pub(super) fn keep_off(&mut self) {
        self.aim(BootTarget::PowerOff);
        if self.held_back() {
            return;
        }
        match self.seen.power {
            PowerView::Known { on: true, .. } => {
                self.end_work("the host is switched off");
                self.wake_in(POWER_POLL);
                self.decision.effect = Some(Effect::Power(PowerAction::ForceOff));
            }
            PowerView::Known { on: false, .. } => {
                if !self.empties_drive() {
                    self.well();
                }
            }
            PowerView::Unknown | PowerView::Failed(_) => self.wake_in(POWER_POLL),
        }
    }

    pub(super) fn keep_power(&mut self, online: bool) {
        self.wake_in(POWER_POLL);
        if self.held_back() {
            return;
        }
        match self.seen.power {
            PowerView::Known { on, .. } if on == online => {
                self.decision.record.soft_off = None;
                self.well();
            }
            PowerView::Known { .. } if online => self.decision.effect = Some(Effect::Power(PowerAction::On)),
            PowerView::Known { .. } => self.shut_down(),
            PowerView::Unknown | PowerView::Failed(_) => {}
        }
    }

    /// Asks the system once, and cuts its power when it does not listen.
    fn shut_down(&mut self) {
        let cut = self.decision.record.soft_off.as_ref().map(|asked| later(asked.0, SOFT_OFF_BUDGET));
        match cut {
            None => self.decision.effect = Some(Effect::Power(PowerAction::GracefulOff)),
            Some(cut) if cut <= self.now => self.decision.effect = Some(Effect::Power(PowerAction::ForceOff)),
            Some(cut) => {
                self.progress = Some("waiting for the system to shut down".to_owned());
                self.wake_in(POWER_POLL_WAITING);
                self.wake_at(cut);
            }
        }
    }

    /// A power error is over once the power is as it should be.
    fn well(&mut self) {
        if self.seen.status().operational_status != OperationalStatus::Ok {
            self.clear_error();
        }
    }

    /// What the host shall boot from now on, outside the ramdisk.
    pub(super) fn aim(&mut self, target: BootTarget) {
        match &mut self.decision.record.boot {
            Some(boot) if boot.target == target => {}
            Some(boot) => {
                boot.target = target;
                boot.step = BootStep::Leaving;
                self.wake_in(Duration::ZERO);
            }
            none => {
                *none = Some(BootRecord {
                    id: self.seen.seed.boot.to_string(),
                    target,
                    step: BootStep::Leaving,
                    issued: time(self.now),
                    expires: time(self.now),
                    enrolled: false,
                    gave_up: None,
                    media: None,
                    live: None,
                    trust: None,
                    network: None,
                });
            }
        }
    }
}
