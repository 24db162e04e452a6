//! Changing settings: judged, written together where the BMC takes wishes, followed, and read back.

use std::collections::BTreeMap;

use redfish_client::{RedfishError, Resource};
use serde_json::{Map, Value, json};

use super::validate::check;
use super::{Settings, values};
use crate::redfish::RedfishBmc;
use crate::redfish::settle::ReadAgain;
use crate::{BiosValue, BmcError, ReadBack};

const WRITE: &str = "changing bios settings";
const RESET: &str = "resetting bios settings to their defaults";
const DISCARD: &str = "taking back bios settings that wait";

/// Dell: what was wished for before is committed to a job, and nothing more is taken until that has run.
const COMMITTED: &str = "SYS011";

type Wish = BTreeMap<String, BiosValue>;

/// How the settings of a wish stand.
#[derive(Debug, Default, PartialEq, Eq)]
struct Standing {
    held: Vec<String>,
    waiting: Vec<String>,
    /// Neither hold nor wait, with what they read.
    missed: Vec<String>,
}

impl Standing {
    fn of(settings: &Settings, wish: &Wish) -> Self {
        let (current, pending) = (settings.values(), settings.pending());
        let mut standing = Self::default();
        for (name, value) in wish {
            match (current.get(name), pending.get(name)) {
                (_, Some(wished)) if wished == value => standing.waiting.push(name.clone()),
                (Some(Some(now)), None) if now == value => standing.held.push(name.clone()),
                (now, wished) => {
                    let shown = wished.or(now.and_then(Option::as_ref));
                    let shown = shown.map_or_else(|| "nothing".to_owned(), |value| format!("{:?}", value.to_string()));
                    standing.missed.push(format!("{name} {shown}"));
                }
            }
        }
        standing
    }
}

impl Settings {
    /// Where wishes are written.
    fn place(&self) -> &Resource {
        self.future.as_ref().unwrap_or(&self.current)
    }

    /// When wishes shall be applied, in a BMC's words; none where it does not ask.
    fn apply_time(&self) -> Option<String> {
        let listed = self.current.texts("@Redfish.Settings/SupportedApplyTimes");
        let future = self.future.as_ref();
        let there = |path| future.map(|future| future.texts(path)).unwrap_or_default();
        let listed = match listed.as_slice() {
            [] => there("@Redfish.SettingsApplyTime/ApplyTime@Redfish.AllowableValues"),
            _ => listed,
        };
        ["OnReset", "Immediate"].into_iter().find(|time| listed.iter().any(|known| known == time)).map(str::to_owned)
    }

    fn body(&self, wish: &Wish) -> Value {
        let attributes: Map<String, Value> =
            wish.iter().map(|(name, value)| (name.clone(), values::write(value))).collect();
        let mut body = Map::from_iter([("Attributes".to_owned(), Value::Object(attributes))]);
        if let Some(time) = self.apply_time() {
            body.insert("@Redfish.SettingsApplyTime".to_owned(), json!({"ApplyTime": time}));
        }
        Value::Object(body)
    }

    /// Whether a change of any of these holds only after a reset, as far as is known.
    fn needs_reset(&self, names: &[String]) -> bool {
        let needed = |name: &String| self.entry(name).and_then(|entry| entry.reset_required) != Some(false);
        self.future.is_some() && names.iter().any(needed)
    }

    /// Whether what waits can be seen at all.
    fn shows_wishes(&self) -> bool {
        self.future.as_ref().is_none_or(|future| future.value("Attributes").is_some())
    }
}

impl RedfishBmc {
    pub(in crate::redfish) async fn write_bios(&self, wanted: &Wish) -> Result<ReadBack, BmcError> {
        let settings = self.bios_settings(WRITE).await?;
        let wish = check(wanted, &settings.values(), settings.registry.as_ref());
        let wish = wish.map_err(|problems| self.wrong(WRITE, problems.join("; ")))?;
        let standing = Standing::of(&settings, &wish);
        if standing.missed.is_empty() {
            return self.judge_unwritten(&settings, &standing).await;
        }
        let mut open = wish.clone();
        open.retain(|name, _| !standing.held.contains(name) && !standing.waiting.contains(name));
        let reply = match self.client.patch(settings.place(), &settings.body(&open)).await {
            Ok(reply) => reply,
            Err(error) => return Err(self.explain_bios_refusal(error)),
        };
        let staged = self.settle(WRITE, &reply).await?;
        self.read_bios_back(&settings, &open, staged).await
    }

    async fn read_bios_back(
        &self,
        before: &Settings,
        wish: &Wish,
        staged: Option<String>,
    ) -> Result<ReadBack, BmcError> {
        let names: Vec<&str> = wish.keys().map(String::as_str).collect();
        let wrote = format!("bios settings {}", names.join(", "));
        let read = self.read_back(&wrote, || async {
            let settings = self.bios_values(before).await?;
            let standing = Standing::of(&settings, wish);
            if !standing.missed.is_empty() && staged.is_none() && settings.shows_wishes() {
                return Ok(ReadAgain::Unlike(standing.missed.join(", ")));
            }
            Ok(ReadAgain::Like((settings, standing)))
        });
        let (settings, standing) = read.await?;
        if before.needs_reset(&standing.held) {
            let system = self.system(WRITE).await?;
            self.unproven_bios().note(&standing.held, &system);
        }
        if let Some(why) = staged {
            return Ok(ReadBack::Pending(why));
        }
        if !standing.missed.is_empty() {
            let place = settings.place().uri();
            return Ok(ReadBack::Unverifiable(format!("{place} shows no wishes; they may hold after a reset")));
        }
        if !standing.waiting.is_empty() {
            return Ok(ReadBack::Pending(waits(&standing.waiting)));
        }
        // Some show a wish as if it held at once.
        if before.needs_reset(&standing.held) {
            let names = standing.held.join(", ");
            return Ok(ReadBack::Pending(format!("{names} read as wished already and hold after a reset")));
        }
        Ok(ReadBack::Confirmed)
    }

