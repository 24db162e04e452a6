//! Tasks as services really run them: unknown at first, without a word, restarting, forgotten, and lying about the end.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails should panic")]

mod common;

use std::time::Duration;

use common::{Service, answer, ok, status};
use redfish_client::{Follow, RedfishError, Reference, TaskEnd, TaskState};
use serde_json::json;

fn at(path: &str) -> Reference {
    Reference::parse(path).unwrap()
}

const PATIENCE: Duration = Duration::from_secs(30);
const JID: &str = "/redfish/v1/TaskService/Tasks/JID_257309938313";

/// Dell's task of a firmware update: no answer of its own but the place, which is not there for a moment.
#[tokio::test]
async fn q122_a_task_that_is_not_there_yet_is_waited_for() {
    let service = Service::start(|seen, before| match (seen.method.as_str(), before) {
        ("POST", _) => {
            answer(202, &[("Location", "https://10.0.0.9/redfish/v1/TaskService/Tasks/JID_257309938313/")], "")
        }
        (_, 0..3) => answer(404, &[], r#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"IDRAC.2.8.SYS403"}]}}"#),
        (_, 3) => answer(202, &[("Retry-After", "0")], r#"{"TaskState":"Running","PercentComplete":40}"#),
        _ => ok(&json!({"TaskState": "Completed", "TaskStatus": "OK"})),
    });
    let service = service.await;
    let client = service.simple();
    let reply = client.post(&at("/redfish/v1/update"), &json!({})).await.unwrap();
    assert_eq!(reply.task, Some(at(JID)));
    let mut seen = Vec::new();
    let end = client.follow(&reply, PATIENCE, |state| seen.push(state.clone())).await.unwrap();
    assert_eq!(end, TaskEnd::Done);
    assert_eq!(seen, [TaskState::Running { state: "Running".to_owned(), percent: Some(40) }, TaskState::Done]);
}

#[tokio::test]
async fn q122_a_task_that_never_comes_is_an_error() {
    let service = Service::start(|_, _| status(404)).await;
    let mut how = Follow::within(PATIENCE);
    how.birth = Duration::from_millis(60);
    let error = service.simple().follow_task(&at(JID), &how, |_| ()).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    assert!(service.seen().len() > 1);
}

/// The task goes within seconds of its end; the job queue still knows how it ended.
#[tokio::test]
async fn q121_a_task_that_vanishes_is_looked_for_in_the_job_queue() {
    let service = Service::start(|seen, before| match (seen.path.as_str(), before) {
        (JID, 0) => answer(202, &[("Retry-After", "0")], r#"{"TaskState":"Running","TaskStatus":"OK"}"#),
        ("/redfish/v1/JobService/Jobs/good", 0) => ok(&json!({"JobState": "Running", "PercentComplete": 99})),
        ("/redfish/v1/JobService/Jobs/good", _) => ok(&json!({"JobState": "Completed", "JobStatus": "OK"})),
        ("/redfish/v1/Jobs/bad", _) => ok(&json!({
            "JobState": "Failed", "Messages": [{"MessageId": "IDRAC.2.8.RED007", "Message": "Unable to verify."}],
        })),
        _ => status(404),
    });
    let service = service.await;
    let client = service.simple();
    let mut how = Follow::within(PATIENCE);
    how.elsewhere = vec![at("/redfish/v1/nowhere"), at("/redfish/v1/JobService/Jobs/good")];
    assert_eq!(client.follow_task(&at(JID), &how, |_| ()).await.unwrap(), TaskEnd::Done);
    let lines = service.lines();
    assert!(lines.ends_with(&vec!["GET /redfish/v1/JobService/Jobs/good".to_owned(); 2]), "{lines:?}");
}

#[tokio::test]
async fn q121_a_job_that_failed_is_told_and_a_trace_that_is_lost_is_no_failure() {
    let service = Service::start(|seen, before| match (seen.path.as_str(), before) {
        ("/redfish/v1/Tasks/1" | "/redfish/v1/Tasks/2", 0) => {
            answer(202, &[("Retry-After", "0")], r#"{"TaskState":"Running"}"#)
        }
        ("/redfish/v1/Jobs/1", _) => ok(&json!({
            "JobState": "Failed", "Messages": [{"MessageId": "IDRAC.2.8.RED007", "Message": "Unable to verify."}],
        })),
        _ => status(404),
    });
    let service = service.await;
    let client = service.simple();
    let mut how = Follow::within(PATIENCE);
    how.elsewhere = vec![at("/redfish/v1/Jobs/1")];
    let error = client.follow_task(&at("/redfish/v1/Tasks/1"), &how, |_| ()).await.unwrap_err();
    assert_eq!(error.to_string(), "task /redfish/v1/Jobs/1 ended Failed: Unable to verify (RED007)");
    let end = client.follow_task(&at("/redfish/v1/Tasks/2"), &Follow::within(PATIENCE), |_| ()).await.unwrap();
    assert_eq!(end, TaskEnd::Vanished);
}

/// A monitor that only says 202 runs; its last answer is the operation's own, here an empty one.
#[tokio::test]
async fn q124_a_monitor_that_answers_202_is_running() {
    let service = Service::start(|seen, before| match (seen.method.as_str(), before) {
        ("POST", _) => answer(202, &[("Location", "/taskmon/545"), ("Retry-After", "0")], ""),
        (_, 0..2) => answer(202, &[("Retry-After", "0")], ""),
        _ => status(204),
    });
    let service = service.await;
    let client = service.simple();
    let reply = client.post(&at("/redfish/v1/update"), &json!({})).await.unwrap();
    let mut seen = Vec::new();
    assert_eq!(client.follow(&reply, PATIENCE, |state| seen.push(state.clone())).await.unwrap(), TaskEnd::Done);
    let running = TaskState::Running { state: "running".to_owned(), percent: None };
    assert_eq!(seen, [running.clone(), running, TaskState::Done]);
}

/// The task itself is followed where the answer shows it: the monitor's last word would be an empty success (OpenBMC).
#[tokio::test]
async fn q124_the_task_is_believed_before_its_monitor() {
    let service = Service::start(|seen, _| match seen.path.as_str() {
        "/redfish/v1/update" => answer(
            202,
            &[("Location", "/redfish/v1/TaskService/TaskMonitors/0")],
            r#"{"@odata.id":"/redfish/v1/TaskService/Tasks/0","TaskState":"Running","TaskStatus":"OK"}"#,
        ),
        "/redfish/v1/TaskService/TaskMonitors/0" => status(204),
        _ => ok(&json!({"TaskState": "Exception", "TaskStatus": "Warning", "Messages": [{"Message": "No image."}]})),
    });
    let service = service.await;
    let client = service.simple();
    let reply = client.post(&at("/redfish/v1/update"), &json!({})).await.unwrap();
    let error = client.follow(&reply, PATIENCE, |_| ()).await.unwrap_err();
    assert_eq!(error.to_string(), "task /redfish/v1/TaskService/Tasks/0 ended Exception Warning: No image");
}

/// Task 3 of a DGX H100 (AMI): an exception with a good status. And Dell's other way round, and `New`.
#[tokio::test]
async fn q125_state_and_status_are_judged_together() {
    let service = Service::start(|seen, before| match (seen.path.as_str(), before) {
        ("/redfish/v1/TaskService/Tasks/3", _) => ok(&json!({
            "@odata.type": "#Task.v1_4_2.Task", "Id": "3", "Name": "Computer Reset",
            "TaskState": "Exception", "TaskStatus": "OK",
            "Messages": [{
                "MessageId": "Base.1.12.ActionNotSupported",
                "Message": "The action 'ForceRestart' is unsuccessful.",
            }],
        })),
        ("/redfish/v1/TaskService/Tasks/4", 0) => ok(&json!({"TaskState": "New", "TaskStatus": "OK"})),
        ("/redfish/v1/TaskService/Tasks/4", _) => ok(&json!({"TaskState": "Completed", "TaskStatus": "OK"})),
        _ => ok(&json!({"TaskState": "Completed", "TaskStatus": "Critical"})),
    });
    let service = service.await;
    let client = service.simple();
    let how = Follow::within(PATIENCE);
    let error = client.follow_task(&at("/redfish/v1/TaskService/Tasks/3"), &how, |_| ()).await.unwrap_err();
    assert!(matches!(&error, RedfishError::Task { state, .. } if state == "Exception OK"), "{error}");
    assert!(error.to_string().contains("'ForceRestart' is unsuccessful (ActionNotSupported)"), "{error}");
    let error = client.follow_task(&at("/redfish/v1/TaskService/Tasks/5"), &how, |_| ()).await.unwrap_err();
    assert!(matches!(&error, RedfishError::Task { state, .. } if state == "Completed Critical"), "{error}");
    let mut seen = Vec::new();
    let new = at("/redfish/v1/TaskService/Tasks/4");
    assert_eq!(client.follow_task(&new, &how, |state| seen.push(state.clone())).await.unwrap(), TaskEnd::Done);
    assert_eq!(seen[0], TaskState::Running { state: "New".to_owned(), percent: None });
}

/// A BMC that restarts with its new firmware is away, answers with pages for people, and then knows the task or not.
#[tokio::test]
async fn a_restart_in_the_middle_is_lived_through() {
    let service = Service::start(|seen, before| match (seen.path.as_str(), before) {
        (_, 0) => answer(202, &[("Retry-After", "0")], r#"{"TaskState":"Running","PercentComplete":90}"#),
        (_, 1..4) => answer(503, &[("Retry-After", "0")], "<html>starting</html>"),
        (_, 4) => answer(200, &[], "<html>starting</html>"),
        ("/redfish/v1/Tasks/known", _) => ok(&json!({"TaskState": "Completed", "TaskStatus": "OK"})),
        _ => status(404),
    });
    let service = service.await;
    let client = service.client(|options| {
        options.sessions = false;
        options.attempts = 1;
    });
    let how = Follow::within(PATIENCE);
    let mut away = 0;
    let count = |state: &TaskState| away += usize::from(matches!(state, TaskState::Away { .. }));
    assert_eq!(client.follow_task(&at("/redfish/v1/Tasks/known"), &how, count).await.unwrap(), TaskEnd::Done);
    assert_eq!(away, 4);
    assert_eq!(client.follow_task(&at("/redfish/v1/Tasks/lost"), &how, |_| ()).await.unwrap(), TaskEnd::Vanished);
}

/// `Retry-After: 0` does not mean without a pause.
#[tokio::test]
async fn a_task_is_not_asked_for_without_a_pause() {
    let service = Service::start(|_, _| answer(202, &[("Retry-After", "0")], r#"{"TaskState":"Running"}"#)).await;
    let client = service.client(|options| {
        options.sessions = false;
        options.longest_pause = Duration::from_secs(30);
    });
    let how = Follow::within(Duration::from_millis(700));
    client.follow_task(&at("/redfish/v1/Tasks/8"), &how, |_| ()).await.unwrap_err();
    assert!((1..=4).contains(&service.seen().len()), "{}", service.seen().len());
}

#[tokio::test]
async fn an_outage_and_patience_both_end() {
    let service = Service::start(|seen, _| match seen.path.as_str() {
        "/redfish/v1/Tasks/away" => status(503),
        _ => answer(202, &[("Retry-After", "0")], r#"{"TaskState":"Pending"}"#),
    });
    let service = service.await;
    let client = service.client(|options| {
        options.sessions = false;
        options.attempts = 1;
    });
    let mut how = Follow::within(PATIENCE);
    how.outage = Duration::from_millis(80);
    let error = client.follow_task(&at("/redfish/v1/Tasks/away"), &how, |_| ()).await.unwrap_err();
    assert_eq!(error.status().map(|status| status.as_u16()), Some(503), "{error}");
    let how = Follow::within(Duration::from_millis(80));
    let error = client.follow_task(&at("/redfish/v1/Tasks/8"), &how, |_| ()).await.unwrap_err();
    assert_eq!(error.to_string(), "task /redfish/v1/Tasks/8 is still Pending after 80ms");
}
