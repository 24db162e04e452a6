//! The boot override over Redfish (`ComputerSystem.Boot`): where it is written, what is written, all its fields in one
//! write, read back afterwards. What to write is decided before anything is, so that it can be shown.

mod order;
mod wish;

use std::time::Duration;

use redfish_client::{RedfishError, Resource};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use super::RedfishBmc;
use super::quirks::{Habit, Subject};
use crate::{BmcError, BootDevice, BootLifetime, BootOverride, ReadBack};
use wish::{Verdict, has_override, no_override, takes_uri};

pub(crate) use wish::{Wish, wish};

const ACT: &str = "setting the boot override";

/// One write, decided.
#[derive(Debug)]
pub(crate) struct BootPlan {
    /// Where the write goes, as it is now.
    pub(crate) place: Resource,
    /// Where it goes when the place refuses it.
    pub(crate) other: Option<Resource>,
    /// What is written.
    pub(crate) wish: Wish,
    /// Why the outcome is less than what was asked for, where it is.
    pub(crate) short_of: Option<&'static str>,
}

impl BootPlan {
    /// Whether nothing need be written: some firmware restores its whole boot order after any write (Lenovo).
    pub(crate) fn is_met(&self) -> bool {
        self.wish.judge(&self.place) == Verdict::Confirmed
    }
}

impl RedfishBmc {
    /// What would be written for `wanted`. Reads only.
    pub(crate) async fn boot_plan(&self, wanted: &BootOverride) -> Result<BootPlan, BmcError> {
        let unsupported = |why: String| BmcError::Unsupported { act: format!("bmc {}, {ACT}", self.address), why };
        let system = self.system(ACT).await?;
        if wanted.device == BootDevice::Cd
            && Subject::of(&system).has(Habit::VirtualCdIsAnAttribute)
            && let Some(plan) = self.virtual_cd(wanted, &system).await?
        {
            return Ok(plan);
        }
        let settings = self.settings_with_boot(&system).await?;
        if settings.is_none() && !has_override(&system) {
            return self.order_plan(wanted, system).await;
        }
        let wish = match &settings {
            Some(settings) => wish(wanted, settings, Some(&system)),
            None => wish(wanted, &system, None),
        };
        let wish = Wish::Override(wish.map_err(unsupported)?);
        // Where the settings hold the boot fields, the system's own are read-only or only say what was used last.
        let (place, other) = match settings {
            Some(settings) => (settings, Some(system)),
            None => (system, None),
        };
        let told = !matches!(&wanted.device, BootDevice::UefiHttp(Some(_))) || takes_uri(&place);
        let short_of = (!told).then_some("it cannot be told an address: the one that dhcp gives is used");
        Ok(BootPlan { place, other, wish, short_of })
    }

    /// The boot order instead, where that is all there is.
    async fn order_plan(&self, wanted: &BootOverride, system: Resource) -> Result<BootPlan, BmcError> {
        let unsupported = |why: String| BmcError::Unsupported { act: format!("bmc {}, {ACT}", self.address), why };
        let order = system.texts("Boot/BootOrder");
        if order.is_empty() {
            return Err(unsupported(no_override(system.uri())));
        }
        let (order, short_of) = match (&wanted.device, wanted.lifetime) {
            // Without an override there is none to take away.
            (BootDevice::None, _) => (order, None),
            (device, lifetime) => {
                let options = match system.link("Boot/BootOptions") {
                    Some(all) => self.client.members(all.as_str()).await.map_err(|error| self.explain(ACT, error))?,
                    None => Vec::new(),
                };
                let once = lifetime == BootLifetime::Once;
                let short_of = once.then_some("it has a boot order only, which holds until it is changed");
                (order::reordered(device, &order, &options).map_err(unsupported)?, short_of)
            }
        };
        Ok(BootPlan { place: system, other: None, wish: Wish::Order(order), short_of })
    }

