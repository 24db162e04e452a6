//! Secure boot, against the trees of real BMCs and against writes that do nothing or wait.

use serde_json::json;

use super::dump::Dump;
use super::scripted::{SYSTEM, Scripted, Seen, answer, ok, status, system};
use super::{R750, bmc};
use crate::{Bmc as _, BmcError, ReadBack};

#[tokio::test]
async fn real_bmcs_say_how_it_stands_and_take_the_switch() {
    let cases = [
        ("dell-r630-idrac8-2.81", None),
        ("dell-r750-idrac9-6.00", Some("DeployedMode")),
        ("hpe-dl385gen10plusv2-ilo5-2.72", Some("UserMode")),
        ("lenovo-sr670v2-xcc-2.83", Some("UserMode")),
        ("nvidia-bluefield3-bmc-24.10", Some("SetupMode")),
        ("nvidia-dgxh100-ami-23.11", Some("UserMode")),
        ("supermicro-sys821ge-tnhr", Some("SetupMode")),
    ];
    for (name, mode) in cases {
        let Some(dump) = Dump::load(name) else { return };
        let bmc = bmc(&dump, "").await;
        let now = bmc.secure_boot().await.unwrap();
        assert_eq!((now.active, now.enabled, now.mode.as_deref()), (Some(false), Some(false), mode), "{name}");
        assert_eq!(bmc.set_secure_boot(false).await.unwrap(), ReadBack::Confirmed);
        assert!(dump.writes().is_empty(), "{name}");
        for _ in 0..2 {
            let ReadBack::Pending(why) = bmc.set_secure_boot(true).await.unwrap() else { panic!("{name}") };
            assert_eq!(why.contains("no platform key"), mode == Some("SetupMode"), "{name}: {why}");
        }
        assert_eq!(dump.writes().len(), 1, "{name}");
        assert_eq!(bmc.secure_boot().await.unwrap().enabled, Some(true));
    }
    for name in ["intel-s2600bpb-1.93", "openbmc-stock-2.15-dev", "supermicro-x10-b"] {
        let Some(dump) = Dump::load(name) else { return };
        let error = bmc(&dump, "").await.set_secure_boot(true).await.unwrap_err();
        assert!(matches!(&error, BmcError::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains("has no SecureBoot"), "{error}");
    }
}

#[tokio::test]
async fn a_switch_that_does_nothing_is_found_out() {
    let Some(dump) = Dump::load("dell-r750-idrac9-6.00") else { return };
    let error = bmc(&dump.clone().deaf(), "").await.set_secure_boot(true).await.unwrap_err();
    assert!(error.to_string().ends_with("accepted secure boot on and reads back SecureBootEnable false"), "{error}");
    assert_eq!(dump.writes(), [(format!("PATCH {R750}/SecureBoot"), json!({"SecureBootEnable": true}))]);
}

/// A wish that reads back only once its job has run is not lost, as long as the job waits.
#[tokio::test]
async fn a_switch_that_waits_for_a_job_is_pending() {
    let service = Scripted::start(|seen, _| match seen.line().as_str() {
        "GET /redfish/v1/Systems/1" => {
            ok(&system("On", &["On"], json!({"SecureBoot": {"@odata.id": format!("{SYSTEM}/SecureBoot")}})))
        }
        "GET /redfish/v1/Systems/1/SecureBoot" => {
            ok(&json!({"SecureBootEnable": false, "SecureBootCurrentBoot": "Disabled"}))
        }
        "PATCH /redfish/v1/Systems/1/SecureBoot" => {
            answer(202, &[("Location", "/redfish/v1/TaskService/Tasks/JID_1")], "")
        }
        "GET /redfish/v1/TaskService/Tasks/JID_1" => ok(&json!({"TaskState": "Starting", "TaskStatus": "OK"})),
        _ => status(404),
    });
    let answer = service.await.bmc().set_secure_boot(true).await.unwrap();
    assert_eq!(answer, ReadBack::Pending("task /redfish/v1/TaskService/Tasks/JID_1 is Starting".to_owned()));
}

/// What is wished for is what the settings say: a wish of somebody else's for the opposite is found, and taken back.
#[tokio::test]
async fn an_opposite_wish_that_waits_is_not_overlooked() {
    const SETTINGS: &str = "/redfish/v1/Systems/1/SecureBoot/Settings";
    for active in ["Enabled", "Disabled"] {
        let service = Scripted::start(move |seen, before| match (seen.method.as_str(), seen.path.as_str()) {
            ("GET", SYSTEM) => {
                ok(&system("On", &["On"], json!({"SecureBoot": {"@odata.id": format!("{SYSTEM}/SecureBoot")}})))
            }
            ("GET", SETTINGS) => {
                ok(&json!({"SecureBootEnable": before.iter().any(|seen| seen.line() == format!("PATCH {SETTINGS}"))}))
            }
            ("GET", _) => ok(&json!({
                "SecureBootEnable": true, "SecureBootCurrentBoot": active,
                "@Redfish.Settings": {"SettingsObject": {"@odata.id": SETTINGS}},
            })),
            _ => status(204),
        });
        let service = service.await;
        let bmc = service.bmc();
        assert_eq!(bmc.secure_boot().await.unwrap().enabled, Some(false));
        for _ in 0..2 {
            let answer = bmc.set_secure_boot(true).await.unwrap();
            assert_eq!(answer == ReadBack::Confirmed, active == "Enabled", "{answer:?}");
        }
        assert_eq!(service.writes().iter().map(Seen::line).collect::<Vec<_>>(), [format!("PATCH {SETTINGS}")]);
        assert_eq!(bmc.secure_boot().await.unwrap().enabled, Some(true));
    }
}
