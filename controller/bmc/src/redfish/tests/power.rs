//! Power, against what BMCs were seen to do with it.

use std::time::Duration;

use axum::response::Response;
use serde_json::json;

use super::scripted::{SYSTEM, Scripted, Seen, answer, ok, refusal, status, system};
use crate::{Bmc as _, BmcError, PowerAction, PowerState};

const ALL: [&str; 5] = ["On", "ForceOff", "ForceRestart", "GracefulShutdown", "PowerCycle"];

fn resets(before: &[Seen]) -> Vec<&str> {
    before.iter().filter_map(Seen::reset).collect()
}

fn at(power: &str) -> Response {
    ok(&system(power, &ALL, json!({})))
}

#[tokio::test]
async fn q61_what_is_there_already_is_done() {
    for (power, action, code, id) in [
        ("On", PowerAction::On, 409, "IDRAC.2.8.PSU501"),
        ("Off", PowerAction::ForceOff, 400, "iLO.2.14.InvalidOperationForSystemState"),
    ] {
        let script = move |seen: &Seen, _: &[Seen]| if seen.reset().is_some() { refusal(code, id) } else { at(power) };
        let bmc = Scripted::start(script).await;
        bmc.bmc().power(action).await.unwrap();
        assert_eq!(bmc.resets().len(), 1, "{action:?}");
    }
    // Where nothing is to be done, nothing is asked for.
    let off = Scripted::start(|seen, _| if seen.reset().is_some() { status(500) } else { at("Off") }).await;
    off.bmc().power(PowerAction::GracefulOff).await.unwrap();
    assert!(off.resets().is_empty());
    // A restart of what is off is no restart.
    let off = Scripted::start(|seen, _| match seen.reset() {
        Some(_) => refusal(400, "iLO.2.14.InvalidOperationForSystemState"),
        None => at("Off"),
    });
    let off = off.await;
    let error = off.bmc().power(PowerAction::Reset).await.unwrap_err().to_string();
    assert!(error.contains("InvalidOperationForSystemState"), "{error}");
    assert_eq!(off.resets(), ["ForceRestart"]);
}

/// A BMC that refuses to switch on `times` times after it was switched off.
async fn tired(times: usize) -> Scripted {
    Scripted::start(move |seen, before| {
        let asked = resets(before).into_iter().filter(|word| *word == "On").count();
        match seen.reset() {
            Some("On") if asked < times => refusal(409, "Base.1.12.ActionParameterValueConflict"),
            Some(_) => status(204),
            None if asked > times => at("On"),
            None => at("Off"),
        }
    })
    .await
}

#[tokio::test]
async fn q62_on_shortly_after_off_is_asked_for_again() {
    let bmc = tired(3).await;
    bmc.patient(Duration::from_secs(5)).power(PowerAction::On).await.unwrap();
    assert_eq!(bmc.resets(), ["On"; 4]);
}

#[tokio::test]
async fn c194_a_conflict_that_stays_fails_after_a_bounded_number_of_tries() {
    let bmc = tired(usize::MAX).await;
    let error = bmc.patient(Duration::from_secs(2)).power(PowerAction::On).await.unwrap_err().to_string();
    assert!(error.contains("ActionParameterValueConflict"), "{error}");
    assert!((2..=8).contains(&bmc.resets().len()), "{:?}", bmc.resets());
}

#[tokio::test]
async fn q66_a_listed_word_that_is_refused_gives_way_to_the_next() {
    let bmc = Scripted::start(|seen, before| match (seen.reset(), resets(before).last()) {
        (Some("ForceRestart" | "GracefulShutdown"), _) => refusal(400, "Base.1.0.ActionParameterNotSupported"),
        (Some(_), _) => status(204),
        (None, Some(&"ForceOff")) => at("Off"),
        (None, _) => at("On"),
    });
    let bmc = bmc.await;
    bmc.bmc().power(PowerAction::Reset).await.unwrap();
    assert_eq!(bmc.resets(), ["ForceRestart", "ForceOff", "On"]);
    // But a shutdown that somebody's data depends on is not made a hard one.
    let error = bmc.bmc().power(PowerAction::GracefulOff).await.unwrap_err();
    assert!(matches!(&error, BmcError::Unsupported { .. }), "{error}");
    assert_eq!(bmc.resets().last().unwrap(), "GracefulShutdown");
}