    /// The attributes by which an iDRAC boots from its virtual drive; none where it does not show them.
    async fn virtual_cd(&self, wanted: &BootOverride, system: &Resource) -> Result<Option<BootPlan>, BmcError> {
        let explain = |error| self.explain(ACT, error);
        let Some(manager) = system.links("Links/ManagedBy").into_iter().next() else { return Ok(None) };
        let Some(manager) = self.client.find(&manager).await.map_err(explain)? else { return Ok(None) };
        let listed = manager.links("Links/Oem/Dell/DellAttributes");
        let own = listed.into_iter().find(|at| at.id() == manager.uri().id());
        let at = own.unwrap_or_else(|| manager.uri().child("Attributes"));
        let Some(place) = self.client.find(&at).await.map_err(explain)? else { return Ok(None) };
        let is_there = |name: &str| place.value("Attributes").is_some_and(|all| all.get(name).is_some());
        let once = if wanted.lifetime == BootLifetime::Once { "Enabled" } else { "Disabled" };
        let wanted = [("ServerBoot.1.BootOnce", once), ("ServerBoot.1.FirstBootDevice", "VCD-DVD")];
        if !wanted.iter().all(|(name, _)| is_there(name)) {
            return Ok(None);
        }
        let attributes: Map<String, Value> =
            wanted.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        Ok(Some(BootPlan { place, other: None, wish: Wish::Attributes(attributes), short_of: None }))
    }

    pub(super) async fn write_boot_override(&self, wanted: &BootOverride) -> Result<ReadBack, BmcError> {
        let plan = self.boot_plan(wanted).await?;
        let outcome = if plan.is_met() { ReadBack::Confirmed } else { self.carry_out(&plan, wanted).await? };
        Ok(match (outcome, plan.short_of) {
            (ReadBack::Confirmed, Some(why)) => ReadBack::Unverifiable(why.to_owned()),
            (outcome, _) => outcome,
        })
    }

    async fn carry_out(&self, plan: &BootPlan, wanted: &BootOverride) -> Result<ReadBack, BmcError> {
        let written = match (self.change(&plan.place, &plan.wish).await, &plan.other) {
            (Err(error), Some(other)) if is_refused(&error) => {
                tracing::debug!(%error, "boot settings refuse the override, trying the system");
                self.change(other, &plan.wish).await.map(|()| other)
            }
            (answer, _) => answer.map(|()| &plan.place),
        };
        let written = written.map_err(|error| self.explain(ACT, error))?;
        // Some take a moment to show what they took.
        let end = Instant::now() + self.rest();
        let verdict = loop {
            let read = self.client.read(written.uri()).await;
            let read = read.map_err(|error| self.explain("reading the boot override back", error))?;
            let verdict = plan.wish.judge(&read);
            if verdict == Verdict::Confirmed || Instant::now() >= end {
                break verdict;
            }
            sleep(self.moment()).await;
        };
        let is_later =
            matches!((&plan.wish, &plan.other), (Wish::Override(_), Some(other)) if other.uri() != written.uri());
        match verdict {
            Verdict::Confirmed if is_later => {
                Ok(ReadBack::Pending(format!("{} holds it for the next boot", written.uri())))
            }
            Verdict::Confirmed => Ok(ReadBack::Confirmed),
            Verdict::Unverifiable(why) => Ok(ReadBack::Unverifiable(why.to_owned())),
            Verdict::Contradicted(read) => Err(BmcError::Contradicted {
                address: self.address.to_string(),
                wrote: format!("boot override {wanted}"),
                read,
            }),
        }
    }

    /// Writes, again and again while the server's firmware is busy with its self-test and the BMC says so.
    async fn change(&self, place: &Resource, wish: &Wish) -> Result<(), RedfishError> {
        let end = Instant::now() + self.deadline();
        loop {
            match self.client.patch(place, &wish.body()).await {
                Err(error) if is_busy(&error) && Instant::now() < end => sleep(self.moment()).await,
                answer => return answer.map(|_| ()),
            }
        }
    }

    /// Between two tries: two seconds of the thirty that an act has.
    fn moment(&self) -> Duration {
        self.rest() / 5
    }

    /// The resource for later settings, if it holds the boot override: some BMCs have one without (and take the write
    /// at the system), others take it only there (iDRAC 10).
    async fn settings_with_boot(&self, system: &Resource) -> Result<Option<Resource>, BmcError> {
        let Some(at) = system.settings() else { return Ok(None) };
        let settings = self.client.find(&at).await.map_err(|error| self.explain(ACT, error))?;
        Ok(settings.filter(has_override))
    }
}

fn is_refused(error: &RedfishError) -> bool {
    error.status().is_some_and(|status| matches!(status.as_u16(), 400 | 404 | 405))
}

fn is_busy(error: &RedfishError) -> bool {
    let said = |key: &str| error.fault().is_some_and(|fault| fault.has(key));
    said("UnableToModifyDuringSystemPOST") || said("ServerInPOST") || said("ResourceInUse")
}
