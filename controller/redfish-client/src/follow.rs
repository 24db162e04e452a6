//! Following a task to its end, through all that services do to their tasks meanwhile: they do not know it yet, answer
//! 202 without a word, restart, and forget it.

use std::time::Duration;

use http::Method;
use tokio::time::{Instant, sleep_until};

use crate::task::{self, TaskEnd, TaskState};
use crate::wire::Request;
use crate::{Client, RedfishError, Reference, Reply};

/// Between two looks at a task, where the service does not say.
const PERIOD: Duration = Duration::from_secs(2);

/// The least between two looks, also where the service asks for none at all (`Retry-After: 0`).
const LEAST: Duration = Duration::from_millis(200);

/// How long a task is followed, and what is put up with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Follow {
    /// How long at most, all in all.
    pub patience: Duration,
    /// How long a task that was just made may be unknown to the service that made it (Dell).
    pub birth: Duration,
    /// How long the service may be away at a stretch, as while it restarts with new firmware.
    pub outage: Duration,
    /// Where the same work is looked for once the task is gone, such as a queue of jobs.
    pub elsewhere: Vec<Reference>,
}

impl Follow {
    /// At most for `patience`, with a short birth and an outage as long as a BMC's restart.
    #[must_use]
    pub fn within(patience: Duration) -> Self {
        Self { patience, birth: Duration::from_secs(10), outage: Duration::from_secs(600), elsewhere: Vec::new() }
    }
}

impl Client {
    /// Follows the task of `reply` to its end, at most for `patience`; `progress` is told each state seen.
    ///
    /// # Errors
    /// As [`Client::follow_task`].
    pub async fn follow(
        &self,
        reply: &Reply,
        patience: Duration,
        progress: impl FnMut(&TaskState),
    ) -> Result<TaskEnd, RedfishError> {
        match &reply.task {
            Some(task) => self.follow_task(task, &Follow::within(patience), progress).await,
            None => Ok(TaskEnd::Immediate),
        }
    }

    /// Follows the task at `task` to its end; `progress` is told each state seen.
    ///
    /// # Errors
    /// [`RedfishError::Task`] when it ends badly, [`RedfishError::TaskUnfinished`] when it does not end in time, and
    /// every other error of reading it; those that a restart brings only after `how.outage`.
    pub async fn follow_task(
        &self,
        task: &Reference,
        how: &Follow,
        mut progress: impl FnMut(&TaskState),
    ) -> Result<TaskEnd, RedfishError> {
        let start = Instant::now();
        let end = start + how.patience;
        let mut task = task.clone();
        let mut elsewhere = how.elsewhere.iter();
        let mut last: Option<String> = None;
        let mut away_since: Option<Instant> = None;
        loop {
            let mut wait = PERIOD.min(self.options().longest_pause);
            match self.look_at_task(&task, end).await {
                Ok((state, asked)) => {
                    away_since = None;
                    wait = asked.unwrap_or(wait).max(LEAST).min(self.options().longest_pause);
                    progress(&state);
                    match state {
                        TaskState::Done => return Ok(TaskEnd::Done),
                        TaskState::Failed { state, fault } => {
                            return Err(RedfishError::Task { task: task.to_string(), state, fault });
                        }
                        TaskState::Running { state, .. } => last = Some(state),
                        TaskState::Away { .. } => {}
                    }
                }
                // A task that ran, or that was made before a restart, is over when it is gone.
                Err(error) if error.is_not_found() && last.is_some() => {
                    let Some(next) = elsewhere.next() else { return Ok(TaskEnd::Vanished) };
                    task = next.clone();
                    continue;
                }
                Err(error) if error.is_not_found() => {
                    if start.elapsed() >= how.birth {
                        return Err(error);
                    }
                }
                Err(error) if error.is_transient() => {
                    let since = *away_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= how.outage {
                        return Err(error);
                    }
                    last.get_or_insert_with(|| "out of sight".to_owned());
                    progress(&TaskState::Away { why: error.to_string() });
                }
                Err(error) => return Err(error),
            }
            let next = Instant::now() + wait;
            if next > end {
                let state = last.unwrap_or_else(|| "unknown".to_owned());
                return Err(RedfishError::TaskUnfinished { task: task.to_string(), state, after: how.patience });
            }
            sleep_until(next).await;
        }
    }

    /// How the task at `task` stands now: one look.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn task(&self, task: &Reference) -> Result<TaskState, RedfishError> {
        let until = Instant::now() + self.options().deadline;
        self.look_at_task(task, until).await.map(|(state, _)| state)
    }

    /// How the task stands, and how long the service asks not to be asked again.
    async fn look_at_task(
        &self,
        task: &Reference,
        end: Instant,
    ) -> Result<(TaskState, Option<Duration>), RedfishError> {
        let request = Request { method: &Method::GET, to: task, body: None, if_match: None };
        let until = end.min(Instant::now() + self.options().deadline);
        let answer = self.send_until(until, request, |answer, url| answer.json(&Method::GET, url).map(|_| ())).await?;
        let body = answer.json(&Method::GET, &self.wire().url(task))?;
        Ok((task::state(answer.status, body.as_ref()), answer.retry_after()))
    }
}
