//! Hosts whose system is a live ISO (`format: live-iso`): nothing is written, no agent is there, and no data of the
//! consumer's is handed over. Provisioned means that it was started from the ISO; each time that we power it on it is
//! again.

use std::time::Duration;

use bessemer_api::bessemer::{BootRecord, BootStep, BootTarget, BootTrust};
use bessemer_api::metal3::{DiskFormat, ErrorType, Image};

use super::super::observed::{PowerView, boots_by_media};
use super::Rules;
use crate::kubernetes::time;

/// As much as a record holds.
const LONGEST_URL: usize = 2048;

/// Whether the image is a live system.
pub(super) fn is_live(image: &Image) -> bool {
    image.format == Some(DiskFormat::LiveIso)
}

impl Rules<'_> {
    pub(super) fn provisioning_live(&mut self, image: &Image) {
        if let Err(why) = check(image) {
            if !self.held_back() {
                self.give_up(ErrorType::Provisioning, why);
            }
            return;
        }
        self.end_work("the host is started from a live ISO instead");
        if self.started_live(image) {
            let way = if boots_by_media(&self.seen.host) { "its virtual cd" } else { "the network" };
            self.now_provisioned(image.clone(), format!("started from a live ISO by {way}"));
        }
    }

    pub(super) fn provisioned_live(&mut self, image: &Image) {
        let off = matches!(self.seen.power, PowerView::Known { on: false, .. });
        let online = self.seen.host.spec.online;
        match self.live_boot(image).map(|boot| boot.step) {
            // A record that was lost: it runs, and is not restarted for that.
            None => {
                let boot = self.new_live(image, BootStep::Left);
                self.decision.record.medium.clone_from(&boot.media);
                self.decision.record.boot = Some(boot);
                self.wake_in(Duration::ZERO);
            }
            Some(BootStep::Insert | BootStep::Override | BootStep::Power) if online => {
                self.started_live(image);
            }
            // A BMC may have lost the medium or the override since.
            Some(_) if online && off => {
                let step = self.first_step(self.live_boot(image).and_then(|boot| boot.media).as_ref());
                if let Some(boot) = &mut self.decision.record.boot {
                    boot.step = step;
                }
                self.started_live(image);
            }
            Some(_) => self.keep_power(online),
        }
    }

    /// Whether the host was started from the ISO; takes the next step towards it otherwise.
    fn started_live(&mut self, image: &Image) -> bool {
        if self.held_back() {
            return false;
        }
        let boot = match self.live_boot(image) {
            Some(boot) => boot,
            None => {
                let boot = self.new_live(image, BootStep::Override);
                BootRecord { step: self.first_step(boot.media.as_ref()), ..boot }
            }
        };
        self.decision.record.boot = Some(boot.clone());
        match boot.step {
            BootStep::Insert => self.fill_drive(&boot),
            BootStep::Override => self.set_override(),
            BootStep::Power => self.power_on(),
            _ => return true,
        }
        false
    }

    fn live_boot(&self, image: &Image) -> Option<BootRecord> {
        let current = self.decision.record.boot.clone();
        current.filter(|boot| boot.target == BootTarget::LiveIso && boot.live.as_ref() == Some(&image.url))
    }

    fn new_live(&self, image: &Image, step: BootStep) -> BootRecord {
        BootRecord {
            id: self.seen.seed.boot.to_string(),
            target: BootTarget::LiveIso,
            step,
            issued: time(self.now),
            expires: time(self.now),
            enrolled: false,
            gave_up: None,
            media: boots_by_media(&self.seen.host).then(|| image.url.clone()),
            live: Some(image.url.clone()),
            network: None,
            trust: Some(BootTrust::Plain),
        }
    }
}

fn check(image: &Image) -> Result<(), String> {
    let url = &image.url;
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        return Err(format!(
            "image {url}: a live ISO is fetched by firmware or the BMC, only http:// and https:// can be"
        ));
    }
    if url.len() > LONGEST_URL {
        return Err(format!("image: the live ISO's URL has {} bytes, {LONGEST_URL} at most are taken", url.len()));
    }
    Ok(())
}
