//! Virtual media over Redfish: which slots there are, and what is said about them.

mod eject;
mod insert;
mod request;
mod slot;
mod verify;

use http::StatusCode;
use redfish_client::{RedfishError, Resource};
use slot::Slot;

use super::RedfishBmc;
use super::survey::Survey;
use super::value::natural;
use crate::{BmcError, MediaKind, MediaSlot};

const ACT: &str = "reading virtual media";

/// What was found of virtual media.
struct Slots {
    usable: Vec<Slot>,
    /// What the BMC refuses to show, and how.
    refused: Vec<String>,
}

impl RedfishBmc {
    pub(super) async fn read_media(&self) -> Result<Vec<MediaSlot>, BmcError> {
        Ok(self.slots(ACT).await?.usable.iter().map(slot::show).collect())
    }

    /// The slots that can be used: those of the system and those of its manager. Firmware has them in one place, in the
    /// other, in both under other names (Dell), or in both as the same (Lenovo).
    async fn slots(&self, act: &str) -> Result<Slots, BmcError> {
        let system = self.system(act).await?;
        let survey = Survey::new(self);
        let mut owners: Vec<Resource> = self.manager(&survey, &system).await.into_iter().collect();
        owners.push(system);
        let mut resources: Vec<Resource> = Vec::new();
        for owner in &owners {
            let mut members = survey.members(owner, "VirtualMedia").await;
            // The same slot each time, though the list is in another order (iDRAC): a second one would hold the old image.
            members.sort_by_key(|member| natural(member.uri().id()));
            for resource in members {
                let known = resources.iter().any(|other| other.uri() == resource.uri() || is_same(other, &resource));
                if !known {
                    resources.push(resource);
                }
            }
        }
        // Neither may an act go to a part of the slots, nor a slot that stumbles be called none.
        let refused = survey.finish_whole(act)?;
        Ok(Slots { usable: slot::usable(resources), refused })
    }

    /// The kinds of media that some slot takes.
    pub(super) async fn media_kinds(&self) -> Result<Vec<MediaKind>, BmcError> {
        Ok(self.slots(ACT).await?.usable.into_iter().flat_map(|slot| slot.kinds).collect())
    }

    /// As [`RedfishBmc::slots`], of one kind; none is an error that says so.
    async fn slots_for(&self, act: &str, kind: MediaKind) -> Result<Slots, BmcError> {
        let mut slots = self.slots(act).await?;
        let others = !slots.usable.is_empty();
        slots.usable.retain(|slot| slot.kinds.contains(&kind));
        if slots.usable.is_empty() {
            let why = if others {
                format!("it shows no slot that takes a {kind}")
            } else if let Some(refused) = slots.refused.first() {
                format!("it does not show its virtual media: {refused}")
            } else {
                "it shows no virtual media; its firmware has none, or a licence for it is missing".to_owned()
            };
            return Err(BmcError::Unsupported { act: format!("bmc {}, {act}", self.address), why });
        }
        Ok(slots)
    }
}

/// Whether two slots under two roofs are one: they have one name and hold the same.
fn is_same(one: &Resource, other: &Resource) -> bool {
    let said = |slot: &Resource, path: &str| slot.value(path).cloned();
    one.uri().id() == other.uri().id()
        && one.action("VirtualMedia.InsertMedia").map(|a| a.target)
            == other.action("VirtualMedia.InsertMedia").map(|a| a.target)
        && ["Image", "Inserted", "MediaTypes"].iter().all(|path| said(one, path) == said(other, path))
}

/// Whether the service refused these words, so that others may do.
fn is_wording(error: &RedfishError) -> bool {
    error.status().is_some_and(|status| matches!(status.as_u16(), 400 | 422))
}

/// Whether the service refuses for now: it is busy with the slot, as for seconds after an eject.
fn is_busy(error: &RedfishError) -> bool {
    let busy = |status: StatusCode| status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED;
    error.status().is_some_and(|status| busy(status) || matches!(status.as_u16(), 409 | 423 | 429))
}

/// Every decoder on one body, for tests that feed them anything.
#[cfg(test)]
pub(super) fn decode_everything(resource: &Resource) -> String {
    let slots = slot::usable(vec![resource.clone()]);
    let shown: Vec<MediaSlot> = slots.iter().map(slot::show).collect();
    format!("{shown:?} {} {}", slot::holds(resource, "http://h/a.iso"), eject::says(resource))
}
