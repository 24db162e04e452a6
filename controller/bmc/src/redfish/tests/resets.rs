//! Resets that do nothing, do it twice, or would do the opposite of what was asked.

use std::time::Duration;

use axum::response::Response;
use serde_json::{Value, json};

use super::replay::bodies;
use super::scripted::{SYSTEM, Scripted, Seen, answer, ok, refusal, status, system};
use crate::{Bmc as _, BmcError, PowerAction};

fn at(power: &str, words: &[&str]) -> Response {
    ok(&system(power, words, json!({})))
}

#[tokio::test]
async fn a_shutdown_that_is_refused_while_the_state_is_in_between_is_not_done() {
    for code in [409, 400] {
        let bmc = Scripted::start(move |seen, _| match seen.reset() {
            Some(_) => refusal(code, "Base.1.12.InvalidOperationForSystemState"),
            None => at("PoweringOn", &["On", "GracefulShutdown"]),
        });
        let error = bmc.await.bmc().power(PowerAction::GracefulOff).await.unwrap_err();
        assert!(error.is_transient() && error.to_string().contains("InvalidOperationForSystemState"), "{error}");
    }
}

const TASK: &str = "/redfish/v1/TaskService/Tasks/3";

/// A BMC whose resets are tasks; the body of the task's reading `nth`, and the state before and after a reset.
async fn with_tasks(task: impl Fn(usize) -> Response + Send + Sync + 'static, states: [&'static str; 2]) -> Scripted {
    Scripted::start(move |seen, before| match (seen.reset(), seen.path.as_str()) {
        (Some(_), _) => answer(202, &[("Location", TASK)], ""),
        (None, TASK) => task(before.iter().filter(|seen| seen.path == TASK).count()),
        (None, _) => {
            let asked = before.iter().any(|seen| seen.reset().is_some());
            at(states[usize::from(asked)], &["On", "ForceOff", "ForceRestart", "GracefulShutdown"])
        }
    })
    .await
}

fn running(state: &str) -> Value {
    json!({"@odata.id": TASK, "TaskState": state, "TaskStatus": "OK"})
}

/// NVIDIA's DGX H100, whose dump has two such tasks: the restart is accepted, and the chassis stays as it was.
#[tokio::test]
async fn a_restart_whose_task_fails_is_an_error() {
    let Some(bodies) = bodies("nvidia-dgxh100-ami-23.11") else { return };
    let failed = bodies[TASK].clone();
    let bmc = with_tasks(move |nth| if nth < 3 { ok(&running("Starting")) } else { ok(&failed) }, ["On", "On"]).await;
    let error = bmc.bmc().power(PowerAction::Reset).await.unwrap_err().to_string();
    assert!(error.contains("Tasks/3 ended Exception") && error.contains("did not change"), "{error}");
    assert_eq!(bmc.resets(), ["ForceRestart"]);
}

#[tokio::test]
async fn a_task_that_ends_well_or_is_forgotten_leaves_it_to_the_state() {
    let bmc = with_tasks(|nth| ok(&running(if nth < 2 { "Running" } else { "Completed" })), ["On", "On"]).await;
    bmc.bmc().power(PowerAction::Reset).await.unwrap();
    let bmc = with_tasks(|nth| if nth < 2 { ok(&running("Running")) } else { status(404) }, ["On", "Off"]).await;
    bmc.bmc().power(PowerAction::ForceOff).await.unwrap();
    let bmc = with_tasks(|_| status(404), ["Off", "On"]).await;
    bmc.bmc().power(PowerAction::On).await.unwrap();
    // A task that calls it a failure that the server is off already.
    let failed = || json!({"@odata.id": TASK, "TaskState": "Exception", "TaskStatus": "Critical"});
    let bmc = with_tasks(move |_| ok(&failed()), ["Off", "Off"]).await;
    bmc.bmc().power(PowerAction::ForceOff).await.unwrap();
    // A restart that has not ended by the deadline is none yet; a shutdown is only asked for.
    let bmc = with_tasks(|_| ok(&running("Running")), ["On", "On"]).await;
    let error = bmc.bmc().power(PowerAction::Reset).await.unwrap_err();
    assert!(matches!(&error, BmcError::NotApplied { read, .. } if read.ends_with("Tasks/3 Running")), "{error}");
    bmc.bmc().power(PowerAction::GracefulOff).await.unwrap();
    assert_eq!(bmc.resets(), ["ForceRestart", "GracefulShutdown"]);
}

