//! Bringing a host into the ramdisk: a new boot, the override, power, and the wait for its agent.

use bessemer_api::bessemer::{BootRecord, BootStep, BootTarget, BootTrust};
use bessemer_api::metal3::ErrorType;
use bessemer_bmc::PowerAction;
use bessemer_protocol::Role;
use jiff::Timestamp;
use kube::ResourceExt;

use super::super::budgets::{AGENT_GRACE, MAX_ATTEMPTS, POST_BUDGET, POWER_POLL, POWER_POLL_WAITING};
use super::super::effect::Effect;
use super::super::observed::PowerView;
use super::failure::Retry;
use super::{Rules, clock, later};
use crate::kubernetes::{is_deleting, time};

impl Rules<'_> {
    /// Whether the agent of the current boot is there to work; takes the next step towards it otherwise.
    pub(super) fn ramdisk(&mut self, on_failure: ErrorType) -> bool {
        let boot = self.decision.record.boot.clone().filter(|boot| boot.target == BootTarget::Ramdisk);
        if let Some(boot) = &boot
            && self.agent_of(boot)
        {
            self.streaming();
            return true;
        }
        if self.held_back() {
            return false;
        }
        match boot {
            None => self.new_boot(on_failure),
            Some(boot) => match boot.step {
                BootStep::Insert => self.fill_drive(&boot),
                BootStep::Override => self.set_override(),
                BootStep::Power => self.power_on(),
                BootStep::Waiting => self.await_agent(&boot, on_failure),
                BootStep::Streaming => self.await_return(on_failure),
                // Left over from a deployment that is no longer wanted.
                BootStep::ClearOverride | BootStep::Leaving | BootStep::Reset | BootStep::Eject | BootStep::Left => {
                    self.new_boot(on_failure)
                }
            },
        }
        false
    }

    /// The stream of exactly this boot is open.
    fn agent_of(&self, boot: &BootRecord) -> bool {
        let agent = &self.seen.agent;
        agent.connected
            && agent.role == Some(Role::Ramdisk)
            && agent.boot_id.is_some_and(|id| id.to_string() == boot.id)
    }

    fn streaming(&mut self) {
        let arrived = self.decision.record.boot.as_ref().is_some_and(|boot| boot.step != BootStep::Streaming);
        if arrived {
            self.hide_error();
        }
        if let Some(boot) = &mut self.decision.record.boot {
            boot.enrolled = true;
            boot.step = BootStep::Streaming;
        }
    }

    fn new_boot(&mut self, on_failure: ErrorType) {
        let network = match &self.seen.ramdisk_network {
            Ok(network) => network.as_ref().and_then(|network| serde_json::to_value(network).ok()),
            // A deletion does not wait for ever for somebody to mend it.
            Err(why) if is_deleting(&self.seen.host) => return self.fail(on_failure, why.clone()),
            Err(why) => return self.show_until_mended(on_failure, why.clone()),
        };
        if self.decision.record.retry.is_none() {
            self.hide_error();
        }
        let id = self.seen.seed.boot.to_string();
        let media = match self.ramdisk_medium(&id) {
            Ok(media) => media,
            // No edit of the host heals this: the site may be given an ISO.
            Err(why) => return self.follow_up(on_failure, why, Retry::Always),
        };
        let boot = BootRecord {
            id,
            target: BootTarget::Ramdisk,
            step: self.first_step(media.as_ref()),
            issued: time(self.now),
            expires: time(later(self.now, POST_BUDGET)),
            enrolled: false,
            gave_up: None,
            media,
            network,
            live: None,
            // Until the BMC says better: what came by the network anybody there could have sent.
            trust: Some(BootTrust::Plain),
        };
        self.decision.record.boot = Some(boot.clone());
        match boot.step {
            BootStep::Insert => self.fill_drive(&boot),
            _ => self.set_override(),
        }
    }

    pub(super) fn set_override(&mut self) {
        let Some(boot) = &self.decision.record.boot else { return };
        let wanted = Self::override_of(boot);
        self.progress = Some(format!("{} is made its next boot device", way(boot)));
        self.decision.effect = Some(Effect::SetOverride(wanted));
    }

    pub(super) fn power_on(&mut self) {
        self.progress = Some("it is being powered on".to_owned());
        self.start_anew();
    }

    /// Makes the server boot, whether it is on or off.
    pub(super) fn start_anew(&mut self) {
        match &self.seen.power {
            PowerView::Known { on, .. } => {
                let action = if *on { PowerAction::Reset } else { PowerAction::On };
                self.decision.effect = Some(Effect::Power(action));
            }
            PowerView::Failed(_) | PowerView::Unknown => self.power_unknown(),
        }
    }

    /// The power state is needed and not known.
    pub(super) fn power_unknown(&mut self) {
        match &self.seen.power {
            PowerView::Failed(failure) => {
                // An outage of the BMC ends by itself, however long it takes.
                let retry = if failure.transient { Retry::Always } else { Retry::Times(MAX_ATTEMPTS) };
                let message = format!("the power state cannot be read: {}", failure.message);
                self.follow_up(ErrorType::PowerManagement, message, retry);
            }
            PowerView::Unknown | PowerView::Known { .. } => self.wake_in(POWER_POLL_WAITING),
        }
    }

    fn await_agent(&mut self, boot: &BootRecord, on_failure: ErrorType) {
        let (name, since) = (self.seen.host.name_any(), clock(boot.issued.0));
        let (power, device) = (self.power_word(), Self::override_of(boot).device);
        if let Some(why) = &boot.gave_up {
            // More boots would end as these did; `give_up` also cuts the power, again if need be.
            let message = format!("{name} boots in a loop: {why}; it is powered off, edit the host to try again");
            self.end_boot();
            self.give_up(on_failure, message);
        } else if boot.expires.0 <= self.now {
            let minutes = POST_BUDGET.as_secs() / 60;
            let message = format!(
                "the agent of {name} did not enrol within {minutes} min of {since}: power {power}, boot override {device}; \
                 look at the host's console and at the boot server's log for its MAC address"
            );
            self.end_boot();
            self.fail(on_failure, message);
        } else if self.off_since(boot.issued.0) {
            self.end_boot();
            self.fail(on_failure, format!("{name} went off while it was booting the ramdisk"));
        } else {
            self.progress =
                Some(format!("waiting for the agent of {name} since {since}; power {power}, boot override {device}"));
            self.wake_in(POWER_POLL);
            self.wake_at(boot.expires.0);
        }
    }

    /// The agent was there and is gone.
    fn await_return(&mut self, on_failure: ErrorType) {
        let lost = self.seen.agent.lost_since.unwrap_or(self.seen.started);
        let grace_ends = later(lost, AGENT_GRACE);
        if grace_ends > self.now && !self.off_since(lost) {
            self.progress = Some(format!("the agent is silent since {}", clock(lost)));
            self.wake_in(POWER_POLL_WAITING);
            self.wake_at(grace_ends);
            return;
        }
        let message = format!(
            "agent lost: the stream of {} is silent since {}, power {}; the ramdisk is booted again",
            self.seen.host.name_any(),
            clock(lost),
            self.power_word()
        );
        self.end_boot();
        self.fail(on_failure, message);
    }

    /// Nothing more is served for the boot; until the next one, the disk must not boot.
    fn end_boot(&mut self) {
        if let Some(boot) = &mut self.decision.record.boot {
            boot.target = BootTarget::PowerOff;
        }
        self.end_work("the agent was lost");
    }

    /// The BMC read it as off, and that after `moment`.
    fn off_since(&self, moment: Timestamp) -> bool {
        matches!(self.seen.power, PowerView::Known { on: false, at } if at > moment)
    }

    pub(super) fn power_word(&self) -> &'static str {
        match self.seen.power {
            PowerView::Known { on: true, .. } => "on",
            PowerView::Known { on: false, .. } => "off",
            PowerView::Unknown | PowerView::Failed(_) => "unknown",
        }
    }
}

/// Where a boot comes from, in words.
fn way(boot: &BootRecord) -> &'static str {
    if boot.media.is_some() { "its virtual cd" } else { "the network" }
}
