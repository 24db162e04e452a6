//! The virtual drive that a BMC pretends: filled before a boot, emptied after it.
//!
//! What may be in the drive stands in the record from before it is inserted until it is known to be out, so that no
//! system is left with a medium that its firmware may prefer to the disk, whatever happens in between.

use bessemer_api::bessemer::{BootRecord, BootStep};
use bessemer_bmc::{BootDevice, BootLifetime, BootOverride, PowerAction};
use bessemer_protocol::{Outcome, Role};

use super::super::budgets::{LEAVE_BUDGET, POWER_POLL, POWER_POLL_WAITING};
use super::super::effect::Effect;
use super::super::observed::{PowerView, boots_by_media};
use super::{Rules, later};

impl Rules<'_> {
    /// The medium of a boot of the ramdisk; none for a host that boots from the network.
    ///
    /// # Errors
    /// Says why there is none, and what to do.
    pub(super) fn ramdisk_medium(&self, boot: &str) -> Result<Option<String>, String> {
        if !boots_by_media(&self.seen.host) {
            return Ok(None);
        }
        let Some(server) = &self.seen.boot.media_url else {
            let why = "the BMC's address asks for virtual media, and no boot server of this site serves an ISO: build one \
                       and give it with --iso, or use an address that boots from the network";
            return Err(why.to_owned());
        };
        let id: String = boot.chars().filter(|c| *c != '-').collect();
        // Some BMCs refuse what does not end in .iso, and all that has a query.
        Ok(Some(format!("{}/b/{id}/boot.iso", server.trim_end_matches('/'))))
    }

    /// Where a boot begins: at the drive, if there is something to be put in or taken out.
    pub(super) fn first_step(&self, medium: Option<&String>) -> BootStep {
        let busy = medium.is_some() || self.decision.record.medium.is_some();
        if busy { BootStep::Insert } else { BootStep::Override }
    }

    /// Brings the drive to where `boot` wants it.
    pub(super) fn fill_drive(&mut self, boot: &BootRecord) {
        // A medium pulled from under a running system gives it I/O errors.
        if self.decision.record.medium.is_some() && !self.switched_off() {
            return;
        }
        match &boot.media {
            Some(url) => {
                self.progress = Some("its virtual cd is inserted".to_owned());
                self.decision.record.medium = Some(url.clone());
                self.decision.effect = Some(Effect::Insert(url.clone()));
            }
            None => self.empty_drive(),
        }
    }

    pub(super) fn empty_drive(&mut self) {
        self.progress = Some("its virtual cd is ejected".to_owned());
        self.decision.effect = Some(Effect::Eject);
    }

    /// Takes out what is left of a boot that is over, without asking what runs; whether there was anything.
    pub(super) fn empties_drive(&mut self) -> bool {
        let left = self.decision.record.medium.is_some();
        if left {
            self.empty_drive();
        }
        left
    }

    /// Whether the host is off; arranges that otherwise.
    fn switched_off(&mut self) -> bool {
        match self.seen.power {
            PowerView::Known { on: false, .. } => return true,
            PowerView::Known { on: true, .. } => {
                self.progress = Some("it is switched off, to change its virtual cd".to_owned());
                self.decision.effect = Some(Effect::Power(PowerAction::ForceOff));
                self.wake_in(POWER_POLL);
            }
            PowerView::Failed(_) | PowerView::Unknown => self.power_unknown(),
        }
        false
    }

    /// The image is on the disk and the agent has gone, or does not go: once the host is off, its medium is ejected. Only
    /// then may it boot, as firmware may prefer the medium to the disk.
    pub(super) fn unplug(&mut self) {
        if self.held_back() {
            return;
        }
        let installed = self.seen.agent.connected && self.seen.agent.role == Some(Role::Node);
        if installed || matches!(self.seen.power, PowerView::Known { on: false, .. }) {
            // An installed system that runs already needs no medium of ours.
            self.empty_drive();
            return;
        }
        let work = self.decision.record.work.as_ref();
        let outcome = work.and_then(|work| serde_json::from_value::<Outcome>(work.outcome.clone()?).ok());
        if let (Some(work), Some(Outcome::Done { .. })) = (work, outcome) {
            let patience = later(work.deadline.0, LEAVE_BUDGET);
            if patience > self.now {
                self.progress = Some("waiting for it to switch itself off".to_owned());
                self.wake_in(POWER_POLL_WAITING);
                self.wake_at(patience);
                return;
            }
        }
        self.switched_off();
    }

    /// What firmware is told to boot next, for `boot`. A live system is for every boot, also those that it makes itself.
    pub(super) fn override_of(boot: &BootRecord) -> BootOverride {
        let device = if boot.media.is_some() { BootDevice::Cd } else { BootDevice::Pxe };
        let lifetime = if boot.live.is_some() { BootLifetime::Persistent } else { BootLifetime::Once };
        BootOverride { lifetime, ..BootOverride::once(device) }
    }
}