#[tokio::test]
async fn what_is_off_is_not_switched_on_by_a_restart() {
    let sr675 = json!({"Manufacturer": "Lenovo", "Model": "ThinkSystem SR675 V3"});
    let all = ["On", "ForceOff", "ForceRestart"];
    for (action, words, who, tried) in [
        (PowerAction::Cycle, &["On", "ForceOff"][..], json!({}), &[][..]),
        (PowerAction::Reset, &all[..], sr675, &[]),
        (PowerAction::Reset, &all, json!({}), &["ForceRestart"]),
    ] {
        let words: Vec<&'static str> = words.to_vec();
        let bmc = Scripted::start(move |seen, _| match seen.reset() {
            Some("ForceRestart") => refusal(400, "Base.1.0.ActionParameterNotSupported"),
            Some(_) => status(204),
            None => ok(&system("Off", &words, who.clone())),
        });
        let bmc = bmc.await;
        let error = bmc.bmc().power(action).await.unwrap_err();
        assert!(matches!(&error, BmcError::Refused { .. }), "{error:?}");
        assert!(error.to_string().contains("the server is off"), "{error}");
        assert_eq!(bmc.resets(), tried);
    }
}

#[tokio::test]
async fn the_power_button_is_not_pressed_while_the_state_is_unknown() {
    // Unknown throughout, and off by the time the button would be pressed.
    for then in ["Unknown", "Off", "On"] {
        let bmc = Scripted::start(move |seen, before| match seen.reset() {
            Some("GracefulShutdown") => refusal(400, "Base.1.0.ActionParameterNotSupported"),
            Some(_) => status(204),
            None => at(if before.is_empty() { "Unknown" } else { then }, &["PushPowerButton", "GracefulShutdown"]),
        });
        let bmc = bmc.await;
        match bmc.bmc().power(PowerAction::GracefulOff).await {
            Err(error) => assert!(then == "Unknown" && error.is_transient(), "{error}"),
            Ok(()) => assert_ne!(then, "Unknown"),
        }
        let pressed = bmc.resets().iter().filter(|word| *word == "PushPowerButton").count();
        assert_eq!(pressed, usize::from(then == "On"), "{then}");
    }
}

/// A front end that says 503 although what is behind it has acted.
#[tokio::test]
async fn a_restart_that_is_answered_503_is_asked_for_once() {
    for id in ["", "Base.1.12.ServiceTemporarilyUnavailable"] {
        let bmc = Scripted::start(move |seen, _| match seen.reset() {
            Some(_) => refusal(503, id),
            None => at("On", &["On", "ForceOff", "ForceRestart"]),
        });
        let bmc = bmc.await;
        let error = bmc.patient(Duration::from_secs(1)).power(PowerAction::Reset).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        assert_eq!(bmc.resets(), ["ForceRestart"]);
    }
    // Twice on is once on.
    let bmc = Scripted::start(|seen, before| match (seen.reset(), before.iter().filter_map(Seen::reset).count()) {
        (Some(_), 0) => status(503),
        (Some(_), _) => status(204),
        (None, 0 | 1) => at("Off", &["On"]),
        (None, _) => at("On", &["On"]),
    });
    let bmc = bmc.await;
    bmc.bmc().power(PowerAction::On).await.unwrap();
    assert_eq!(bmc.resets(), ["On", "On"]);
}

/// Two nodes behind one BMC, of which one cannot be seen for a moment: the other one is not taken for the server.
#[tokio::test]
async fn the_server_is_not_chosen_while_one_of_several_cannot_be_seen() {
    let bmc = Scripted::start(|seen, before| {
        let nodes = ["/redfish/v1/Systems/Node0", SYSTEM].map(|at| json!({"@odata.id": at}));
        let read = before.iter().filter(|seen| seen.path.ends_with("Node0")).count();
        match seen.path.as_str() {
            "/redfish/v1" => ok(&json!({"Systems": {"@odata.id": "/redfish/v1/Systems"}})),
            "/redfish/v1/Systems" => ok(&json!({ "Members": nodes })),
            "/redfish/v1/Systems/Node0" if read == 0 => status(404),
            "/redfish/v1/Systems/Node0" if read == 1 => ok(&system("On", &["On"], json!({"PowerState": null}))),
            _ => at("On", &["On", "ForceOff"]),
        }
    });
    let client = bmc.await.bmc_without_path();
    let error = client.power_state().await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("Node0 is listed and not there"), "{error}");
    for _ in 0..2 {
        let error = client.power_state().await.unwrap_err().to_string();
        assert!(error.contains("it has several systems"), "{error}");
    }
}
