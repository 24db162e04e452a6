use std::sync::{Arc, Mutex};
use std::time::Duration;

use bessemer_fake_bmc::host::power::{PowerState, Repeats, Timing};
use bessemer_fake_bmc::machine::{Boot, BootSource, Machine, Shutdown};
use bessemer_fake_bmc::{Host, HostOptions, seed};
use reqwest::Method;
use serde_json::json;

use crate::client::{Bmc, RESET, SYSTEM};

#[tokio::test]
async fn every_reset_type_of_the_model() {
    let bmc = Bmc::start().await;
    let system = bmc.get(SYSTEM).await;
    let allowed = &system["Actions"]["#ComputerSystem.Reset"]["ResetType@Redfish.AllowableValues"];
    let table = [
        ("On", "On"),
        ("ForceRestart", "On"),
        ("GracefulRestart", "On"),
        ("PowerCycle", "On"),
        ("Nmi", "On"),
        ("GracefulShutdown", "Off"),
        ("ForceOn", "On"),
        ("ForceOff", "Off"),
        ("PushPowerButton", "On"),
    ];
    assert_eq!(allowed.as_array().unwrap().len(), table.len());
    for (how, state) in table {
        assert_eq!(bmc.reset(how).await.status, 204, "{how}");
        assert_eq!(bmc.get(SYSTEM).await["PowerState"], state, "after {how}");
    }
    for how in ["Suspend", "Explode"] {
        let refused = bmc.reset(how).await;
        assert_eq!((refused.status, refused.message()), (400, "ActionParameterValueNotInList"));
    }
    assert_eq!(bmc.post(RESET, json!({})).await.message(), "ActionParameterMissing");
    assert_eq!(bmc.send(Method::GET, RESET, None).await.status, 405);
}

#[tokio::test]
async fn states_in_between_show() {
    let timing = Timing { on: Duration::from_secs(1), ..Timing::default() };
    let host = HostOptions { timing, ..HostOptions::numbered(0) };
    let bmc = Bmc::with(host, &seed::minimal().unwrap()).await;
    bmc.reset("On").await;
    assert_eq!(bmc.get(SYSTEM).await["PowerState"], "PoweringOn");
    let mut power = bmc.fake.host().watch_power();
    power.wait_for(|power| *power == PowerState::On).await.unwrap();
    assert_eq!(bmc.get(SYSTEM).await["PowerState"], "On");
}

#[tokio::test]
async fn repeats_can_be_refused_as_some_vendors_do() {
    let host = HostOptions { repeats: Repeats::Refused, ..HostOptions::numbered(0) };
    let bmc = Bmc::with(host, &seed::minimal().unwrap()).await;
    assert_eq!(bmc.reset("ForceOff").await.status, 409);
    assert_eq!(bmc.reset("On").await.status, 204);
    assert_eq!(bmc.reset("On").await.status, 409);
}

/// Writes down what it is told; its operating system ignores the button.
#[derive(Default)]
struct Stubborn(Mutex<Vec<String>>);

impl Machine for Stubborn {
    fn power_on(&self, _: &Arc<Host>, boot: &Boot) {
        self.0.lock().unwrap().push(format!("on from {:?}", boot.source));
    }

    fn power_off(&self, _: &Arc<Host>) {
        self.0.lock().unwrap().push("off".to_owned());
    }

    fn reset(&self, _: &Arc<Host>, boot: &Boot) {
        self.0.lock().unwrap().push(format!("reset from {:?}", boot.source));
    }

    fn shut_down(&self, _: &Arc<Host>) -> Shutdown {
        self.0.lock().unwrap().push("button".to_owned());
        Shutdown::Ignored
    }
}

#[tokio::test]
async fn the_machine_is_told_and_may_be_stubborn() {
    let machine = Arc::new(Stubborn::default());
    let host = HostOptions { machine: machine.clone(), ..HostOptions::numbered(0) };
    let bmc = Bmc::with(host, &seed::minimal().unwrap()).await;
    bmc.reset("On").await;
    bmc.reset("GracefulShutdown").await;
    assert_eq!(bmc.get(SYSTEM).await["PowerState"], "On", "it ignores the button");
    bmc.reset("ForceRestart").await;
    bmc.reset("ForceOff").await;
    assert_eq!(*machine.0.lock().unwrap(), ["on from Disk", "button", "reset from Disk", "off"]);
    bmc.fake.host().restarted_by_itself();
    assert_eq!(bmc.fake.host().last_boot().unwrap().source, BootSource::Disk);
}

#[tokio::test]
async fn the_controller_goes_away_for_its_own_reset() {
    let bmc = Bmc::start().await;
    bmc.change(|behaviour| behaviour.restart = Duration::from_secs(1));
    let reset = "/redfish/v1/Managers/1/Actions/Manager.Reset";
    assert_eq!(bmc.post(reset, json!({ "ResetType": "GracefulRestart" })).await.status, 204);
    let away = bmc.send(Method::GET, "/redfish/v1", None).await;
    assert_eq!((away.status, away.header("retry-after")), (503, "1"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(bmc.send(Method::GET, "/redfish/v1", None).await.status, 200);
}
