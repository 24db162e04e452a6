//! What a successful answer says about *when* a write takes effect: at once, after a reset, or when the task that it
//! started has done it.

use std::time::Duration;

use redfish_client::{Reference, Reply, TaskState};
use tokio::time::{Instant, sleep};

use super::RedfishBmc;
use crate::BmcError;

/// Words of a task that does nothing until something else happens, which for settings is a reset.
const WAITING: &[&str] = &["New", "Pending", "Scheduled", "Starting", "Suspended"];

/// Keys of messages by which a successful answer says that a reset is needed (DMTF's base registry, HPE, Lenovo).
const NEEDS_RESET: &[&str] = &["ResetRequired", "SystemResetRequired", "RebootRequired", "ServerRebootRequired"];

/// What one look at something that was written shows.
pub(super) enum ReadAgain<T> {
    /// It reads as it should.
    Like(T),
    /// It reads otherwise, namely so.
    Unlike(String),
}

/// Whether a task in this state waits for something outside of it.
pub(super) fn is_waiting(state: &str) -> bool {
    WAITING.contains(&state)
}

impl RedfishBmc {
    /// Reads until what was written reads as it should: BMCs show writes late.
    ///
    /// # Errors
    /// [`BmcError::Contradicted`] when it still reads otherwise at the deadline, and every error of `look` that is not
    /// gone by then.
    pub(super) async fn read_back<T, F>(&self, wrote: &str, look: impl Fn() -> F) -> Result<T, BmcError>
    where
        F: Future<Output = Result<ReadAgain<T>, BmcError>>,
    {
        let end = Instant::now() + self.deadline();
        let pause = self.beat();
        loop {
            let failure = match look().await {
                Ok(ReadAgain::Like(read)) => return Ok(read),
                Ok(ReadAgain::Unlike(read)) => {
                    BmcError::Contradicted { address: self.address.to_string(), wrote: wrote.to_owned(), read }
                }
                Err(error) if error.is_transient() => error,
                Err(error) => return Err(error),
            };
            if Instant::now() + pause > end {
                return Err(failure);
            }
            sleep(pause).await;
        }
    }

    /// Between two looks.
    pub(super) fn beat(&self) -> Duration {
        (self.deadline() / 20).clamp(Duration::from_millis(20), Duration::from_secs(1))
    }

    /// Waits until the work that `reply` started has ended or waits itself. The answer is why the write does not hold
    /// yet; none when it is done.
    pub(super) async fn settle(&self, act: &str, reply: &Reply) -> Result<Option<String>, BmcError> {
        if let Some(task) = &reply.task {
            return self.settle_task(act, task).await;
        }
        let remarks = reply.remarks();
        let asked = NEEDS_RESET.iter().any(|key| remarks.has(key));
        Ok(asked.then(|| "the bmc says that it holds after a reset".to_owned()))
    }

    async fn settle_task(&self, act: &str, task: &Reference) -> Result<Option<String>, BmcError> {
        let pause = self.beat();
        let end = Instant::now() + self.deadline();
        let mut waited = false;
        loop {
            let why = match self.client.task(task).await {
                Ok(TaskState::Done) => return Ok(None),
                Ok(TaskState::Failed { state, fault }) => {
                    return Err(BmcError::Protocol {
                        address: self.address.to_string(),
                        act: act.to_owned(),
                        why: format!("task {task} ended {state}: {fault}"),
                    });
                }
                Ok(TaskState::Running { state, .. }) => {
                    let why = format!("task {task} is {state}");
                    // A task that is refused fails right after it began to wait.
                    if is_waiting(&state) && std::mem::replace(&mut waited, true) {
                        return Ok(Some(why));
                    }
                    why
                }
                Ok(TaskState::Away { why }) => why,
                Err(error) if error.is_not_found() => format!("task {task} is not to be seen"),
                Err(error) => return Err(self.explain(act, error)),
            };
            if Instant::now() + pause > end {
                return Ok(Some(why));
            }
            sleep(pause).await;
        }
    }
}
