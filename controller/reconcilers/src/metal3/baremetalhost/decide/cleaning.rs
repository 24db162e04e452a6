//! Erasing: before a host is offered, and when it is taken back from its user.
//!
//! `spec.automatedCleaningMode` has Metal3's meaning. What Metal3 has not: where it is `disabled`, the seed of a disk that
//! we wrote is erased all the same, as a control plane's holds the cluster's CA keys.

use std::time::Duration;

use bessemer_api::bessemer::{BootTarget, WorkKind};
use bessemer_api::metal3::{BareMetalHost, BootMode, CleaningMode, ErrorType, ProvisioningState};
use bessemer_api::well_known::HOST_INSPECT_ANNOTATION;
use bessemer_protocol::{EraseMode, FailureCode, HardwareDetails, Report, Work};
use kube::ResourceExt;

use super::super::budgets::{ERASE_BUDGET, INSPECT_BUDGET, MAX_ERASE_ATTEMPTS_BEFORE_DELETE};
use super::failure::Gate;
use super::live::is_live;
use super::work::WorkState;
use super::{Rules, disks, notice};
use crate::kubernetes::{is_deleting, time};

impl Rules<'_> {
    /// Inspected, and not offered before nothing of a former user is on its disks.
    pub(super) fn preparing(&mut self) {
        if self.seen.host.spec.externally_provisioned == Some(true) {
            self.hand_over();
            return;
        }
        let mode = match cleaning_mode(&self.seen.host) {
            CleaningMode::Metadata => Some(EraseMode::Metadata),
            CleaningMode::Disabled => None,
        };
        if mode.is_none_or(|mode| self.erase(mode, ErrorType::Preparation)) {
            self.enter(ProvisioningState::Available);
            self.tell("available", "may be claimed");
        }
    }

    /// Takes the host back from its user. From now on its disk must not boot.
    pub(super) fn take_back(&mut self) {
        self.enter(ProvisioningState::Deprovisioning);
        let now = time(self.now);
        let deprovision = &mut self.status().operation_history.deprovision;
        deprovision.start = Some(now);
        deprovision.end = None;
        // An erasure of before its user came is not this one.
        self.decision.record.work = None;
        if let Some(boot) = self.decision.record.boot.as_mut().filter(|boot| boot.target != BootTarget::Ramdisk) {
            boot.target = BootTarget::PowerOff;
        }
        self.tell("taken back", "its disks are erased before anybody else gets it");
    }

    /// Erased in the ramdisk, whether it shall be on afterwards or not; then offered again, or let go.
    pub(super) fn deprovisioning(&mut self) {
        let mode = match cleaning_mode(&self.seen.host) {
            CleaningMode::Metadata => Some(EraseMode::Metadata),
            CleaningMode::Disabled => self.may_carry_seed().then_some(EraseMode::Seeds),
        };
        if mode.is_none_or(|mode| self.erase(mode, ErrorType::Provisioning)) {
            self.taken_back();
        }
    }

    /// A deployment may have got as far as the seed whether or not its report was heard. A record that was lost has
    /// forgotten it: what the host is known to run says as much.
    fn may_carry_seed(&self) -> bool {
        let record = &self.decision.record;
        let runs = self.seen.status().provisioning.image;
        record.seed_since.is_some() || record.written.is_some() || runs.is_some_and(|image| !is_live(&image))
    }

    fn taken_back(&mut self) {
        self.decision.record.written = None;
        self.decision.record.seed_since = None;
        let now = time(self.now);
        let status = self.status();
        status.provisioning.image = None;
        status.provisioning.root_device_hints = None;
        status.operation_history.deprovision.end = Some(now);
        if is_deleting(&self.seen.host) {
            self.enter(ProvisioningState::PoweringOffBeforeDelete);
        } else {
            self.enter(ProvisioningState::Available);
            self.tell("available", "taken back; may be claimed again");
        }
    }

    /// For a host that is being deleted: whether it is still to be erased first. A deletion does not wait for ever.
    pub(super) fn erases_before_deletion(&mut self) -> bool {
        match self.state() {
            ProvisioningState::Provisioning | ProvisioningState::Provisioned => {
                self.take_back();
                true
            }
            ProvisioningState::Deprovisioning => {
                let failures = self.decision.record.retry.as_ref().map_or(0, |retry| retry.failures);
                let hopeless = failures >= MAX_ERASE_ATTEMPTS_BEFORE_DELETE || matches!(self.gate(), Gate::Shut);
                if hopeless {
                    let why = self.decision.record.retry.as_ref().map(|retry| retry.message.clone());
                    self.end_work("the host is deleted");
                    self.tell("deleting", format!("its disks are not erased: {}", why.unwrap_or_default()));
                    return false;
                }
                self.deprovisioning();
                true
            }
            _ => false,
        }
    }

    /// Whether the disks are erased; takes the next step towards that otherwise.
    fn erase(&mut self, mode: EraseMode, on_failure: ErrorType) -> bool {
        if !self.ramdisk(on_failure) || !self.knows_hardware(on_failure) {
            return false;
        }
        let order = match disks::erase(&self.decision.host, mode) {
            Ok(order) => order,
            Err(why) => {
                if !self.held_back() {
                    self.give_up(on_failure, why);
                }
                return false;
            }
        };
        self.progress = Some(match mode {
            EraseMode::Metadata => "the agent erases partition tables, file systems and volumes".to_owned(),
            EraseMode::Full => "the agent erases all data".to_owned(),
            EraseMode::Seeds => "the agent erases the seed of the installed system".to_owned(),
        });
        // The work is the host's, not its user's: it goes on when that one is gone meanwhile.
        match self.work(WorkKind::Erase, Work::Erase(order), None, ERASE_BUDGET) {
            WorkState::Pending => false,
            WorkState::Done(Report::Erased(report)) => {
                self.tell("erased", disks::told(&report));
                true
            }
            WorkState::Done(_) => {
                self.give_up(on_failure, "the agent answered the erasure with another report".to_owned());
                false
            }
            WorkState::Failed(failure) => {
                let remedy = if failure.code == FailureCode::WrongDisk {
                    format!("; set the annotation {HOST_INSPECT_ANNOTATION} to have its disks looked at again")
                } else {
                    String::new()
                };
                let message = format!("erasing: {}{remedy}", failure.message.trim_end_matches('.'));
                self.fail(on_failure, message);
                false
            }
        }
    }

    /// Whether it is known which disks there are; has the agent look when it is not, or when somebody asks for it.
    fn knows_hardware(&mut self, on_failure: ErrorType) -> bool {
        let known = self.seen.status().hardware.is_some();
        // Its report is to be stored before another item is sent.
        known && !wants_inspection(&self.seen.host) || self.inspected(on_failure) && self.decision.effect.is_none()
    }

    /// Has the agent of the ramdisk report the hardware; true once it is taken in.
    pub(super) fn inspected(&mut self, on_failure: ErrorType) -> bool {
        self.progress = Some("the agent reports the hardware".to_owned());
        match self.work(WorkKind::Inspect, Work::Inspect, None, INSPECT_BUDGET) {
            WorkState::Pending => false,
            WorkState::Done(Report::Inspected { hardware }) => {
                self.take_in(&hardware);
                self.wake_in(Duration::ZERO);
                true
            }
            WorkState::Done(_) => {
                self.give_up(on_failure, "the agent answered the inspection with another report".to_owned());
                false
            }
            WorkState::Failed(failure) => {
                self.fail(on_failure, failure.message);
                false
            }
        }
    }

    fn take_in(&mut self, hardware: &HardwareDetails) {
        let found = notice::hardware(hardware);
        self.tell("inspected", notice::summary(&found));
        self.clear_error();
        self.decision.host.annotations_mut().retain(|key, value| key != HOST_INSPECT_ANNOTATION || value == "disabled");
        let now = time(self.now);
        let status = self.status();
        status.provisioning.boot_mode = BootMode::from_word(&hardware.firmware.boot_mode);
        status.hardware = Some(found);
        status.operation_history.inspect.end = Some(now);
    }
}

/// What is erased; Metal3's default.
pub(super) fn cleaning_mode(host: &BareMetalHost) -> CleaningMode {
    host.spec.automated_cleaning_mode.unwrap_or(CleaningMode::Metadata)
}

/// Somebody asks for another inspection, by Metal3's annotation.
pub(super) fn wants_inspection(host: &BareMetalHost) -> bool {
    host.annotations().get(HOST_INSPECT_ANNOTATION).is_some_and(|value| value != "disabled")
}
