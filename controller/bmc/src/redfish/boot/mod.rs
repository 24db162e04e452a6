//! The boot override over Redfish (`ComputerSystem.Boot`): where it is written, what is written, all its fields in one
//! write, read back afterwards. What to write is decided before anything is, so that it can be shown.

mod order;
mod wish;

use std::time::Duration;

use redfish_client::{RedfishError, Reply, Resource};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use super::RedfishBmc;
use super::quirks::{Habit, Subject};
use crate::{BmcError, BootDevice, BootFirmware, BootLifetime, BootOverride, ReadBack};
use wish::{Verdict, Wish, has_override, no_override, takes_mode, takes_uri, wish};

const ACT: &str = "setting the boot override";

const NO_ADDRESS: &str = "it cannot be told an address: the one that dhcp gives is used";
const NO_MODE: &str = "it cannot be told legacy or uefi";
const ORDER_ONLY: &str = "it has a boot order only, which holds until it is changed";

/// The attribute of an iDRAC that says what is booted first, and what it is when nothing is.
const FIRST_DEVICE: &str = "ServerBoot.1.FirstBootDevice";
const NOTHING_FIRST: &str = "Normal";

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
    pub(crate) short_of: Vec<&'static str>,
}

impl BootPlan {
    /// Whether nothing need be written: some firmware restores its whole boot order after any write (Lenovo).
    pub(crate) fn is_met(&self) -> bool {
        self.wish.judge(&self.place) == Verdict::Confirmed
    }
}

