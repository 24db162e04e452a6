//! What is written once an effect has gone as it went. Pure, like the decision before it.

use bessemer_api::bessemer::{BootStep, BootTrust, HostRecordStatus};
use bessemer_api::metal3::{BareMetalHost, ErrorType, OperationalStatus};
use bessemer_bmc::PowerAction;
use jiff::Timestamp;
use kube::ResourceExt;

use super::super::budgets::{MAX_ATTEMPTS, MAX_POWER_OFF_ATTEMPTS, MAX_REFUSALS};
use super::super::effect::{Answer, BmcFailure, Effect, origin};
use super::credentials::registration_error;
use super::failure::{Retry, failed};
use crate::kubernetes::{is_deleting, time};

/// Told when a host that was given up cannot be switched off.
const LOOP_BREAKER_FAILED: &str = "forced power off failed";
/// The same of its medium.
const EJECT_FAILED: &str = "eject failed";

/// Puts the outcome of `effect` into host and record.
pub(crate) fn conclude(
    host: &mut BareMetalHost,
    record: &mut HostRecordStatus,
    effect: &Effect,
    answer: &Answer,
    now: Timestamp,
    jitter: f64,
) {
    match (effect, answer) {
        (Effect::Identify, Answer::Identified { identity, powered_on }) => {
            let status = host.status.get_or_insert_default();
            status.good_credentials = status.tried_credentials.clone();
            status.powered_on = *powered_on;
            status.error_count = 0;
            status.error_message = String::new();
            status.error_type = None;
            status.operational_status = OperationalStatus::Ok;
            record.retry = None;
            let power = if *powered_on { "on" } else { "off" };
            let detail = format!("{identity}; power {power}");
            record.tell(time(now), "registered", detail);
        }
        (Effect::Identify, Answer::Failed(failure)) => {
            let state = host.status.as_ref().map(|status| status.provisioning.state).unwrap_or_default();
            let (message, retry) = registration_failure(host, failure);
            failed(host, record, registration_error(state), message, retry, now, jitter);
        }
        (Effect::Insert(url), Answer::Inserted { verified }) => {
            if let Some(boot) = &mut record.boot {
                boot.step = drive_ready(boot.step);
                if *verified {
                    boot.trust = Some(BootTrust::Media);
                }
            }
            record.tell(time(now), "virtual cd", format!("inserted, from {}", origin(url)));
        }
        (Effect::Eject, Answer::Done) => {
            record.medium = None;
            if let Some(boot) = &mut record.boot {
                boot.step = drive_ready(boot.step);
            }
            record.tell(time(now), "virtual cd", "ejected");
        }
        (Effect::Eject, Answer::Failed(failure)) if given_up(host, record) && !is_deleting(host) => {
            tell_once(record, EJECT_FAILED, failure, now);
        }
        (Effect::Insert(_) | Effect::Eject, Answer::Failed(failure)) => {
            power_failed(host, record, &effect.to_string(), failure, now, jitter);
        }
        (Effect::SetOverride(wanted), Answer::Done) => {
            if let Some(boot) = &mut record.boot {
                boot.step = next_step(boot.step);
            }
            record.tell(time(now), "boot override", wanted.to_string());
        }
        (Effect::SetOverride(wanted), Answer::Failed(failure)) => {
            let clearing = record.boot.as_mut().filter(|boot| boot.step == BootStep::ClearOverride);
            if let Some(boot) = clearing {
                // The boot server's answer has changed already: an override that is still there leads nowhere else.
                boot.step = BootStep::Leaving;
                record.tell(time(now), "boot override", format!("{wanted}: {}", failure.message));
            } else {
                power_failed(host, record, &format!("boot override {wanted}"), failure, now, jitter);
            }
        }
        (Effect::Power(action), Answer::Done) => powered(host, record, *action, now),
        (Effect::Power(PowerAction::ForceOff), Answer::Failed(failure)) if given_up(host, record) => {
            tell_once(record, LOOP_BREAKER_FAILED, failure, now);
        }
        (Effect::Power(PowerAction::GracefulOff), Answer::Failed(failure)) if !failure.transient => {
            // A BMC that cannot ask the system to shut down: its power is cut in the end.
            record.soft_off = Some(time(now));
            record.tell(time(now), "graceful off", failure.message.clone());
        }
        (Effect::Power(action), Answer::Failed(failure)) => {
            power_failed(host, record, &action.to_string(), failure, now, jitter);
        }
        _ => {}
    }
}

fn next_step(step: BootStep) -> BootStep {
    match step {
        BootStep::Override => BootStep::Power,
        BootStep::ClearOverride => BootStep::Leaving,
        other => other,
    }
}

/// The drive is as it should be.
fn drive_ready(step: BootStep) -> BootStep {
    match step {
        BootStep::Insert => BootStep::Override,
        BootStep::Eject => BootStep::Left,
        other => other,
    }
}

fn powered(host: &mut BareMetalHost, record: &mut HostRecordStatus, action: PowerAction, now: Timestamp) {
    let on = !matches!(action, PowerAction::ForceOff | PowerAction::GracefulOff);
    if let Some(boot) = record.boot.as_mut().filter(|_| on) {
        boot.step = match boot.step {
            BootStep::Power => BootStep::Waiting,
            BootStep::Reset => BootStep::Left,
            other => other,
        };
    }
    // A graceful request proves nothing; the next reading does.
    if action == PowerAction::GracefulOff {
        record.soft_off = Some(time(now));
    } else {
        record.soft_off = None;
        host.status.get_or_insert_default().powered_on = on;
    }
    let detail = if is_deleting(host) { "before delete" } else { "" };
    record.tell(time(now), &action.to_string(), detail);
}

/// Said once: each line is a change, and each change another pass.
fn tell_once(record: &mut HostRecordStatus, event: &str, failure: &BmcFailure, now: Timestamp) {
    if record.story.last().is_none_or(|line| line.event != event) {
        record.tell(time(now), event, failure.message.clone());
    }
}

/// Nothing is tried any more before an edit.
fn given_up(host: &BareMetalHost, record: &HostRecordStatus) -> bool {
    let generation = host.metadata.generation.unwrap_or_default();
    record.retry.as_ref().is_some_and(|retry| retry.not_before.is_none() && retry.generation == generation)
}

fn power_failed(
    host: &mut BareMetalHost,
    record: &mut HostRecordStatus,
    act: &str,
    failure: &BmcFailure,
    now: Timestamp,
    jitter: f64,
) {
    let retry = if is_deleting(host) {
        Retry::Times(MAX_POWER_OFF_ATTEMPTS)
    } else if failure.transient {
        Retry::Always
    } else {
        Retry::Times(MAX_ATTEMPTS)
    };
    failed(host, record, ErrorType::PowerManagement, format!("{act}: {}", failure.message), retry, now, jitter);
}

/// What to say of a BMC that does not let us in, and how often to try.
fn registration_failure(host: &BareMetalHost, failure: &BmcFailure) -> (String, Retry) {
    let secret = host.spec.bmc.as_ref().map(|bmc| bmc.credentials_name.as_str()).unwrap_or_default();
    let namespace = host.namespace().unwrap_or_default();
    if failure.refused {
        let message = format!(
            "{}. The password in secret {namespace}/{secret} is refused: change the secret to retry at once",
            failure.message
        );
        (message, Retry::Times(MAX_REFUSALS))
    } else if failure.transient {
        (failure.message.clone(), Retry::Always)
    } else {
        (failure.message.clone(), Retry::Never)
    }
}
