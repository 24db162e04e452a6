//! The rules of a host's life. Pure: no I/O, no clock, no randomness.
//!
//! Each pass looks at everything anew and takes at most one step: it writes its intent and names one effect. What came
//! of the effect is written by [`conclude`], and the next pass goes on from there. The states follow
//! `status.provisioning.state`; what the host shall boot is in its record.

mod cleaning;
mod conclude;
mod conditions;
mod credentials;
mod deleting;
mod disks;
mod failure;
mod images;
mod live;
mod logs;
mod media;
mod notice;
mod provisioned;
mod provisioning;
mod ramdisk;
mod restore;
mod seed;
mod trust;
mod work;

use std::time::Duration;

use bessemer_api::bessemer::HostRecordStatus;
use bessemer_api::metal3::{BareMetalHost, BareMetalHostStatus, ErrorType, OperationalStatus, ProvisioningState};
use bessemer_api::well_known::{HOST_DETACHED_ANNOTATION, HOST_FINALIZER, HOST_ID_ANNOTATION, HOST_PAUSED_ANNOTATION};
use bessemer_protocol::HostId;
use jiff::Timestamp;
use kube::ResourceExt;

pub(crate) use conclude::conclude;
pub(crate) use notice::node_phase;

use super::budgets::{MISSING_SECRET_POLL, POWER_POLL};
use super::effect::Effect;
use super::observed::{Observed, boots_by_media, host_id};
use crate::kubernetes::{is_deleting, time};

/// One step.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    /// The host as it shall be.
    pub(crate) host: BareMetalHost,
    /// The record as it shall be.
    pub(crate) record: HostRecordStatus,
    /// Whether the BMC's Secret is to get the label that our watch selects.
    pub(crate) label_secret: bool,
    /// What to do once that is written.
    pub(crate) effect: Option<Effect>,
    /// When to look again if nothing happens.
    pub(crate) wake: Option<Duration>,
}

/// What a host shall become next.
pub(crate) fn decide(observed: &Observed, now: Timestamp) -> Decision {
    let mut rules = Rules::new(observed, now);
    rules.run();
    rules.decision
}

/// One pass of the rules.
struct Rules<'a> {
    seen: &'a Observed,
    now: Timestamp,
    id: HostId,
    decision: Decision,
    /// What is going on, for the condition `Progressing`.
    progress: Option<String>,
}

impl<'a> Rules<'a> {
    fn new(seen: &'a Observed, now: Timestamp) -> Self {
        let decision = Decision {
            host: seen.host.clone(),
            record: seen.record.clone().unwrap_or_default(),
            label_secret: false,
            effect: None,
            wake: None,
        };
        Self { seen, now, id: host_id(&seen.host).unwrap_or(seen.seed.host), decision, progress: None }
    }

    fn run(&mut self) {
        if self.seen.host.annotations().contains_key(HOST_PAUSED_ANNOTATION) {
            return;
        }
        if self.restores() {
            self.conditions();
            return;
        }
        if is_deleting(&self.seen.host) {
            self.deleting();
            self.conditions();
            return;
        }
        if self.seen.host.annotations().contains_key(HOST_DETACHED_ANNOTATION) {
            self.status().operational_status = OperationalStatus::Detached;
            self.conditions();
            return;
        }
        if self.adopt() {
            // Finalizer and id are safe before anything is done in their name.
            return;
        }
        self.notice_agent();
        self.notice_logs();
        self.notice_power();
        if self.credentials() {
            self.live();
        }
        self.collect_logs();
        self.conditions();
    }

    /// The states, once the BMC is ours.
    fn live(&mut self) {
        match self.state() {
            ProvisioningState::None
            | ProvisioningState::Unmanaged
            | ProvisioningState::Registering
            | ProvisioningState::MatchProfile => self.registered(),
            ProvisioningState::Inspecting => self.inspecting(),
            ProvisioningState::Preparing => self.preparing(),
            ProvisioningState::Ready => self.enter(ProvisioningState::Available),
            ProvisioningState::Available => self.available(),
            ProvisioningState::Provisioning => self.provisioning(),
            ProvisioningState::Provisioned => self.provisioned(),
            ProvisioningState::ExternallyProvisioned => self.externally_provisioned(),
            ProvisioningState::Deprovisioning
            | ProvisioningState::PoweringOffBeforeDelete
            | ProvisioningState::Deleting => self.deprovisioning(),
        }
    }

