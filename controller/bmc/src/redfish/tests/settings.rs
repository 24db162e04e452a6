//! Settings of firmware, against the trees of real BMCs and against what BMCs were seen to do with a wish.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::dump::Dump;
use super::scripted::{SYSTEM, Scripted, Seen, answer, ok, refusal, status, system};
use super::{R750, bmc};
use crate::{BiosValue, Bmc as _, BmcError, PowerAction, ReadBack};

fn wish<const N: usize>(settings: [(&str, BiosValue); N]) -> BTreeMap<String, BiosValue> {
    settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn text(text: &str) -> BiosValue {
    BiosValue::Text(text.to_owned())
}

/// How many settings they show, what waits, and why others show none.
#[tokio::test]
async fn real_bmcs_show_their_settings() {
    let cases = [
        ("dell-r630-idrac8-2.81", "", 249, vec![]),
        ("dell-r750-idrac9-6.00", "", 455, vec![]),
        ("dmtf-public-rackmount1", "", 10, vec!["AdminPhone", "EmbeddedSata", "NicBoot2", "ProcTurboMode"]),
        ("hpe-dl385gen10plusv2-ilo5-2.72", "", 277, vec![]),
        ("hpe-cray-ex4252-4node", "/redfish/v1/Systems/Node1", 18, vec![]),
        ("intel-s2600bpb-1.93", "", 864, vec![]),
        ("lenovo-sr670v2-xcc-2.83", "", 348, vec![]),
        ("nvidia-bluefield3-bmc-24.10", "", 28, vec![]),
        ("nvidia-dgxh100-ami-23.11", "", 223, vec![]),
        ("supermicro-sys821ge-tnhr", "", 379, vec![]),
    ];
    for (name, system, settings, pending) in cases {
        let Some(dump) = Dump::load(name) else { return };
        let bios = bmc(&dump, system).await.bios().await.unwrap();
        println!("{name}: {:?} {} settings, {} wait", bios.registry, bios.attributes.len(), bios.pending.len());
        assert_eq!(bios.attributes.len(), settings, "{name}");
        assert_eq!(bios.pending.keys().collect::<Vec<_>>(), pending, "{name}");
        assert!(dump.writes().is_empty());
    }
    for (name, why) in [("openbmc-stock-2.15-dev", "shows no Attributes"), ("supermicro-x10-b", "has no Bios")] {
        let Some(dump) = Dump::load(name) else { return };
        let error = bmc(&dump, "").await.bios().await.unwrap_err();
        assert!(matches!(&error, BmcError::Unsupported { .. }) && error.to_string().contains(why), "{error}");
    }
}

/// All seven makers' registries with their own servers' settings: every value that holds is one that may be set.
#[tokio::test]
async fn real_registries_describe_real_settings() {
    let cases = [
        ("dell-r750-idrac9-6.00", "BiosAttributeRegistry.v1_0_3", "dell-r750.json"),
        ("hpe-dl385gen10plusv2-ilo5-2.72", "BiosAttributeRegistryA42.v1_2_60", "hpe-dl385.json"),
        ("lenovo-sr670v2-xcc-2.83", "BiosAttributeRegistry.1.0.0", "lenovo-sr670v2.json"),
        ("nvidia-dgxh100-ami-23.11", "BiosAttributeRegistry113.en-US.1.1.3", "dgxh100.json"),
        ("supermicro-sys821ge-tnhr", "BiosAttributeRegistry.v1_0_0", "supermicro.json"),
    ];
    for (name, registry, file) in cases {
        let Some(dump) = Dump::load(name) else { return };
        dump.describe_settings(registry, file);
        let bmc = bmc(&dump, "").await;
        let bios = bmc.bios().await.unwrap();
        let described = bios.attributes.values().filter(|setting| setting.description.is_some()).count();
        let writable: BTreeMap<String, BiosValue> = bios
            .attributes
            .iter()
            .filter(|(_, setting)| setting.description.is_some() && !setting.read_only)
            .filter(|(_, setting)| setting.description.as_ref().unwrap().kind.as_deref() != Some("Password"))
            .filter_map(|(name, setting)| Some((name.clone(), setting.value.clone()?)))
            .collect();
        println!("{name}: {described} described, {} writable", writable.len());
        assert!(described > 20 && writable.len() > 10, "{name}");
        assert_eq!(bmc.set_bios(&writable).await.unwrap(), ReadBack::Confirmed, "{name}");
        assert!(dump.writes().is_empty(), "{name}: what holds is not written");
    }
}

#[tokio::test]
async fn a_wish_is_written_once_where_wishes_go_and_waits() {
    let Some(dump) = Dump::load("dell-r750-idrac9-6.00") else { return };
    dump.describe_settings("BiosAttributeRegistry.v1_0_3", "dell-r750.json");
    let bmc = bmc(&dump, "").await;
    let wanted = wish([("SubNumaCluster", text("2-Way Clustering")), ("AcPwrRcvry", text("Off"))]);
    for _ in 0..2 {
        let ReadBack::Pending(why) = bmc.set_bios(&wanted).await.unwrap() else { panic!() };
        assert_eq!(why, "AcPwrRcvry, SubNumaCluster wait for a reset");
    }
    let body = json!({
        "Attributes": {"SubNumaCluster": "2-Way", "AcPwrRcvry": "Off"},
        "@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"},
    });
    assert_eq!(dump.writes(), [(format!("PATCH {R750}/Bios/Settings"), body)]);
    assert_eq!(
        bmc.bios().await.unwrap().pending,
        wish([("AcPwrRcvry", text("Off")), ("SubNumaCluster", text("2-Way"))])
    );
    // The reset comes, and they hold.
    dump.set(&format!("{R750}/Bios"), json!({"Attributes": {"SubNumaCluster": "2-Way", "AcPwrRcvry": "Off"}}));
    assert_eq!(bmc.set_bios(&wanted).await.unwrap(), ReadBack::Confirmed);
}

