//! Asking for one reset type, once: by a call that is not made again where that could do it twice, and to the end of
//! the task that the answer names. Whether and how often to ask is the loop's business.

use redfish_client::{Action, RedfishError, Reference, TaskState};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::plan::{BUTTON, Refusal, goal, is_repeatable, refusal};
use super::{RedfishBmc, Stop};
use crate::power::ReadsPower as _;
use crate::{BmcError, PowerState};

impl RedfishBmc {
    /// Asks for `word`. The answer is the problem that waiting may solve; none once the BMC has taken it.
    pub(super) async fn ask(
        &self,
        act: &str,
        reset: &Action,
        word: &str,
        end: Instant,
    ) -> Result<Option<BmcError>, Stop> {
        if word == BUTTON {
            // The button switches on what is off: it is pressed on a server that is surely on.
            match self.power_now(act).await {
                Ok(Some(PowerState::On)) => {}
                Ok(Some(PowerState::Off)) => return Ok(None),
                Ok(None) => return Ok(Some(self.unknown_power(act))),
                Err(error) if error.is_transient() => return Ok(Some(error)),
                Err(error) => return Err(error.into()),
            }
        }
        let body = json!({ "ResetType": word });
        let answer = match is_repeatable(word) {
            true => self.client.act(reset, &body).await,
            false => self.client.act_once(reset, &body).await,
        };
        match answer {
            Ok(reply) => match &reply.task {
                Some(task) => self.follow_reset(act, word, task, end).await,
                None => Ok(None),
            },
            Err(error) => self.refused(act, word, error).map(Some),
        }
    }

    /// Follows the task of a reset to its end: BMCs accept resets that then fail (AMI's: `power state of chassis did not
    /// change`), and after a restart the power state tells nothing.
    async fn follow_reset(
        &self,
        act: &str,
        word: &str,
        task: &Reference,
        end: Instant,
    ) -> Result<Option<BmcError>, Stop> {
        let goal = goal(word);
        let pause = self.beat();
        // An operating system takes its time to shut down, and may not: there the task need not end.
        let end = if goal.is_some() { end } else { end.min(Instant::now() + self.rest()) };
        let appears = end.min(Instant::now() + self.rest());
        let mut seen = false;
        loop {
            let read = match self.client.task(task).await {
                Ok(TaskState::Done) => return Ok(None),
                Ok(TaskState::Failed { state, fault }) => {
                    let failed = BmcError::Protocol {
                        address: self.address.to_string(),
                        act: act.to_owned(),
                        why: format!("task {task} ended {state}: {fault}"),
                    };
                    // What is there already may be called a failure.
                    return if goal.is_some() && is_repeatable(word) { Ok(Some(failed)) } else { Err(failed.into()) };
                }
                Ok(TaskState::Running { state, .. }) => {
                    seen = true;
                    format!("task {task} {state}")
                }
                Ok(TaskState::Away { why }) => why,
                // Ended and forgotten, or never to be seen: the power state is all there is.
                Err(error) if error.is_not_found() && (seen || Instant::now() + pause > appears) => return Ok(None),
                Err(error) if error.is_not_found() => format!("task {task} not there"),
                Err(error) => match self.explain(act, error) {
                    error if error.is_transient() => error.to_string(),
                    error => return Err(error.into()),
                },
            };
            if Instant::now() + pause > end {
                return match goal {
                    Some(_) => Err(self.unsettled(act, read).into()),
                    None => Ok(None),
                };
            }
            sleep(pause).await;
        }
    }

    /// The problem that waiting may solve; any other ends the way.
    fn refused(&self, act: &str, word: &str, error: RedfishError) -> Result<BmcError, Stop> {
        // A front end may say so after what is behind it has acted.
        let may_have_acted = error.status().is_some_and(|status| status.is_server_error() || status.as_u16() == 429);
        match refusal(&error) {
            Refusal::NotKnown => Err(Stop::NotKnown(self.explain(act, error))),
            Refusal::NotNow if is_repeatable(word) || !may_have_acted => Ok(self.explain(act, error)),
            Refusal::NotNow | Refusal::Other => Err(Stop::Failed(self.explain(act, error))),
        }
    }

    fn unknown_power(&self, act: &str) -> BmcError {
        BmcError::Busy {
            address: self.address.to_string(),
            act: act.to_owned(),
            why: "it does not say whether the server is on, and the power button would switch on one that is off"
                .to_owned(),
        }
    }
}
