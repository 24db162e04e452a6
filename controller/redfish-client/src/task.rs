//! Work that goes on after the answer (DSP0266 12): which task an answer started, and how a task stands. Pure; the
//! following is in `follow`.

use http::StatusCode;
use serde_json::Value;

use crate::resource::{look, text};
use crate::{Fault, Reference, Resource};

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Not at its end. The service's word for it, and per cent done where told.
    Running {
        /// `TaskState` or `JobState`; `running` where the monitor only answers 202.
        state: String,
        /// `PercentComplete`, at most 100.
        percent: Option<u64>,
    },
    /// The service does not answer, as while it restarts with new firmware.
    Away {
        /// What the network or the service says.
        why: String,
    },
    /// It ended well, perhaps with warnings.
    Done,
    /// It ended otherwise.
    Failed {
        /// `TaskState` and `TaskStatus`.
        state: String,
        /// Its messages.
        fault: Fault,
    },
}

impl TaskState {
    /// What `task`, a `Task` or a `Job`, says of itself.
    #[must_use]
    pub fn of(task: &Resource) -> Self {
        state(StatusCode::OK, Some(task.body()))
    }
}

/// How following a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// There was no task: the answer itself was the end.
    Immediate,
    /// It ended well.
    Done,
    /// It was seen running and then was gone: some services delete a task within seconds of its end (Dell), others
    /// forget it when they restart. Whoever asked must look at the outcome itself.
    Vanished,
}

/// What a successful answer of a task, a job or a monitor says.
pub(crate) fn state(status: StatusCode, body: Option<&Value>) -> TaskState {
    let Some(task) = body.filter(|body| is_task(body)) else {
        // A monitor answers 202 until the end, then with the answer of the operation itself.
        return if status == StatusCode::ACCEPTED {
            TaskState::Running { state: "running".to_owned(), percent: None }
        } else {
            TaskState::Done
        };
    };
    let either = |names: [&str; 2]| names.into_iter().find_map(|name| text(task, name)).unwrap_or_default();
    let (state, health) = (either(["TaskState", "JobState"]), either(["TaskStatus", "JobStatus"]));
    let failed = || {
        let fault = look(task, "Messages").map(messages).unwrap_or_default();
        TaskState::Failed { state: [state, health].join(" ").trim().to_owned(), fault }
    };
    match state {
        // Both fields count: services write `Completed` with a critical status, and `Exception` with a good one.
        "Completed" | "RebootCompleted" if health == "Critical" => failed(),
        "Completed" | "RebootCompleted" => TaskState::Done,
        "Exception" | "Killed" | "Cancelled" | "Failed" | "CompletedWithErrors" | "RebootFailed" | "Invalid" => {
            failed()
        }
        "" if health == "Critical" => failed(),
        // `Interrupted` is expected to go on, says the schema.
        state => TaskState::Running {
            state: if state.is_empty() { "running".to_owned() } else { state.to_owned() },
            percent: look(task, "PercentComplete").and_then(percent),
        },
    }
}

fn is_task(body: &Value) -> bool {
    ["TaskState", "TaskStatus", "JobState"].into_iter().any(|name| look(body, name).is_some())
}

/// A share, as an integer by the schema, as a fraction or as text by some services.
fn percent(value: &Value) -> Option<u64> {
    let written = value.as_f64().or_else(|| value.as_str()?.trim_end_matches([' ', '%']).parse().ok())?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 to 100 by the clamp")]
    written.is_finite().then(|| written.clamp(0.0, 100.0) as u64)
}

fn messages(list: &Value) -> Fault {
    Fault::of(&serde_json::json!({ "@Message.ExtendedInfo": list }))
}

/// The task that a successful answer started, if the work goes on.
///
/// A task in the body is believed before `Location`, which is its monitor: a monitor's last answer may be an empty
/// success whatever became of the task (OpenBMC). Some services start tasks with 200 or 201 and only the `Location` tells.
pub(crate) fn started(status: StatusCode, location: Option<&Reference>, body: Option<&Value>) -> Option<Reference> {
    let named = |name: &str| text(body?, name).and_then(Reference::parse);
    if body.is_some_and(is_task)
        && let Some(task) = named("@odata.id")
    {
        return Some(task);
    }
    let leads_to_work = location.filter(|at| status == StatusCode::ACCEPTED || is_place_of_work(at));
    let last = || (status == StatusCode::ACCEPTED).then(|| named("TaskMonitor").or_else(|| named("@odata.id")))?;
    leads_to_work.cloned().or_else(last)
}