    /// Nothing had to be written: all hold or wait. What seems to hold may wait all the same, as long as a job does, or
    /// as long as no reset has been seen since it was written.
    async fn judge_unwritten(&self, settings: &Settings, standing: &Standing) -> Result<ReadBack, BmcError> {
        if !standing.waiting.is_empty() {
            return Ok(ReadBack::Pending(waits(&standing.waiting)));
        }
        if settings.needs_reset(&standing.held)
            && let Some(job) = self.unfinished_bios_work().await?
        {
            return Ok(ReadBack::Pending(job));
        }
        let names = self.unproven_bios().among(&standing.held).join(", ");
        if !names.is_empty() {
            let why = format!("{names} read as wished, and no reset of the server was seen since they were written");
            return Ok(ReadBack::Unverifiable(why));
        }
        Ok(ReadBack::Confirmed)
    }

    /// The same resources again; the registry does not change meanwhile.
    async fn bios_values(&self, before: &Settings) -> Result<Settings, BmcError> {
        let current = self.client.read(before.current.uri()).await.map_err(|error| self.explain(WRITE, error))?;
        let future = match &before.future {
            Some(future) => Some(self.client.read(future.uri()).await.map_err(|error| self.explain(WRITE, error))?),
            None => None,
        };
        Ok(Settings { current, future, registry: before.registry.clone() })
    }

    fn explain_bios_refusal(&self, error: RedfishError) -> BmcError {
        if error.fault().is_some_and(|fault| fault.has(COMMITTED)) {
            return BmcError::Busy {
                address: self.address.to_string(),
                act: WRITE.to_owned(),
                why: format!("{error}; earlier settings wait for a reset: reset the server, or take them back"),
            };
        }
        self.explain_write(WRITE, error)
    }

    /// Asks for firmware's defaults at the next boot.
    pub(in crate::redfish) async fn restore_bios(&self) -> Result<ReadBack, BmcError> {
        let bios = self.bios_resource(RESET).await?;
        let Some(action) = bios.action("Bios.ResetBios") else {
            return Err(self.unsupported(RESET, format!("{} has no action Bios.ResetBios", bios.uri())));
        };
        let parameters = match &action.info {
            Some(info) => self.client.find(info).await.map_err(|error| self.explain(RESET, error))?,
            None => None,
        };
        // An empty object at least: some refuse an action without a body.
        let body = parameters.map_or_else(|| json!({}), |info| forced_choices(&info));
        let reply = self.client.act(&action, &body).await.map_err(|error| self.explain_write(RESET, error))?;
        if let Some(why) = self.settle(RESET, &reply).await? {
            return Ok(ReadBack::Pending(why));
        }
        let after = self.bios_resource(RESET).await?;
        match after.value("ResetBiosToDefaultsPending").and_then(Value::as_bool) {
            Some(true) => Ok(ReadBack::Pending("the defaults hold from the next boot on".to_owned())),
            _ => Ok(ReadBack::Unverifiable("the bmc does not show that it will load the defaults".to_owned())),
        }
    }

    /// Takes back what was wished for and does not hold yet.
    pub(in crate::redfish) async fn discard_pending_bios(&self) -> Result<ReadBack, BmcError> {
        let settings = self.bios_settings(DISCARD).await?;
        let pending = settings.pending();
        let Some(future) = settings.future.as_ref().filter(|_| !pending.is_empty()) else {
            return Ok(ReadBack::Confirmed);
        };
        let reply = match future.action("DellManager.ClearPending") {
            Some(clear) => self.client.act(&clear, &json!({})).await,
            // What holds is wished for again.
            None => {
                let current = settings.values();
                let back = pending.keys().filter_map(|name| Some((name.clone(), current.get(name)?.clone()?)));
                self.client.patch(future, &settings.body(&back.collect())).await
            }
        };
        let reply = reply.map_err(|error| self.explain_write(DISCARD, error))?;
        self.settle(DISCARD, &reply).await?;
        let read = self.read_back("bios settings as they hold", || async {
            let left = self.bios_values(&settings).await?.pending();
            let names: Vec<&str> = left.keys().map(String::as_str).collect();
            Ok(if names.is_empty() { ReadAgain::Like(()) } else { ReadAgain::Unlike(names.join(", ")) })
        });
        read.await.map(|()| ReadBack::Confirmed)
    }
}

fn waits(names: &[String]) -> String {
    format!("{} wait for a reset", names.join(", "))
}

/// What must be given and can only be one thing (AMI: `ResetType` with the one value `Reset`).
fn forced_choices(info: &Resource) -> Value {
    let parameters = info.value("Parameters").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let forced = parameters.iter().filter_map(|parameter| {
        let name = parameter.get("Name")?.as_str()?;
        let required = parameter.get("Required").and_then(Value::as_bool).unwrap_or_default();
        match parameter.get("AllowableValues")?.as_array()?.as_slice() {
            [only] if required => Some((name.to_owned(), only.clone())),
            _ => None,
        }
    });
    Value::Object(forced.collect())
}
