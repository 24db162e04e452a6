//! Work that goes on after the answer (DSP0266 12): reading a task's state out of whatever the monitor says.

use http::StatusCode;
use serde_json::Value;

use crate::resource::{look, text};
use crate::{Fault, Reference};

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Not at its end. The service's word for it, and per cent done where told.
    Running {
        /// `TaskState`, or `running` where the monitor only answers 202.
        state: String,
        /// `PercentComplete`.
        percent: Option<u64>,
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

/// How following a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// There was no task: the answer itself was the end.
    Immediate,
    /// It ended well.
    Done,
    /// It was seen running and then was gone: some services delete a task within seconds of its end (Dell). Whoever
    /// asked must look at the outcome itself.
    Vanished,
}

/// What a successful answer of a task or its monitor says.
pub(crate) fn state(status: StatusCode, body: Option<&Value>) -> TaskState {
    let task = body.filter(|body| look(body, "TaskState").is_some() || look(body, "TaskStatus").is_some());
    let Some(task) = task else {
        // A monitor answers 202 until the end, then with the answer of the operation itself.
        return if status == StatusCode::ACCEPTED {
            TaskState::Running { state: "running".to_owned(), percent: None }
        } else {
            TaskState::Done
        };
    };
    let (state, health) = (text(task, "TaskState").unwrap_or_default(), text(task, "TaskStatus").unwrap_or_default());
    let failed = || {
        let fault = look(task, "Messages").map(messages).unwrap_or_default();
        TaskState::Failed { state: [state, health].join(" ").trim().to_owned(), fault }
    };
    match state {
        // Both fields count: services write `Completed` with a critical status, and `Exception` with a good one.
        "Completed" if health == "Critical" => failed(),
        "Completed" => TaskState::Done,
        "Exception" | "Killed" | "Cancelled" | "Interrupted" => failed(),
        "" if health == "Critical" => failed(),
        state => TaskState::Running {
            state: if state.is_empty() { "running".to_owned() } else { state.to_owned() },
            percent: look(task, "PercentComplete").and_then(Value::as_u64),
        },
    }
}

fn messages(list: &Value) -> Fault {
    Fault::of(&serde_json::json!({ "@Message.ExtendedInfo": list }))
}

/// The task that an answer points to, if the work goes on: a `Location`, or the task itself in the body.
pub(crate) fn monitor(status: StatusCode, location: Option<Reference>, body: Option<&Value>) -> Option<Reference> {
    if status != StatusCode::ACCEPTED {
        return None;
    }
    location.or_else(|| {
        let body = body?;
        let written = text(body, "TaskMonitor").and_then(Reference::parse);
        written.or_else(|| Reference::parse(text(body, "@odata.id")?))
    })
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
            (202, Some(json!({"TaskState": "Completed", "TaskStatus": "OK"})), TaskState::Done),
            (200, Some(json!({"TaskState": "Completed", "TaskStatus": "Warning"})), TaskState::Done),
            (200, Some(json!({"TaskState": "Completed", "TaskStatus": "Critical"})), failed("Completed Critical")),
            (200, Some(json!({"TaskState": "Exception", "TaskStatus": "OK"})), failed("Exception OK")),
            (200, Some(json!({"TaskStatus": "OK"})), running("running", None)),
        ];
        for (status, body, wanted) in cases {
            assert_eq!(state(StatusCode::from_u16(status).unwrap(), body.as_ref()), wanted, "{status} {body:?}");
        }
    }

    #[test]
    fn the_task_of_an_answer() {
        let place = Reference::parse("/redfish/v1/TaskService/Tasks/7");
        assert_eq!(monitor(StatusCode::ACCEPTED, place.clone(), None), place);
        let body = json!({"@odata.id": "/redfish/v1/TaskService/Tasks/7/", "TaskState": "New"});
        assert_eq!(monitor(StatusCode::ACCEPTED, None, Some(&body)), place);
        assert_eq!(monitor(StatusCode::ACCEPTED, None, None), None);
        assert_eq!(monitor(StatusCode::CREATED, place, None), None);
    }
}
