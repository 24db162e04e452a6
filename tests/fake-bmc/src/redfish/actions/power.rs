//! Resets of systems and of the controller.

use serde_json::Value;
use tokio::time::Instant;

use super::super::answer::Answer;
use super::super::facts::Action;
use super::super::json::text;
use super::super::service::{Effect, Service};
use crate::host::power::PowerAction;

const PARAMETER: &str = "ResetType";

impl Service {
    pub(super) fn reset(&self, action: &Action, body: &Value) -> Result<Effect, Answer> {
        let wanted = text(body, PARAMETER).ok_or_else(|| Answer::missing_parameter(&action.name, PARAMETER))?;
        let refused = || Answer::parameter_not_in_list(wanted, PARAMETER, &action.name);
        let allowed = self.allowed_resets(action);
        if allowed.is_some_and(|allowed| !allowed.iter().any(|allowed| allowed == wanted)) {
            return Err(refused());
        }
        let power = PowerAction::parse(wanted).ok_or_else(refused)?;
        let of = action.of.clone();
        Ok(Box::new(move |service| {
            let Some(host) = service.host_of(&of) else { return Ok(()) };
            host.power_action(power).map_err(|not_now| {
                let sentence = not_now.to_string();
                Answer::error(409, "ResourceInStandby", &sentence, &[])
            })
        }))
    }

    /// What the model lists, with the action or in its description.
    fn allowed_resets(&self, action: &Action) -> Option<Vec<String>> {
        let owner = self.tree.get(&action.of)?;
        let described = owner.get("Actions")?.get(format!("#{}", action.name))?;
        let words = |list: &Value| list.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect();
        if let Some(list) = described.get(format!("{PARAMETER}@Redfish.AllowableValues")) {
            return words(list);
        }
        let info = self.tree.get(text(described, "@Redfish.ActionInfo")?)?;
        let mut parameters = info.get("Parameters")?.as_array()?.iter();
        words(parameters.find(|parameter| text(parameter, "Name") == Some(PARAMETER))?.get("AllowableValues")?)
    }

    /// The controller goes away for a while and forgets its sessions.
    pub(super) fn restart(&self) {
        self.set_away(Some(Instant::now() + self.behaviour().restart));
        self.sessions().drop_all();
    }
}