fn is_place_of_work(at: &Reference) -> bool {
    let within = at.parent();
    within.is_some_and(|within| matches!(within.id(), "Tasks" | "Jobs" | "TaskMonitors" | "TaskMonitor" | "taskmon"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn running(state: &str, percent: Option<u64>) -> TaskState {
        TaskState::Running { state: state.to_owned(), percent }
    }

    #[test]
    fn states() {
        let failed = |state: &str| TaskState::Failed { state: state.to_owned(), fault: Fault::default() };
        let cases = [
            (202, None, running("running", None)),
            (204, None, TaskState::Done),
            (200, Some(json!({"Id": "the operation's own answer"})), TaskState::Done),
            (200, Some(json!({"TaskState": "New"})), running("New", None)),
            (202, Some(json!({"TaskState": "Running", "PercentComplete": 40})), running("Running", Some(40))),
            (202, Some(json!({"TaskState": "Running", "PercentComplete": "40 %"})), running("Running", Some(40))),
            (202, Some(json!({"TaskState": "Running", "PercentComplete": 1e9})), running("Running", Some(100))),
            (202, Some(json!({"TaskState": "Running", "PercentComplete": null})), running("Running", None)),
            (200, Some(json!({"TaskState": "Interrupted", "TaskStatus": "OK"})), running("Interrupted", None)),
            (202, Some(json!({"TaskState": "Completed", "TaskStatus": "OK"})), TaskState::Done),
            (200, Some(json!({"TaskState": "Completed", "TaskStatus": "Warning"})), TaskState::Done),
            (200, Some(json!({"TaskState": "Completed", "TaskStatus": "Critical"})), failed("Completed Critical")),
            (200, Some(json!({"TaskState": "Exception", "TaskStatus": "OK"})), failed("Exception OK")),
            (200, Some(json!({"TaskStatus": "OK"})), running("running", None)),
            (200, Some(json!({"TaskStatus": "Critical"})), failed("Critical")),
            (200, Some(json!({"JobState": "Scheduled", "PercentComplete": 0})), running("Scheduled", Some(0))),
            (200, Some(json!({"JobState": "Completed", "JobStatus": "OK"})), TaskState::Done),
            (
                200,
                Some(json!({"JobState": "CompletedWithErrors", "JobStatus": "OK"})),
                failed("CompletedWithErrors OK"),
            ),
            (200, Some(json!({"JobState": "RebootFailed"})), failed("RebootFailed")),
        ];
        for (status, body, wanted) in cases {
            assert_eq!(state(StatusCode::from_u16(status).unwrap(), body.as_ref()), wanted, "{status} {body:?}");
        }
    }

    #[test]
    fn the_task_of_an_answer() {
        let at = |path| Reference::parse(path);
        let task = at("/redfish/v1/TaskService/Tasks/7");
        let monitor = at("/redfish/v1/TaskService/TaskMonitors/7");
        let job = at("/redfish/v1/Managers/iDRAC.Embedded.1/Jobs/JID_7");
        let body = json!({"@odata.id": "/redfish/v1/TaskService/Tasks/7/", "TaskState": "New"});
        let pointer = json!({"@odata.id": "/redfish/v1/TaskService/Tasks/7/"});
        let plain = json!({"@odata.id": "/redfish/v1/Systems/1"});
        let cases = [
            (202, &monitor, None, &monitor),
            (202, &monitor, Some(&body), &task),
            (200, &None, Some(&body), &task),
            (202, &None, Some(&pointer), &task),
            (202, &None, None, &None),
            (201, &task, None, &task),
            (200, &job, None, &job),
            (201, &at("/redfish/v1/EventService/Subscriptions/3"), None, &None),
            (200, &None, Some(&plain), &None),
        ];
        for (status, location, body, wanted) in cases {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(&started(status, location.as_ref(), body), wanted, "{status} {location:?} {body:?}");
        }
    }
}