/// Firmware that did not take a wish says so where it says what holds; HPE's contentment is no problem.
#[tokio::test]
async fn what_firmware_did_not_take_is_told() {
    let Some(dump) = Dump::load("hpe-dl385gen10plusv2-ilo5-2.72") else { return };
    let bmc = bmc(&dump, "").await;
    assert!(bmc.bios().await.unwrap().problems.is_empty());
    let messages = json!([
        {"MessageId": "Base.1.0.Success"},
        {"MessageId": "Base.1.0.PropertyValueNotInList", "Severity": "Critical", "Message": "The value is not known.",
            "RelatedProperties": ["#/Attributes/ProcTurboMode"]},
        {"MessageId": "iLO.2.14.PropertyDependency", "MessageSeverity": "Warning"},
    ]);
    dump.set("/redfish/v1/systems/1/bios", json!({"@Redfish.Settings": {"Messages": messages}}));
    let problems = bmc.bios().await.unwrap().problems;
    assert_eq!(problems, ["ProcTurboMode: The value is not known", "iLO.2.14.PropertyDependency"]);
}

/// A password that waits is nobody's business, as one that holds is not.
#[tokio::test]
async fn a_password_that_waits_is_not_shown() {
    let Some(dump) = Dump::load("dell-r750-idrac9-6.00") else { return };
    dump.describe_settings("BiosAttributeRegistry.v1_0_3", "dell-r750.json");
    let waiting = json!({"Attributes": {"SetupPassword": "hunter2", "AcPwrRcvry": "Off"}});
    dump.set(&format!("{R750}/Bios/Settings"), waiting);
    let bios = bmc(&dump, "").await.bios().await.unwrap();
    assert_eq!(bios.pending, wish([("AcPwrRcvry", text("Off"))]));
    assert!(!format!("{bios:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_wish_that_is_wrong_is_refused_whole_and_nothing_is_written() {
    let Some(dump) = Dump::load("dell-r750-idrac9-6.00") else { return };
    dump.describe_settings("BiosAttributeRegistry.v1_0_3", "dell-r750.json");
    let wanted = wish([
        ("SystemModelName", text("X")),
        ("SubNumaCluster", text("3-Way")),
        ("NoSuch", BiosValue::Boolean(true)),
        ("AcPwrRcvry", text("Off")),
    ]);
    let error = bmc(&dump, "").await.set_bios(&wanted).await.unwrap_err();
    assert!(matches!(&error, BmcError::Refused { .. }), "{error:?}");
    let error = error.to_string();
    for part in [
        "NoSuch: there is no such setting",
        "SubNumaCluster: \"3-Way\" is not one of",
        "SystemModelName: it is read-only",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert!(dump.writes().is_empty());
}

#[tokio::test]
async fn a_bmc_that_accepts_and_keeps_nothing_is_found_out() {
    let Some(dump) = Dump::load("lenovo-sr670v2-xcc-2.83") else { return };
    let bmc = bmc(&dump.clone().deaf(), "").await;
    let error = bmc.set_bios(&wish([("DevicesandIOPorts_PCIeGen_Slot9", text("Gen3"))])).await.unwrap_err();
    assert!(matches!(&error, BmcError::Contradicted { .. }), "{error:?}");
    assert!(error.to_string().ends_with("reads back DevicesandIOPorts_PCIeGen_Slot9 \"Auto\""), "{error}");
}

#[tokio::test]
async fn a_bmc_that_shows_no_wishes_leaves_it_open() {
    let Some(dump) = Dump::load("supermicro-sys821ge-tnhr") else { return };
    let bmc = bmc(&dump.clone().deaf(), "").await;
    let answer = bmc.set_bios(&wish([("ADDDCSparing_3C3F", text("Disabled"))])).await.unwrap();
    let ReadBack::Unverifiable(why) = answer else { panic!("{answer:?}") };
    assert_eq!(why, "/redfish/v1/Systems/1/Bios/SD shows no wishes; they may hold after a reset");
}

/// A server with one setting. Wishes go to a place of their own; `wishes` is what that shows.
struct Server {
    value: Value,
    wishes: Value,
    times: Value,
}

impl Server {
    fn answer(&self, seen: &Seen) -> Option<axum::response::Response> {
        let settings = json!({"@Redfish.Settings": {
            "SettingsObject": {"@odata.id": format!("{SYSTEM}/Bios/Settings")}, "SupportedApplyTimes": self.times,
        }});
        let mut bios = json!({
            "Attributes": {"Boost": self.value},
            "Actions": {"#Bios.ResetBios": {"target": format!("{SYSTEM}/Bios/Actions/Bios.ResetBios")}},
        });
        super::dump::merge(&mut bios, settings);
        let named = json!({"Bios": {"@odata.id": format!("{SYSTEM}/Bios")}});
        Some(match seen.line().strip_prefix("GET /redfish/v1")? {
            "" => ok(&json!({
                "Systems": {"@odata.id": "/redfish/v1/Systems"}, "Tasks": {"@odata.id": "/redfish/v1/TaskService"},
            })),
            "/Systems/1" => ok(&system("On", &["On", "ForceRestart"], named)),
            "/Systems/1/Bios" => ok(&bios),
            "/Systems/1/Bios/Settings" => ok(&json!({"@odata.etag": "\"7\"", "Attributes": self.wishes})),
            "/TaskService" => ok(&json!({"Tasks": {"@odata.id": "/redfish/v1/TaskService/Tasks"}})),
            "/TaskService/Tasks" => ok(&json!({"Members": [{"@odata.id": "/redfish/v1/TaskService/Tasks/JID_7"}]})),
            _ => return None,
        })
    }
}

fn written(before: &[Seen]) -> bool {
    before.iter().any(|seen| seen.method == "PATCH")
}

/// iDRAC makes the job that applies a wish only when it is told when; others list no times, and refuse the annotation.
#[tokio::test]
async fn q126_the_time_to_apply_is_sent_where_it_is_listed() {
    for (times, sent) in [
        (json!(["OnReset", "AtMaintenanceWindowStart"]), json!({"ApplyTime": "OnReset"})),
        (json!(["Immediate"]), json!({"ApplyTime": "Immediate"})),
        (json!([]), Value::Null),
        (Value::Null, Value::Null),
    ] {
        let service = Scripted::start(move |seen, before| {
            let wishes = if written(before) { json!({"Boost": "Off"}) } else { json!({}) };
            let server = Server { value: "On".into(), wishes, times: times.clone() };
            server.answer(seen).unwrap_or_else(|| status(200))
        });
        let service = service.await;
        let answer = service.bmc().set_bios(&wish([("Boost", text("Off"))])).await.unwrap();
        assert_eq!(answer, ReadBack::Pending("Boost wait for a reset".to_owned()));
        let writes = service.writes();
        assert_eq!(writes.len(), 1);
        assert_eq!(writes[0].line(), format!("PATCH {SYSTEM}/Bios/Settings"));
        assert_eq!(writes[0].body.get("@Redfish.SettingsApplyTime").cloned().unwrap_or_default(), sent);
        assert_eq!(writes[0].header("If-Match"), Some("\"7\""));
    }
}

/// The wish reads as if it held, and a job has yet to apply it: right after the write, and when it is asked for again.
#[tokio::test]
async fn q128_a_wish_that_reads_as_current_waits_as_long_as_its_job_does() {
    let job = |state: &str| {
        json!({
            "@odata.id": "/redfish/v1/TaskService/Tasks/JID_7", "Name": "Configure: BIOS.Setup.1-1",
            "TaskState": state, "TaskStatus": "OK",
        })
    };
    for (state, first, second) in [
        ("Pending", "task /redfish/v1/TaskService/Tasks/JID_7 is Pending", "JID_7 is Pending and applies them"),
        ("Completed", "hold after a reset", "no reset of the server was seen"),
    ] {
        let service = Scripted::start(move |seen, before| {
            let value = if written(before) { "Off" } else { "On" };
            let server = Server { value: value.into(), wishes: json!({}), times: json!(["OnReset"]) };
            server.answer(seen).unwrap_or_else(|| match seen.method.as_str() {
                "PATCH" => answer(202, &[("Location", "/redfish/v1/TaskService/Tasks/JID_7")], ""),
                "POST" => status(204),
                _ => ok(&job(state)),
            })
        });
        let service = service.await;
        let bmc = service.bmc();
        let wanted = wish([("Boost", text("Off"))]);
        let ReadBack::Pending(why) = bmc.set_bios(&wanted).await.unwrap() else { panic!() };
        assert!(why.contains(first), "{why}");
        match (bmc.set_bios(&wanted).await.unwrap(), state) {
            (ReadBack::Pending(why), "Pending") => assert!(why.contains(second), "{why}"),
            (ReadBack::Unverifiable(why), "Completed") => assert!(why.contains(second), "{why}"),
            (other, _) => panic!("{state}: {other:?}"),
        }
        assert_eq!(service.writes().len(), 1);
        // A reset proves it, once no job has it in hand.
        bmc.power(PowerAction::Reset).await.unwrap();
        let after = bmc.set_bios(&wanted).await.unwrap();
        assert_eq!(after == ReadBack::Confirmed, state == "Completed", "{after:?}");
    }
}

/// `Attributes` hold what people call a value; the registry has the word for it, which is what is written.
#[tokio::test]
async fn q130_a_value_called_as_people_call_it_is_known_again() {
    let Some(dump) = Dump::load("dell-r750-idrac9-6.00") else { return };
    dump.describe_settings("BiosAttributeRegistry.v1_0_3", "dell-r750.json");
    dump.set(&format!("{R750}/Bios"), json!({"Attributes": {"SubNumaCluster": "2-Way Clustering"}}));
    let bmc = bmc(&dump, "").await;
    assert_eq!(bmc.bios().await.unwrap().attributes["SubNumaCluster"].value, Some(text("2-Way")));
    for said in ["2-Way", "2-Way Clustering"] {
        assert_eq!(bmc.set_bios(&wish([("SubNumaCluster", text(said))])).await.unwrap(), ReadBack::Confirmed);
    }
    assert!(dump.writes().is_empty());
}

#[tokio::test]
async fn a_job_that_is_refused_is_an_error_and_settings_that_are_committed_are_waited_for() {
    let service = Scripted::start(|seen, _| {
        let server = Server { value: "On".into(), wishes: json!({}), times: json!(["OnReset"]) };
        server.answer(seen).unwrap_or_else(|| match seen.method.as_str() {
            "PATCH" => answer(202, &[("Location", "/redfish/v1/TaskService/Tasks/JID_7")], ""),
            _ => ok(&json!({
                "TaskState": "Exception", "TaskStatus": "Critical",
                "Messages": [{"MessageId": "IDRAC.2.8.PR21", "Message": "Failed."}],
            })),
        })
    });
    let error = service.await.bmc().set_bios(&wish([("Boost", text("Off"))])).await.unwrap_err();
    assert!(error.to_string().contains("JID_7 ended Exception Critical: Failed (PR21)"), "{error}");
    for (code, id, transient) in [(400, "IDRAC.2.8.SYS011", true), (400, "Base.1.8.PropertyValueNotInList", false)] {
        let service = Scripted::start(move |seen, _| {
            let server = Server { value: "On".into(), wishes: json!({}), times: json!(["OnReset"]) };
            server.answer(seen).unwrap_or_else(|| refusal(code, id))
        });
        let error = service.await.bmc().set_bios(&wish([("Boost", text("Off"))])).await.unwrap_err();
        assert_eq!(error.is_transient(), transient, "{error:?}");
    }
}

#[tokio::test]
async fn defaults_are_asked_for_with_a_body_and_with_what_must_be_given() {
    let service = Scripted::start(|seen, _| {
        let server = Server { value: "On".into(), wishes: json!({}), times: Value::Null };
        let remark = r#"{"@Message.ExtendedInfo":[{"MessageId":"iLO.2.14.SystemResetRequired"}]}"#;
        server.answer(seen).unwrap_or_else(|| answer(200, &[], remark))
    });
    let service = service.await;
    let ReadBack::Pending(why) = service.bmc().reset_bios().await.unwrap() else { panic!() };
    assert_eq!(why, "the bmc says that it holds after a reset");
    assert_eq!(
        (service.writes()[0].line(), &service.writes()[0].body),
        (format!("POST {SYSTEM}/Bios/Actions/Bios.ResetBios"), &json!({}))
    );
    // AMI wants to be told what kind of reset, and knows one.
    let Some(dump) = Dump::load("nvidia-dgxh100-ami-23.11") else { return };
    let answer = bmc(&dump, "").await.reset_bios().await;
    assert!(matches!(answer, Ok(ReadBack::Unverifiable(_))), "{answer:?}");
    assert_eq!(dump.writes()[0].1, json!({"ResetType": "Reset"}));
}

#[tokio::test]
async fn wishes_are_taken_back() {
    let Some(dump) = Dump::load("lenovo-sr670v2-xcc-2.83") else { return };
    let lenovo = bmc(&dump, "").await;
    assert_eq!(lenovo.discard_pending_bios().await.unwrap(), ReadBack::Confirmed);
    assert!(dump.writes().is_empty());
    let slot = "DevicesandIOPorts_PCIeGen_Slot9";
    assert!(matches!(lenovo.set_bios(&wish([(slot, text("Gen3"))])).await.unwrap(), ReadBack::Pending(_)));
    assert_eq!(lenovo.discard_pending_bios().await.unwrap(), ReadBack::Confirmed);
    assert_eq!(dump.writes()[1].1["Attributes"], json!({slot: "Auto"}));
    assert!(lenovo.bios().await.unwrap().pending.is_empty());
    // Dell has an action of its own for it.
    let Some(dump) = Dump::load("dell-r750-idrac9-6.00") else { return };
    let dell = bmc(&dump, "").await;
    assert!(matches!(dell.set_bios(&wish([("AcPwrRcvry", text("Off"))])).await.unwrap(), ReadBack::Pending(_)));
    let error = dell.discard_pending_bios().await.unwrap_err();
    assert!(matches!(&error, BmcError::Contradicted { .. }) && error.to_string().ends_with("AcPwrRcvry"), "{error}");
    let clear = format!("POST {R750}/Bios/Settings/Actions/Oem/DellManager.ClearPending");
    assert_eq!(dump.writes()[1], (clear, json!({})));
}
