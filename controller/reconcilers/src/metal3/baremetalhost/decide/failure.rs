//! Failures: what is shown, and when it is tried again.

use std::time::Duration;

use bessemer_api::bessemer::{BootTarget, HostRecordStatus, RetryRecord};
use bessemer_api::metal3::{BareMetalHost, ErrorType, OperationalStatus, ProvisioningState};
use bessemer_bmc::PowerAction;
use jiff::Timestamp;

use super::super::budgets::{MAX_ATTEMPTS, MISSING_SECRET_POLL, POWER_POLL, RETRY};
use super::super::effect::Effect;
use super::super::observed::PowerView;
use super::{Rules, clock, later};
use crate::kubernetes::time;

/// Whether something may be tried now.
pub(super) enum Gate {
    Open,
    /// Not before this time.
    Until(Timestamp),
    /// Not before somebody edits the host.
    Shut,
}

/// How a failure is followed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    /// With a growing wait, so many times.
    Times(i32),
    /// With a growing wait.
    Always,
    /// Not before an edit.
    Never,
}

impl Rules<'_> {
    /// Shows a failure and tries again later, a bounded number of times.
    pub(super) fn fail(&mut self, kind: ErrorType, message: String) {
        self.follow_up(kind, message, Retry::Times(MAX_ATTEMPTS));
    }

    /// Shows a failure that no waiting heals, once.
    pub(super) fn give_up(&mut self, kind: ErrorType, message: String) {
        if matches!(self.gate(), Gate::Shut) {
            return;
        }
        self.follow_up(kind, message, Retry::Never);
    }

    pub(super) fn follow_up(&mut self, kind: ErrorType, message: String, retry: Retry) {
        let decision = &mut self.decision;
        let jitter = self.seen.seed.jitter;
        match failed(&mut decision.host, &mut decision.record, kind, message, retry, self.now, jitter) {
            Some(wait) => self.wake_in(wait),
            None => self.give_up_power(),
        }
    }

    /// Whether the last failure still holds everything back. An edit of the spec opens.
    pub(super) fn gate(&self) -> Gate {
        let generation = self.seen.host.metadata.generation.unwrap_or_default();
        match &self.decision.record.retry {
            Some(retry) if retry.generation == generation => match retry.not_before.as_ref().map(|at| at.0) {
                None => Gate::Shut,
                Some(at) if at > self.now => Gate::Until(at),
                Some(_) => Gate::Open,
            },
            _ => Gate::Open,
        }
    }

    /// [`Rules::gate`] for those who only want to go on: waits as long as needed.
    pub(super) fn held_back(&mut self) -> bool {
        match self.gate() {
            Gate::Open => false,
            Gate::Until(at) => {
                self.show_again();
                self.wake_at(at);
                true
            }
            Gate::Shut => {
                self.show_again();
                self.give_up_power();
                true
            }
        }
    }

    /// The record is written before the status: a failure whose second write was lost is shown by the next pass.
    fn show_again(&mut self) {
        let Some((Some(kind), message)) = self.decision.record.retry.clone().map(|retry| (retry.kind, retry.message))
        else {
            return;
        };
        let status = self.status();
        if status.error_type.is_none() {
            status.error_count = status.error_count.max(1);
            status.error_type = Some(kind);
            status.error_message = message;
            status.operational_status = OperationalStatus::Error;
        }
    }

    /// Something in a Secret keeps the host from going on: shown as long as it lasts, and not counted, as nothing was tried.
    pub(super) fn show_until_mended(&mut self, kind: ErrorType, message: String) {
        let status = self.status();
        status.error_type = Some(kind);
        status.error_message = message;
        status.operational_status = OperationalStatus::Error;
        self.wake_in(MISSING_SECRET_POLL);
    }

    /// Everything is well again: failures count from the start.
    pub(super) fn clear_error(&mut self) {
        self.hide_error();
        self.status().error_count = 0;
        self.decision.record.retry = None;
    }

    /// The last failure is being made good; it still counts until that has worked.
    pub(super) fn hide_error(&mut self) {
        let status = self.status();
        status.error_message = String::new();
        status.error_type = None;
        status.operational_status = OperationalStatus::Ok;
    }

    /// The loop breaker: a host that does not come up is not left running, nor asking for a boot program for ever.
    fn give_up_power(&mut self) {
        let ramdisk = self.decision.record.boot.as_ref().is_some_and(|boot| boot.target == BootTarget::PowerOff);
        if !ramdisk || self.decision.effect.is_some() {
            return;
        }
        match self.seen.power {
            PowerView::Known { on: true, .. } => self.decision.effect = Some(Effect::Power(PowerAction::ForceOff)),
            PowerView::Known { on: false, .. } => {
                self.empties_drive();
            }
            PowerView::Unknown | PowerView::Failed(_) => {}
        }
        if self.decision.effect.is_some() {
            self.wake_in(POWER_POLL);
        }
    }
}

/// Writes a failure into status and record. Answers when it may be tried again; none for not by itself.
pub(super) fn failed(
    host: &mut BareMetalHost,
    record: &mut HostRecordStatus,
    kind: ErrorType,
    message: String,
    retry: Retry,
    now: Timestamp,
    jitter: f64,
) -> Option<Duration> {
    let generation = host.metadata.generation.unwrap_or_default();
    let before = record.retry.as_ref().filter(|retry| retry.generation == generation);
    let failures = before.map_or(0, |retry| retry.failures).saturating_add(1);
    let wait = match retry {
        Retry::Always => Some(RETRY.after(failures, jitter)),
        Retry::Times(most) if failures < most => Some(RETRY.after(failures, jitter)),
        Retry::Times(_) | Retry::Never => None,
    };
    let message = match (wait, retry) {
        (Some(wait), Retry::Times(most)) => {
            format!("{message}; attempt {failures} of {most}, next at {}", clock(later(now, wait)))
        }
        (Some(wait), _) => format!("{message}; attempt {failures}, next at {}", clock(later(now, wait))),
        (None, Retry::Times(_)) => format!("{message}; gave up after {failures} attempts, edit the host to try again"),
        (None, _) => message,
    };
    record.retry = Some(RetryRecord {
        not_before: wait.map(|wait| time(later(now, wait))),
        failures,
        generation,
        kind: Some(kind),
        message: message.clone(),
    });
    record.tell(time(now), &kind.to_string(), message.clone());
    let status = host.status.get_or_insert_default();
    status.error_count = status.error_count.saturating_add(1);
    status.error_message = message;
    status.error_type = Some(kind);
    status.operational_status = OperationalStatus::Error;
    if kind == ErrorType::Provisioning && status.provisioning.state == ProvisioningState::Provisioning {
        status.provisioning_fail_count = status.provisioning_fail_count.saturating_add(1);
    }
    wait
}
