//! Emptying slots, and waiting until they are.

use std::time::Duration;

use redfish_client::{RedfishError, Reference, Resource};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::super::RedfishBmc;
use super::slot::{Door, Slot, image, is_empty, is_inserted};
use super::{is_busy, is_wording, request};
use crate::media::shown;
use crate::{BmcError, MediaKind, ReadBack};

/// Between two looks at a slot.
const PERIOD: Duration = Duration::from_secs(1);

impl RedfishBmc {
    pub(in crate::redfish) async fn eject(&self, kind: MediaKind) -> Result<ReadBack, BmcError> {
        let act = format!("ejecting a virtual {kind}");
        let slots = self.slots_for(&act, kind).await?;
        for slot in &slots.usable {
            if !is_empty(&slot.resource) {
                self.empty(&act, slot).await?;
            }
        }
        Ok(match slots.refused.first() {
            None => ReadBack::Confirmed,
            Some(refused) => ReadBack::Unverifiable(format!("a slot is not shown, and may be filled: {refused}")),
        })
    }

    /// Empties one slot and waits until nothing is in it.
    pub(super) async fn empty(&self, act: &str, slot: &Slot) -> Result<Resource, BmcError> {
        let end = Instant::now() + self.patience.settles_within;
        let mut now = slot.resource.clone();
        loop {
            let asked = self.ask_to_empty(&now, &slot.door).await;
            let at = slot.resource.uri();
            now = self.client.read(at).await.map_err(|error| self.explain(act, error))?;
            match asked {
                Ok(()) => return self.await_slot(act, now, end, "an empty slot", |slot| !is_inserted(slot)).await,
                // What is not there cannot be ejected, says many a service, and leaves its address behind.
                Err(_) if !is_inserted(&now) => return Ok(now),
                Err(error) if !is_busy(&error) || Instant::now() + self.pause(PERIOD) > end => {
                    return Err(self.explain(act, error));
                }
                Err(error) => tracing::debug!(%error, "slot is busy, asking again"),
            }
            sleep_until(Instant::now() + self.pause(PERIOD)).await;
        }
    }

    async fn ask_to_empty(&self, slot: &Resource, door: &Door) -> Result<(), RedfishError> {
        let shown = slot.action("VirtualMedia.EjectMedia").map(|eject| eject.target);
        let told = shown.is_some();
        if let Some(eject) = shown.or_else(|| beside(door)) {
            // An object, though it is empty: HPE refuses an action without a body.
            match self.client.post(&eject, &json!({})).await {
                Ok(reply) => {
                    return self.client.follow(&reply, self.patience.settles_within, |_| {}).await.map(|_| ());
                }
                Err(error) if !told && is_not_there(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let mut refused = None;
        for body in request::ejections() {
            match self.client.patch(slot, &body).await {
                Ok(reply) => {
                    return self.client.follow(&reply, self.patience.settles_within, |_| {}).await.map(|_| ());
                }
                Err(error) if is_wording(&error) => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// Reads the slot until it is as `wanted`, at most until `end`.
    pub(super) async fn await_slot(
        &self,
        act: &str,
        mut slot: Resource,
        end: Instant,
        wrote: &str,
        wanted: impl Fn(&Resource) -> bool,
    ) -> Result<Resource, BmcError> {
        while !wanted(&slot) {
            let next = Instant::now() + self.pause(PERIOD);
            if next > end {
                return Err(BmcError::NotApplied {
                    address: self.address.to_string(),
                    wrote: format!("{wrote} at {}", slot.uri()),
                    read: says(&slot),
                    deadline: self.patience.settles_within,
                });
            }
            sleep_until(next).await;
            slot = match self.client.read(slot.uri()).await {
                Ok(read) => read,
                Err(error) if error.is_transient() => slot,
                Err(error) => return Err(self.explain(act, error)),
            };
        }
        Ok(slot)
    }

    /// A pause that suits how patient this client is.
    pub(super) fn pause(&self, wanted: Duration) -> Duration {
        wanted.min(self.patience.settles_within / 10)
    }
}

/// Where the action to eject is where none is shown: beside the one to insert. Some show it only while there is
/// something to eject (Supermicro).
fn beside(door: &Door) -> Option<Reference> {
    let Door::Actions(insert) = door else { return None };
    let target = insert.target.as_str();
    target.contains("InsertMedia").then(|| Reference::parse(&target.replace("InsertMedia", "EjectMedia")))?
}

pub(super) fn is_not_there(error: &RedfishError) -> bool {
    error.is_not_found() || error.status().is_some_and(|status| matches!(status.as_u16(), 405 | 501))
}

/// What a slot says, for people.
pub(super) fn says(slot: &Resource) -> String {
    let inserted = if is_inserted(slot) { "inserted" } else { "not inserted" };
    let via = slot.text("ConnectedVia").map(|via| format!(", connected via {via}")).unwrap_or_default();
    let image = image(slot).map_or_else(|| "no image".to_owned(), |image| format!("image {}", shown(image)));
    format!("{image}, {inserted}{via}")
}
