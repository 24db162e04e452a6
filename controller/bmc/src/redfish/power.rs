//! Power over Redfish: one reset action in the words this BMC knows, then reading the state until it is what was asked.

use async_trait::async_trait;
use redfish_client::{Action, RedfishError, Resource};
use serde_json::json;

use super::RedfishBmc;
use crate::power::{ReadsPower, await_power};
use crate::{Address, BmcError, PowerAction, PowerState};

/// What the state is, if it says; a state in between and an unknown one are none.
fn power_of(system: &Resource) -> Option<PowerState> {
    match system.text("PowerState")? {
        "On" => Some(PowerState::On),
        "Off" => Some(PowerState::Off),
        _ => None,
    }
}

/// The words for one act: reset types, in the order in which they are done.
fn plan(action: PowerAction, listed: Option<&[String]>) -> Result<&'static [&'static str], String> {
    let candidates: &[&'static [&'static str]] = match action {
        PowerAction::On => &[&["On"], &["ForceOn"]],
        PowerAction::ForceOff => &[&["ForceOff"]],
        // Never a hard one instead: the difference is somebody's data.
        PowerAction::GracefulOff => &[&["GracefulShutdown"], &["PushPowerButton"]],
        PowerAction::Reset => &[&["ForceRestart"], &["ForceOff", "On"]],
        PowerAction::Cycle => &[&["PowerCycle"], &["ForceOff", "On"]],
    };
    let Some(listed) = listed else { return candidates.first().copied().ok_or_else(String::new) };
    let known = |words: &&'static [&'static str]| words.iter().all(|word| listed.iter().any(|known| known == word));
    candidates.iter().copied().find(known).ok_or_else(|| format!("it knows only {}", listed.join(", ")))
}

#[async_trait]
impl ReadsPower for RedfishBmc {
    fn address(&self) -> &Address {
        &self.address
    }

    async fn power_now(&self, act: &str) -> Result<Option<PowerState>, BmcError> {
        self.system(act).await.map(|system| power_of(&system))
    }
}

impl RedfishBmc {
    pub(super) fn deadline(&self) -> std::time::Duration {
        self.patience.settles_within
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
        let unsupported = |why: String| BmcError::Unsupported { act: format!("bmc {}, {act}", self.address), why };
        let reset = system
            .action("ComputerSystem.Reset")
            .ok_or_else(|| unsupported(format!("{} has no action ComputerSystem.Reset", system.uri())))?;
        let listed = self.reset_types(&act, &reset).await?;
        let words = plan(action, listed.as_deref()).map_err(unsupported)?;
        for word in words {
            let goal = match *word {
                "GracefulShutdown" | "PushPowerButton" => None,
                "ForceOff" => Some(PowerState::Off),
                _ => Some(PowerState::On),
            };
            self.reset(&act, &reset, word, goal).await?;
        }
        Ok(())
    }

    async fn reset(&self, act: &str, reset: &Action, word: &str, goal: Option<PowerState>) -> Result<(), BmcError> {
        match self.client.act(reset, &json!({"ResetType": word})).await {
            Ok(_) => {}
            // What is on already cannot be switched on, says many a BMC (Dell 409, HPE 400).
            Err(error) if is_conflict(&error) && !restarts(word) => {
                let wanted = goal.unwrap_or(PowerState::Off);
                if self.power_now(act).await? == Some(wanted) {
                    return Ok(());
                }
                return Err(self.explain(act, error));
            }
            Err(error) => return Err(self.explain(act, error)),
        }
        let Some(goal) = goal else { return Ok(()) };
        await_power(self, act, goal, self.patience).await
    }

    /// The reset types that the BMC lists, in place or apart; none if it lists nothing.
    async fn reset_types(&self, act: &str, reset: &Action) -> Result<Option<Vec<String>>, BmcError> {
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

fn is_conflict(error: &RedfishError) -> bool {
    error.status().is_some_and(|status| matches!(status.as_u16(), 400 | 409))
}

fn restarts(word: &str) -> bool {
    matches!(word, "ForceRestart" | "PowerCycle")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans() {
        type Case<'a> = (PowerAction, &'a [&'a str], Option<&'a [&'a str]>);
        let all = ["On", "ForceOff", "GracefulShutdown", "ForceRestart", "PushPowerButton", "PowerCycle", "Nmi"];
        let cases: [Case<'_>; 8] = [
            (PowerAction::On, &all, Some(&["On"])),
            (PowerAction::On, &["ForceOn"], Some(&["ForceOn"])),
            (PowerAction::GracefulOff, &["On", "ForceOff", "PushPowerButton"], Some(&["PushPowerButton"])),
            (PowerAction::GracefulOff, &["On", "ForceOff"], None),
            (PowerAction::Reset, &all, Some(&["ForceRestart"])),
            (PowerAction::Reset, &["On", "ForceOff"], Some(&["ForceOff", "On"])),
            (PowerAction::Cycle, &["On", "ForceOff"], Some(&["ForceOff", "On"])),
            (PowerAction::ForceOff, &[], None),
        ];
        for (action, listed, wanted) in cases {
            let listed: Vec<String> = listed.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(plan(action, Some(&listed)).ok(), wanted, "{action} {listed:?}");
        }
        assert_eq!(plan(PowerAction::Cycle, None).unwrap(), ["PowerCycle"]);
        assert!(plan(PowerAction::ForceOff, Some(&["On".to_owned()])).unwrap_err().contains("it knows only On"));
    }
}