impl RedfishBmc {
    /// Why `wanted` would be done less than wholly; empty where it would be done wholly. Reads only.
    pub(super) async fn boot_shortfalls(&self, wanted: &BootOverride) -> Result<Vec<&'static str>, BmcError> {
        let plans = self.boot_plans(wanted).await?;
        Ok(plans.into_iter().flat_map(|plan| plan.short_of).collect())
    }

    /// What would be written for `wanted`, in this order. Reads only.
    async fn boot_plans(&self, wanted: &BootOverride) -> Result<Vec<BootPlan>, BmcError> {
        let system = self.system(ACT).await?;
        if !Subject::of(&system).has(Habit::VirtualCdIsAnAttribute) {
            return Ok(vec![self.boot_plan(wanted, system).await?]);
        }
        match &wanted.device {
            BootDevice::Cd => match self.virtual_cd(wanted, &system).await? {
                Some(plan) => Ok(vec![plan]),
                None => Ok(vec![self.boot_plan(wanted, system).await?]),
            },
            // Taken back in both places, as it may have been set in either.
            BootDevice::None => {
                let attribute = self.manager_attributes(&system, &[(FIRST_DEVICE, NOTHING_FIRST)]).await?;
                let mut plans = vec![self.boot_plan(wanted, system).await?];
                plans.extend(attribute);
                Ok(plans)
            }
            _ => Ok(vec![self.boot_plan(wanted, system).await?]),
        }
    }

    async fn boot_plan(&self, wanted: &BootOverride, system: Resource) -> Result<BootPlan, BmcError> {
        let unsupported = |why: String| BmcError::Unsupported { act: format!("bmc {}, {ACT}", self.address), why };
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
        let mut short_of = Vec::new();
        if matches!(&wanted.device, BootDevice::UefiHttp(Some(_))) && !takes_uri(&place) {
            short_of.push(NO_ADDRESS);
        }
        if is_for_legacy(wanted) && !takes_mode(&place) {
            short_of.push(NO_MODE);
        }
        Ok(BootPlan { place, other, wish, short_of })
    }

    /// The boot order instead, where that is all there is.
    async fn order_plan(&self, wanted: &BootOverride, system: Resource) -> Result<BootPlan, BmcError> {
        let unsupported = |why: String| BmcError::Unsupported { act: format!("bmc {}, {ACT}", self.address), why };
        let order = system.texts("Boot/BootOrder");
        if order.is_empty() {
            return Err(unsupported(no_override(system.uri())));
        }
        let mut short_of = Vec::new();
        let order = match &wanted.device {
            // Without an override there is none to take away.
            BootDevice::None => order,
            device => {
                let options = match system.link("Boot/BootOptions") {
                    Some(all) => self.client.members(all.as_str()).await.map_err(|error| self.explain(ACT, error))?,
                    None => Vec::new(),
                };
                if wanted.lifetime == BootLifetime::Once {
                    short_of.push(ORDER_ONLY);
                }
                if is_for_legacy(wanted) {
                    short_of.push(NO_MODE);
                }
                order::reordered(device, &order, &options).map_err(unsupported)?
            }
        };
        Ok(BootPlan { place: system, other: None, wish: Wish::Order(order), short_of })
    }

    /// The attributes by which an iDRAC boots from its virtual drive; none where it does not show them.
    async fn virtual_cd(&self, wanted: &BootOverride, system: &Resource) -> Result<Option<BootPlan>, BmcError> {
        let once = if wanted.lifetime == BootLifetime::Once { "Enabled" } else { "Disabled" };
        let attributes = [("ServerBoot.1.BootOnce", once), (FIRST_DEVICE, "VCD-DVD")];
        let plan = self.manager_attributes(system, &attributes).await?;
        let short_of = if is_for_legacy(wanted) { vec![NO_MODE] } else { Vec::new() };
        Ok(plan.map(|plan| BootPlan { short_of, ..plan }))
    }

    /// `wanted` of the attributes of the system's manager; none where it does not show them.
    async fn manager_attributes(
        &self,
        system: &Resource,
        wanted: &[(&str, &str)],
    ) -> Result<Option<BootPlan>, BmcError> {
        let explain = |error| self.explain(ACT, error);
        let Some(manager) = system.links("Links/ManagedBy").into_iter().next() else { return Ok(None) };
        let Some(manager) = self.client.find(&manager).await.map_err(explain)? else { return Ok(None) };
        let listed = manager.links("Links/Oem/Dell/DellAttributes");
        let own = listed.into_iter().find(|at| at.id() == manager.uri().id());
        let at = own.unwrap_or_else(|| manager.uri().child("Attributes"));
        let Some(place) = self.client.find(&at).await.map_err(explain)? else { return Ok(None) };
        let is_there = |name: &str| place.value("Attributes").is_some_and(|all| all.get(name).is_some());
        if !wanted.iter().all(|(name, _)| is_there(name)) {
            return Ok(None);
        }
        let attributes: Map<String, Value> =
            wanted.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
        Ok(Some(BootPlan { place, other: None, wish: Wish::Attributes(attributes), short_of: Vec::new() }))
    }

    pub(super) async fn write_boot_override(&self, wanted: &BootOverride) -> Result<ReadBack, BmcError> {
        let mut all = ReadBack::Confirmed;
        for plan in self.boot_plans(wanted).await? {
            let outcome = if plan.is_met() { ReadBack::Confirmed } else { self.carry_out(&plan, wanted).await? };
            let short_of = plan.short_of.join("; ");
            let outcome = match outcome {
                outcome if short_of.is_empty() => outcome,
                ReadBack::Confirmed => ReadBack::Unverifiable(short_of),
                ReadBack::Pending(why) => ReadBack::Pending(format!("{why}; {short_of}")),
                ReadBack::Unverifiable(why) => ReadBack::Unverifiable(format!("{why}; {short_of}")),
            };
            if all == ReadBack::Confirmed {
                all = outcome;
            }
        }
        Ok(all)
    }

    async fn carry_out(&self, plan: &BootPlan, wanted: &BootOverride) -> Result<ReadBack, BmcError> {
        let written = match (self.change(&plan.place, &plan.wish).await, &plan.other) {
            (Err(error), Some(other)) if is_refused(&error) => {
                // No more of it: it may repeat an address that is secret in part.
                let status = error.status().map(|status| status.as_u16());
                tracing::debug!(status, "boot settings refuse the override, trying the system");
                self.change(other, &plan.wish).await.map(|reply| (reply, other))
            }
            (answer, _) => answer.map(|reply| (reply, &plan.place)),
        };
        let (reply, written) = written.map_err(|error| self.explain(ACT, error))?;
        let staged = self.settle(ACT, &reply).await?;
        // Some take a moment to show what they took.
        let end = Instant::now() + self.rest();
        let verdict = loop {
            let read = self.client.read(written.uri()).await;
            let read = read.map_err(|error| self.explain("reading the boot override back", error))?;
            let verdict = plan.wish.judge(&read);
            if verdict == Verdict::Confirmed || staged.is_some() || Instant::now() >= end {
                break verdict;
            }
            sleep(self.moment()).await;
        };
        let is_later =
            matches!((&plan.wish, &plan.other), (Wish::Override(_), Some(other)) if other.uri() != written.uri());
        match (verdict, staged) {
            (Verdict::Confirmed, _) if is_later => {
                Ok(ReadBack::Pending(format!("{} holds it for the next boot", written.uri())))
            }
            (Verdict::Confirmed, _) => Ok(ReadBack::Confirmed),
            (_, Some(why)) => Ok(ReadBack::Pending(why)),
            (Verdict::Unverifiable(why), None) => Ok(ReadBack::Unverifiable(why.to_owned())),
            (Verdict::Contradicted(read), None) => Err(BmcError::Contradicted {
                address: self.address.to_string(),
                wrote: format!("boot override {wanted}"),
                read,
            }),
        }
    }

    /// Writes, again and again while the server's firmware is busy with its self-test and the BMC says so.
    async fn change(&self, place: &Resource, wish: &Wish) -> Result<Reply, RedfishError> {
        let end = Instant::now() + self.deadline();
        loop {
            match self.client.patch(place, &wish.body()).await {
                Err(error) if is_busy(&error) && Instant::now() < end => sleep(self.moment()).await,
                answer => return answer,
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

fn is_for_legacy(wanted: &BootOverride) -> bool {
    wanted.firmware == BootFirmware::Legacy && wanted.device != BootDevice::None
}

fn is_refused(error: &RedfishError) -> bool {
    error.status().is_some_and(|status| matches!(status.as_u16(), 400 | 404 | 405))
}

fn is_busy(error: &RedfishError) -> bool {
    let said = |key: &str| error.fault().is_some_and(|fault| fault.has(key));
    said("UnableToModifyDuringSystemPOST") || said("ServerInPOST") || said("ResourceInUse")
}
