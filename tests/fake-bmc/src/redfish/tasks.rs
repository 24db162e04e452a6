//! Tasks and their monitors. An effect that takes its time runs when the task ends; progress is what the clock says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::{Answer, Body};
use super::behaviour::Location;
use super::json::set;
use super::service::{Effect, Service};

/// Ended tasks beyond this are forgotten, the oldest first.
const LIMIT: usize = 64;

#[derive(Debug, Clone)]
enum State {
    Running,
    /// Since when, and what went wrong.
    Ended(Instant, Option<String>),
}

#[derive(Debug, Clone)]
struct Task {
    name: String,
    started: Instant,
    time: Duration,
    state: State,
}

/// The tasks of one host by number.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    tasks: BTreeMap<u64, Task>,
    last: u64,
}

impl Tasks {
    fn forget(&mut self, keep: Option<Duration>) {
        let over =
            |task: &Task| matches!(&task.state, State::Ended(at, _) if keep.is_some_and(|keep| at.elapsed() >= keep));
        self.tasks.retain(|_, task| !over(task));
        while self.tasks.len() > LIMIT {
            self.tasks.pop_first();
        }
    }
}

impl Service {
    /// Begins a task that ends with `effect`, and answers 202.
    pub(super) fn begin_task(self: &Arc<Self>, name: &str, time: Duration, effect: Effect) -> Answer {
        let id = {
            let mut tasks = self.tasks();
            tasks.last += 1;
            let id = tasks.last;
            let task = Task { name: name.to_owned(), started: Instant::now(), time, state: State::Running };
            tasks.tasks.insert(id, task);
            id
        };
        let service = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            let Some(service) = service.upgrade() else { return };
            let failure = effect(&service).err().map(|answer| match answer.body {
                Body::Json(body) => said(&body),
                _ => format!("status {}", answer.status),
            });
            let severity = if failure.is_some() { "Critical" } else { "OK" };
            service.host.note(severity, format!("task {id} ended"));
            if let Some(task) = service.tasks().tasks.get_mut(&id) {
                task.state = State::Ended(Instant::now(), failure);
            }
        });
        let behaviour = self.behaviour();
        let answer = Answer::new(202, Body::Json(self.task_body(id).unwrap_or_default()));
        match behaviour.location {
            Location::Monitor => answer.with("Location", self.location(&self.monitor_path(id))),
            Location::Task => answer.with("Location", self.location(&self.task_path(id))),
            Location::Missing => answer,
        }
    }

    fn task_path(&self, id: u64) -> String {
        format!("{}/{id}", self.tree.facts.tasks)
    }

    fn monitor_path(&self, id: u64) -> String {
        let service = self.tree.facts.tasks.trim_end_matches("/Tasks");
        format!("{service}/TaskMonitors/{id}")
    }

    /// The paths of the tasks that can be read.
    pub(super) fn task_paths(&self) -> Vec<String> {
        let keep = self.behaviour().task_keep;
        let mut tasks = self.tasks();
        tasks.forget(keep);
        tasks.tasks.keys().map(|id| self.task_path(*id)).collect()
    }

    /// A task by its path.
    pub(super) fn task(&self, path: &str) -> Option<Value> {
        let id = path.strip_prefix(self.tree.facts.tasks.as_str())?.strip_prefix('/')?.parse().ok()?;
        self.task_body(id)
    }

    /// A monitor by its path: 202 while the task runs, then its result.
    pub(super) fn monitor(&self, path: &str) -> Option<Answer> {
        let id: u64 = path.rsplit_once("/TaskMonitors/")?.1.parse().ok()?;
        let body = self.task_body(id)?;
        let task = self.tasks().tasks.get(&id)?.clone();
        Some(match task.state {
            State::Running => {
                Answer::new(202, Body::Json(body)).with("Location", self.location(&self.monitor_path(id)))
            }
            State::Ended(_, None) => Answer::ok(body),
            State::Ended(_, Some(failure)) => Answer::error(500, "InternalError", &failure, &[]),
        })
    }

    fn task_body(&self, id: u64) -> Option<Value> {
        let keep = self.behaviour().task_keep;
        let task = {
            let mut tasks = self.tasks();
            tasks.forget(keep);
            tasks.tasks.get(&id)?.clone()
        };
        let running = task.started.elapsed().as_secs_f64() / task.time.as_secs_f64().max(f64::MIN_POSITIVE);
        let (state, status, percent, sentence) = match &task.state {
            State::Running => ("Running", "OK", (running * 100.0).clamp(0.0, 99.0).round(), "the task runs".to_owned()),
            State::Ended(_, None) => ("Completed", "OK", 100.0, "the task is done".to_owned()),
            State::Ended(_, Some(failure)) => ("Exception", "Critical", 100.0, failure.clone()),
        };
        let mut body = json!({
            "@odata.id": self.task_path(id),
            "@odata.type": "#Task.v1_7_3.Task",
            "Id": id.to_string(),
            "Name": task.name,
            "TaskState": state,
            "TaskStatus": status,
            // from 0 to 100
            "PercentComplete": percent as i64,
            "Messages": [{ "MessageId": "TaskEvent.1.0.TaskProgressChanged", "Message": sentence }],
        });
        if matches!(task.state, State::Running) {
            set(&mut body, "TaskMonitor", self.monitor_path(id));
        }
        Some(body)
    }

    /// Ends a task's record; a running one goes on.
    pub(super) fn delete_task(&self, path: &str) -> Answer {
        let id: Option<u64> = path.rsplit('/').next().and_then(|id| id.parse().ok());
        match id.and_then(|id| self.tasks().tasks.remove(&id)) {
            Some(_) => Answer::no_content(),
            None => Answer::not_found(path),
        }
    }
}

/// The sentence of an error.
fn said(error: &Value) -> String {
    let sentence = error.pointer("/error/message").and_then(Value::as_str);
    sentence.unwrap_or("refused").to_owned()
}
