//! Power over Redfish: one reset action in the words this BMC knows, then reading the state until it is what was asked,
//! and asking again where the first time came too early.

mod ask;
mod plan;

use std::time::Duration;

use async_trait::async_trait;
use redfish_client::{Action, Resource};
use tokio::time::{Instant, sleep};

use super::RedfishBmc;
use super::quirks::Subject;
use crate::power::ReadsPower;
use crate::{Address, BmcError, PowerAction, PowerState};
use plan::{goal, is_repeatable};

pub(crate) use plan::{plan, power_of};

/// The first and the longest pause between two reads of the state.
const POLL_FIRST: Duration = Duration::from_millis(200);
const POLL_MAX: Duration = Duration::from_secs(2);

#[async_trait]
impl ReadsPower for RedfishBmc {
    fn address(&self) -> &Address {
        &self.address
    }

    async fn power_now(&self, act: &str) -> Result<Option<PowerState>, BmcError> {
        self.system(act).await.map(|system| power_of(&system))
    }
}

/// Why a way was not gone to its end.
enum Stop {
    /// The BMC does not know its first word; nothing was done.
    NotKnown(BmcError),
    Failed(BmcError),
}

impl From<BmcError> for Stop {
    fn from(error: BmcError) -> Self {
        Self::Failed(error)
    }
}

impl RedfishBmc {
    pub(super) fn deadline(&self) -> Duration {
        self.patience.settles_within
    }

    /// Between off and on, and before what seems to have been overlooked is asked for again: ten seconds of the thirty
    /// that an act has.
    pub(super) fn rest(&self) -> Duration {
        self.deadline() / 3
    }

    /// The state, once it is not one in between.
    pub(super) async fn settled_power(&self) -> Result<PowerState, BmcError> {
        const ACT: &str = "reading the power state";
        let system = self.system(ACT).await?;
        power_of(&system).ok_or_else(|| BmcError::Busy {
            address: self.address.to_string(),
            act: ACT.to_owned(),
            why: format!("it says {}", system.text("PowerState").unwrap_or("nothing")),
        })
    }

    pub(super) async fn act_on_power(&self, action: PowerAction) -> Result<(), BmcError> {
        let act = action.to_string();
        let system = self.system(&act).await?;
        if action == PowerAction::GracefulOff && power_of(&system) == Some(PowerState::Off) {
            return Ok(());
        }
        let unsupported = |why: String| BmcError::Unsupported { act: format!("bmc {}, {act}", self.address), why };
        let reset = system
            .action("ComputerSystem.Reset")
            .ok_or_else(|| unsupported(format!("{} has no action ComputerSystem.Reset", system.uri())))?;
        let listed = self.reset_types(&act, &reset).await?;
        let ways = plan(action, listed.as_deref(), &Subject::of(&system)).map_err(unsupported)?;
        let mut refused = None;
        for way in ways {
            // Off and on would switch on a server that is off, which nobody asked for.
            if way.len() > 1 && self.power_now(&act).await? == Some(PowerState::Off) {
                return Err(self.wrong(&act, "the server is off; ask for power on instead".to_owned()));
            }
            match self.go(&act, &reset, way, power_of(&system)).await {
                Ok(()) => return Ok(()),
                Err(Stop::NotKnown(error)) => refused = Some(error),
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        let why = refused.map_or_else(|| "no reset type fits".to_owned(), |error| error.to_string());
        Err(unsupported(why))
    }

    async fn go(&self, act: &str, reset: &Action, way: plan::Way, before: Option<PowerState>) -> Result<(), Stop> {
        for (at, word) in way.iter().enumerate() {
            if at > 0 {
                sleep(self.rest()).await;
            }
            match self.reset(act, reset, word, before.filter(|_| at == 0)).await {
                // Half a way is a failure, not another way to begin.
                Err(Stop::NotKnown(error)) if at > 0 => return Err(Stop::Failed(error)),
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Asks for `word` until the BMC takes it, then reads until the state is what it leads to, and decides again at each
    /// reading: what was taken and forgotten is asked for once more, where that can do no harm.
    async fn reset(&self, act: &str, reset: &Action, word: &str, before: Option<PowerState>) -> Result<(), Stop> {
        let (goal, settled) = (goal(word), Instant::now() + self.deadline());
        let mut end = settled;
        // Who was on before may be on the way down: that it is on counts when it stays so.
        let holds_for = if word.ends_with("On") && before == goal { self.rest() / 5 } else { Duration::ZERO };
        let (mut asked, mut taken, mut there_since) = (None::<Instant>, false, None::<Instant>);
        let mut pause = POLL_FIRST.min(self.rest());
        loop {
            let mut problem = None;
            let again = is_repeatable(word) && asked.is_some_and(|asked| asked.elapsed() >= self.rest());
            if there_since.is_none() && (!taken || again) {
                asked = Some(Instant::now());
                problem = self.ask(act, reset, word, settled).await?;
                taken |= problem.is_none();
                if taken && goal.is_none() {
                    return Ok(());
                }
                // Its task may have used up the time in which the state is to show.
                if taken && Instant::now() >= settled {
                    end = settled + self.rest();
                }
            }
            let state = match self.power_now(act).await {
                Err(error) if error.is_transient() => {
                    problem = Some(error);
                    None
                }
                state => state?,
            };
            // What is off needs no shutdown.
            if goal.is_none() && state == Some(PowerState::Off) {
                return Ok(());
            }
            if goal.is_some() && state == goal && (taken || is_repeatable(word)) {
                if there_since.get_or_insert_with(Instant::now).elapsed() >= holds_for {
                    return Ok(());
                }
            } else {
                there_since = None;
            }
            let is_vain = !taken && !is_repeatable(word) && state == Some(PowerState::Off);
            let left = end.saturating_duration_since(Instant::now());
            if is_vain || left.is_zero() {
                return Err(Stop::Failed(problem.unwrap_or_else(|| self.not_applied(act, state))));
            }
            sleep(left.min(if there_since.is_some() { holds_for } else { pause })).await;
            pause = POLL_MAX.min(pause * 2);
        }
    }

    fn not_applied(&self, act: &str, state: Option<PowerState>) -> BmcError {
        self.unsettled(act, state.map_or_else(|| "a state in between".to_owned(), |state| state.to_string()))
    }

    fn unsettled(&self, act: &str, read: String) -> BmcError {
        BmcError::NotApplied {
            address: self.address.to_string(),
            wrote: act.to_owned(),
            read,
            deadline: self.deadline(),
        }
    }

    /// The reset types that the BMC lists, in place or apart; none if it lists nothing.
    pub(crate) async fn reset_types(&self, act: &str, reset: &Action) -> Result<Option<Vec<String>>, BmcError> {
        if let Some(listed) = reset.values("ResetType") {
            return Ok(Some(listed.to_vec()));
        }
        let Some(info) = &reset.info else { return Ok(None) };
        let info = self.client.find(info).await.map_err(|error| self.explain(act, error))?;
        Ok(info.and_then(|info| parameter_values(&info, "ResetType")))
    }
}

/// The values of one parameter in an `ActionInfo`.
fn parameter_values(info: &Resource, name: &str) -> Option<Vec<String>> {
    let parameters = info.value("Parameters")?.as_array()?;
    let found = parameters.iter().find(|parameter| parameter.get("Name").and_then(|n| n.as_str()) == Some(name))?;
    let values = found.get("AllowableValues")?.as_array()?;
    Some(values.iter().filter_map(|value| value.as_str()).map(str::to_owned).collect())
}