    fn registered(&mut self) {
        let now = time(self.now);
        self.status().operation_history.register.end.get_or_insert(now);
        if self.seen.host.spec.externally_provisioned == Some(true) {
            self.enter(ProvisioningState::ExternallyProvisioned);
        } else if self.seen.host.spec.boot_mac_address.is_none() && !boots_by_media(&self.seen.host) {
            let message = "spec.bootMACAddress is missing: without it the host cannot be told from others on the boot \
                           network; set it to the MAC address of the NIC that boots";
            self.give_up(ErrorType::Registration, message.to_owned());
        } else if let Some(other) = &self.seen.bmc_twin {
            let address = self.seen.host.spec.bmc.as_ref().map(|bmc| bmc.address.as_str()).unwrap_or_default();
            let message = format!(
                "spec.bmc.address {address} leads to the server of host {other}: one server cannot be two hosts, and its \
                 disks would be erased for this one; correct or delete one"
            );
            self.show_registration_error(message);
            self.wake_in(MISSING_SECRET_POLL);
        } else if let Some(other) = &self.seen.mac_twin {
            let mac = self.seen.host.spec.boot_mac_address.as_deref().unwrap_or_default();
            let message = format!(
                "spec.bootMACAddress {mac} is also that of host {other}: which of them a machine is cannot be told; \
                 correct or delete one"
            );
            self.show_registration_error(message);
            self.wake_in(MISSING_SECRET_POLL);
        } else {
            self.enter(ProvisioningState::Inspecting);
            self.status().operation_history.inspect.start = Some(time(self.now));
            self.progress = Some("inspection starts".to_owned());
        }
    }

    fn inspecting(&mut self) {
        if self.ramdisk(ErrorType::Inspection) && self.inspected(ErrorType::Inspection) {
            self.enter(ProvisioningState::Preparing);
        }
    }

    fn available(&mut self) {
        let spec = &self.seen.host.spec;
        if spec.externally_provisioned == Some(true) {
            self.hand_over();
        } else if spec.online && spec.image.is_some() {
            self.enter(ProvisioningState::Provisioning);
            let (now, status) = (self.now, self.status());
            status.operation_history.provision.start = Some(time(now));
            status.operation_history.provision.end = None;
            let who = spec.consumer_ref.as_ref().and_then(|consumer| consumer.name.clone());
            self.tell("claimed", who.map_or_else(|| "image set".to_owned(), |name| format!("by {name}")));
            self.progress = Some("claimed".to_owned());
        } else if cleaning::wants_inspection(&self.seen.host) {
            self.decision.record.work = None;
            self.enter(ProvisioningState::Inspecting);
            self.status().operation_history.inspect.start = Some(time(self.now));
        } else if spec.online {
            // Fast track: it stays in the ramdisk, ready to deploy without a POST.
            if self.ramdisk(ErrorType::Preparation) {
                self.clear_error();
                self.wake_in(POWER_POLL);
            }
        } else {
            self.keep_off();
        }
    }

    /// Gives the host what everything else relies on; true when something was missing.
    fn adopt(&mut self) -> bool {
        let host = &mut self.decision.host;
        let mut changed = false;
        if !host.finalizers().iter().any(|finalizer| finalizer == HOST_FINALIZER) {
            host.finalizers_mut().push(HOST_FINALIZER.to_owned());
            changed = true;
        }
        if host_id(host).is_none() {
            host.annotations_mut().insert(HOST_ID_ANNOTATION.to_owned(), self.id.to_string());
            changed = true;
        }
        changed
    }

    fn state(&self) -> ProvisioningState {
        self.decision.host.status.as_ref().map(|status| status.provisioning.state).unwrap_or_default()
    }

    fn status(&mut self) -> &mut BareMetalHostStatus {
        self.decision.host.status.get_or_insert_default()
    }

    /// Moves to another state, with a clean slate, and comes back at once.
    fn enter(&mut self, state: ProvisioningState) {
        let id = self.id.to_string();
        let status = self.status();
        status.provisioning.state = state;
        status.provisioning.id = id;
        self.clear_error();
        self.wake_in(Duration::ZERO);
    }

    fn tell(&mut self, event: &str, detail: impl Into<String>) {
        self.decision.record.tell(time(self.now), event, detail);
    }

    /// Looks again after `wait` at the latest.
    fn wake_in(&mut self, wait: Duration) {
        self.decision.wake = Some(self.decision.wake.map_or(wait, |earlier| earlier.min(wait)));
    }

    /// Looks again at `when` at the latest.
    fn wake_at(&mut self, when: Timestamp) {
        self.wake_in(until(self.now, when));
    }
}

/// From `now` to `when`; zero if that is past.
fn until(now: Timestamp, when: Timestamp) -> Duration {
    Duration::try_from(when.duration_since(now)).unwrap_or_default()
}

/// `at` and some time more.
fn later(at: Timestamp, wait: Duration) -> Timestamp {
    at.checked_add(jiff::SignedDuration::try_from(wait).unwrap_or_default()).unwrap_or(Timestamp::MAX)
}

/// A time of day for messages; whole seconds.
fn clock(at: Timestamp) -> String {
    time(at).0.to_string()
}

#[cfg(test)]
mod tests;