#[tokio::test]
async fn q68_the_power_button_is_the_last_resort_and_is_not_pressed_to_switch_on() {
    let words = ["On", "ForceOff", "PushPowerButton"];
    for (power, wanted) in [("On", vec!["PushPowerButton"]), ("Off", vec![])] {
        let bmc = Scripted::start(move |seen, _| match seen.reset() {
            Some(_) => status(204),
            None => ok(&system(power, &words, json!({}))),
        });
        let bmc = bmc.await;
        bmc.bmc().power(PowerAction::GracefulOff).await.unwrap();
        assert_eq!(bmc.resets(), wanted, "{power}");
    }
    let lenovo = Scripted::start(|seen, _| if seen.reset().is_some() { status(204) } else { at("On") }).await;
    lenovo.bmc().power(PowerAction::GracefulOff).await.unwrap();
    assert_eq!(lenovo.resets(), ["GracefulShutdown"]);
}

#[tokio::test]
async fn q69_a_cycle_that_is_refused_is_off_and_on() {
    let bmc = Scripted::start(|seen, before| match (seen.reset(), resets(before).last()) {
        (Some("PowerCycle" | "ForceOn" | "GracefulRestart"), _) => {
            refusal(400, "Base.1.0.ActionParameterValueNotInList")
        }
        (Some(_), _) => status(200),
        (None, Some(&"ForceOff")) => at("Off"),
        (None, _) => at("On"),
    });
    let bmc = bmc.await;
    bmc.bmc().power(PowerAction::Cycle).await.unwrap();
    assert_eq!(bmc.resets(), ["PowerCycle", "ForceOff", "On"]);
}

#[tokio::test]
async fn q70_a_restart_that_may_hang_is_off_a_pause_and_on() {
    let who = json!({"Manufacturer": "Lenovo", "Model": "ThinkSystem SR675 V3"});
    let bmc = Scripted::start(move |seen, before| match (seen.reset(), resets(before).last()) {
        (Some(_), _) => status(204),
        (None, Some(&"ForceOff")) => ok(&system("Off", &ALL, who.clone())),
        (None, _) => ok(&system("On", &ALL, who.clone())),
    });
    let bmc = bmc.await;
    let start = std::time::Instant::now();
    bmc.bmc().power(PowerAction::Reset).await.unwrap();
    assert_eq!(bmc.resets(), ["ForceOff", "On"]);
    // A third of what an act has: ten seconds of thirty.
    assert!(start.elapsed() >= Duration::from_millis(160), "{:?}", start.elapsed());
}

#[tokio::test]
async fn q72_a_state_in_between_is_waited_for() {
    let bmc = Scripted::start(|seen, before| {
        let asked = resets(before).len();
        let read = before.iter().filter(|seen| seen.method == "GET").count();
        match (seen.reset(), asked) {
            (Some(_), 0) => refusal(409, "Base.1.12.InvalidOperationForSystemState"),
            (Some(_), _) => status(204),
            (None, 0 | 1) if read < 3 => at("PoweringOff"),
            (None, 0 | 1) => at("Off"),
            (None, _) if read < 6 => at("PoweringOn"),
            (None, _) => at("On"),
        }
    });
    let bmc = bmc.await;
    bmc.patient(Duration::from_secs(5)).power(PowerAction::On).await.unwrap();
    let between = Scripted::start(|_, _| at("Paused")).await.bmc().power_state().await.unwrap_err();
    assert!(between.is_transient() && between.to_string().contains("Paused"), "{between}");
    let nothing = Scripted::start(|_, _| ok(&system("On", &ALL, json!({"PowerState": null})))).await;
    assert!(nothing.bmc().power_state().await.unwrap_err().to_string().contains("it says nothing"));
}

#[tokio::test]
async fn q74_what_was_on_while_it_went_down_is_switched_on_after_all() {
    let bmc = Scripted::start(|seen, before| {
        let read = before.iter().filter(|seen| seen.method == "GET").count();
        match (seen.reset(), resets(before).len()) {
            (Some(_), _) => status(204),
            // The shutdown still runs, the BMC takes "on" for nothing to do, then the server is off.
            (None, 0 | 1) if read < 2 => at("On"),
            (None, 0 | 1) => at("Off"),
            (None, _) => at("On"),
        }
    });
    let bmc = bmc.await;
    let client = bmc.patient(Duration::from_secs(3));
    client.power(PowerAction::On).await.unwrap();
    assert_eq!(bmc.resets(), ["On", "On"]);
    assert_eq!(client.power_state().await.unwrap(), PowerState::On);
}

#[tokio::test]
async fn q77_an_empty_system_after_a_reset_is_read_again() {
    let bmc = Scripted::start(|seen, before| match before.len() {
        _ if seen.method == "POST" => status(204),
        2 | 3 => answer(200, &[], ""),
        _ => at("On"),
    });
    let bmc = bmc.await;
    bmc.bmc().power(PowerAction::Reset).await.unwrap();
    assert!(bmc.seen().iter().all(|seen| seen.path.starts_with(SYSTEM)));
}
