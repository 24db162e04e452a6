//! Inserting: empty the slot, ask in words it takes, read back what it says.

use std::time::Duration;

use redfish_client::{RedfishError, Resource};
use tokio::time::{Instant, sleep_until};

use super::super::RedfishBmc;
use super::super::errors::scrubbed;
use super::eject::{is_not_there, says};
use super::slot::{Door, holds, image, is_empty, is_inserted};
use super::{is_busy, is_wording, request};
use crate::{BmcError, InsertedMedia, Medium, ReadBack};

/// Between two tries at a slot that is busy.
const PERIOD: Duration = Duration::from_secs(2);

/// Why a slot did not take a medium.
enum Failure {
    /// It cannot be used after all (405 of OpenBMC) or takes no words: the next may do.
    Unfit(BmcError),
    /// Anything else ends it: the medium may show later, and then be there twice.
    Ends(BmcError),
}

impl From<BmcError> for Failure {
    fn from(error: BmcError) -> Self {
        Self::Ends(error)
    }
}

impl RedfishBmc {
    pub(in crate::redfish) async fn insert(&self, medium: &Medium) -> Result<InsertedMedia, BmcError> {
        let act = format!("inserting {medium}");
        let clean = |error| scrubbed(error, medium.login.as_ref());
        let mut refused = None;
        for slot in self.slots_for(&act, medium.kind).await?.usable {
            let mut now = slot.resource.clone();
            // Also when it names the same address: it need not serve it any more.
            if !is_empty(&now) {
                now = match self.empty(&act, &slot).await {
                    Ok(now) => now,
                    // Somebody's console holds it.
                    Err(error) if slot.resource.text("ConnectedVia") == Some("Applet") => {
                        refused.get_or_insert(error);
                        continue;
                    }
                    // What stays in it might be booted instead of what goes into another.
                    Err(error) => return Err(clean(error)),
                };
            }
            let now = self.have_verified(now, medium).await;
            match self.insert_into(&act, now, &slot.door, medium).await {
                Ok(read_back) => {
                    let verified = self.verifies(&slot.resource, medium).await;
                    return Ok(InsertedMedia { slot: slot.resource.uri().to_string(), read_back, verified });
                }
                Err(Failure::Unfit(error)) => {
                    tracing::debug!(slot = %slot.resource.uri(), "slot does not take the medium");
                    refused.get_or_insert(error);
                }
                Err(Failure::Ends(error)) => return Err(clean(error)),
            }
        }
        let refused = refused.unwrap_or_else(|| BmcError::Unsupported { act, why: "it has no slot".to_owned() });
        Err(clean(refused))
    }

    async fn insert_into(
        &self,
        act: &str,
        mut now: Resource,
        door: &Door,
        medium: &Medium,
    ) -> Result<ReadBack, Failure> {
        let end = Instant::now() + self.patience.settles_within;
        let mut bodies = request::insertions(medium, door).into_iter();
        let mut body = bodies.next();
        let mut first = None;
        while let Some(wording) = &body {
            let error = match self.ask_to_insert(&now, door, wording).await {
                Ok(()) => return Ok(self.check_inserted(act, &now, medium, end).await?),
                Err(error) => error,
            };
            if is_wording(&error) {
                first.get_or_insert(error);
                body = bodies.next();
                continue;
            }
            if !is_busy(&error) || Instant::now() + self.pause(PERIOD) > end {
                let unfit = is_not_there(&error);
                let error = self.explain_insert(act, error, medium);
                return Err(if unfit { Failure::Unfit(error) } else { Failure::Ends(error) });
            }
            sleep_until(Instant::now() + self.pause(PERIOD)).await;
            now = self.client.read(now.uri()).await.map_err(|error| self.explain(act, error))?;
            // It was done all the same.
            if is_inserted(&now) && holds(&now, &medium.url) {
                return Ok(ReadBack::Confirmed);
            }
        }
        match first {
            Some(error) => Err(match self.explain_insert(act, error, medium) {
                // Nothing about this slot: what it needs is known.
                error @ BmcError::Refused { .. } => Failure::Ends(error),
                error => Failure::Unfit(error),
            }),
            None => Ok(ReadBack::Unverifiable("there was nothing to send".to_owned())),
        }
    }

    async fn ask_to_insert(&self, slot: &Resource, door: &Door, body: &serde_json::Value) -> Result<(), RedfishError> {
        let reply = match door {
            Door::Actions(action) => self.client.act(action, body).await?,
            Door::Properties => self.client.patch(slot, body).await?,
        };
        self.client.follow(&reply, self.patience.settles_within, |_| {}).await.map(|_| ())
    }

    async fn check_inserted(
        &self,
        act: &str,
        slot: &Resource,
        medium: &Medium,
        end: Instant,
    ) -> Result<ReadBack, BmcError> {
        let read = self.client.read(slot.uri()).await.map_err(|error| self.explain(act, error))?;
        let awaited = self.await_slot(act, read, end, &medium.to_string(), is_inserted).await;
        if let Err(BmcError::NotApplied { .. }) = &awaited {
            let now = self.client.read(slot.uri()).await.map_err(|error| self.explain(act, error))?;
            let claims = now.value("Inserted").and_then(serde_json::Value::as_bool) == Some(true);
            if claims && holds(&now, &medium.url) {
                return Ok(ReadBack::Unverifiable("the slot says both inserted and not connected".to_owned()));
            }
        }
        let read = awaited?;
        if holds(&read, &medium.url) {
            return Ok(ReadBack::Confirmed);
        }
        if image(&read).is_none() {
            return Ok(ReadBack::Unverifiable("the slot is filled and does not say with what".to_owned()));
        }
        Err(BmcError::Contradicted {
            address: self.address.to_string(),
            wrote: format!("{medium} at {}", read.uri()),
            read: says(&read),
        })
    }

    /// The error, with what is known to help.
    fn explain_insert(&self, act: &str, error: RedfishError, medium: &Medium) -> BmcError {
        let hint = hint(&error, medium);
        let error = self.explain(act, error);
        match (error, hint) {
            (BmcError::Protocol { address, act, why }, Some(hint)) => {
                BmcError::Refused { address, act, why: format!("{why}; {hint}") }
            }
            (error, _) => error,
        }
    }
}

/// What is known to help against `error`.
fn hint(error: &RedfishError, medium: &Medium) -> Option<&'static str> {
    let fault = error.fault()?;
    if fault.has("RAC0904") || fault.has("SYS446") {
        return Some(
            "set the attach mode of virtual media to AutoAttach (VirtualMedia.Attached) and close virtual consoles",
        );
    }
    let plain = !medium.url.contains(['?', '=']) && medium.url.to_ascii_lowercase().ends_with(".iso");
    (is_wording(error) && !plain).then_some("some bmcs take only addresses without ? and = that end in .iso")
}
