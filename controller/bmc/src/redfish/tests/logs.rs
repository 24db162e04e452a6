//! Logs and consoles, against the trees of real BMCs.

use axum::response::Response;
use serde_json::{Value, json};

use super::bmc;
use super::dump::Dump;
use super::scripted::{Scripted, Seen, ok, status, system};
use crate::Bmc as _;

/// The newest entries of all logs: those in the trees were read by hand.
#[tokio::test]
async fn real_bmcs_tell_the_newest_first() {
    let cases: [(&str, &str, &[&str]); 7] = [
        (
            "dell-r750-idrac9-6.00",
            "",
            &[
                "Lclog 83434 2024-08-08T18:48:07-05:00 Successfully logged in using root, from 192.168.248.29 and REDFISH.",
                "Lclog 83433 2024-08-08T18:48:07-05:00 The previous log entry was repeated 5 times.",
                "Lclog 83432 2024-08-08T18:47:42-05:00 The requested SecureBoot Certificate Export operation",
            ],
        ),
        (
            "dell-r630-idrac8-2.81",
            "",
            &[
                "LC 823 2022-07-01T01:17:19-05:00 Successfully logged in using root, from 172.16.31.5 and REDFISH.",
                "LC 822 2022-07-01T01:10:01-05:00 The session for root",
                "LC 821 2022-07-01T00:50:31-05:00 Successfully logged in using root, from 172.16.31.5 and REDFISH.",
            ],
        ),
        (
            "hpe-dl385gen10plusv2-ilo5-2.72",
            "",
            &[
                "IEL 5 2024-08-15T18:16:20Z Browser login: root - 192.168.248.27(DNS name not found).",
                "IEL 4 2024-08-15T18:15:27Z Browser logout",
                "IEL 3 2024-08-15T18:15:27Z Browser login",
            ],
        ),
        (
            "intel-s2600bpb-1.93",
            "",
            &[
                "RedfishLog 10 2020-10-19T20:46:22+00:00 Priority:6 login failed: root",
                "RedfishLog 9 2020-10-19T20:46:21",
                "RedfishLog 8 2020-10-19T20:46:21",
            ],
        ),
        (
            "supermicro-x10-b",
            "",
            &[
                "Log1 65 2020-02-25T17:13:16+00:00 [ OEM ] Activate Node Product Key",
                "Log1 64 2018-08-12T12:57:47+00:00 [ OEM ] Correctable ECC @DIMMB1",
                "Log1 63 2018-08-12T12:51:20",
            ],
        ),
        ("dmtf-public-rackmount1", "", &["Log1 ", "Log1 ", "Log "]),
        ("hpe-cray-ex4252-4node", "/redfish/v1/Systems/Node0", &["EventLog", "EventLog"]),
    ];
    for (name, system, wanted) in cases {
        let Some(dump) = Dump::load(name) else { return };
        let entries = bmc(&dump, system).await.log_entries(30).await.unwrap();
        let shown: Vec<String> = entries
            .iter()
            .map(|entry| {
                format!("{} {} {} {}", entry.log, entry.id, entry.time.as_deref().unwrap_or("-"), entry.message)
            })
            .collect();
        for (shown, wanted) in shown.iter().zip(wanted) {
            println!("{name}: {shown}");
            assert!(shown.starts_with(wanted), "{name}: {shown}");
        }
        assert!(entries.len() >= wanted.len() && entries.len() <= 30, "{name}: {}", entries.len());
        let times: Vec<i64> =
            entries.iter().filter_map(|entry| crate::redfish::time::seconds(entry.time.as_deref()?)).collect();
        assert!(times.is_sorted_by(|one, next| one >= next), "{name}: {times:?}");
        assert_eq!(bmc(&dump, system).await.log_entries(2).await.unwrap(), entries[..2], "{name}");
    }
}

/// A log of a thousand entries, oldest first, ten to a page.
fn long_log(seen: &Seen, can_skip: bool) -> Response {
    let from = seen.query.as_deref().and_then(|query| query.strip_prefix("$skip="));
    let from: usize = if can_skip { from.map_or(0, |from| from.parse().unwrap()) } else { 0 };
    let entry = |at: usize| json!({"Id": at.to_string(), "Message": "m", "Created": format!("2024-01-01T{:02}:{:02}:00Z", at / 60, at % 60)});
    let to = (from + 10).min(1000);
    let mut page = json!({
        "Members": (from..to).map(entry).collect::<Vec<Value>>(), "Members@odata.count": 1000,
    });
    if to < 1000 {
        page["Members@odata.nextLink"] = format!("/redfish/v1/Systems/1/LogServices/SEL/Entries?$skip={to}").into();
    }
    ok(&page)
}

#[tokio::test]
async fn a_long_log_is_entered_near_its_end() {
    for can_skip in [true, false] {
        let service = Scripted::start(move |seen, _| match seen.path.as_str() {
            "/redfish/v1/Systems/1" => ok(&system(
                "On",
                &["On"],
                json!({
                    "LogServices": {"@odata.id": "/redfish/v1/Systems/1/LogServices"},
                    "Links": {"ManagedBy": [{"@odata.id": "/redfish/v1/Managers/1"}]},
                }),
            )),
            "/redfish/v1/Systems/1/LogServices" => {
                ok(&json!({"Members": [{"@odata.id": "/redfish/v1/Systems/1/LogServices/SEL"}]}))
            }
            "/redfish/v1/Systems/1/LogServices/SEL" => {
                ok(&json!({"Id": "SEL", "Entries": {"@odata.id": "/redfish/v1/Systems/1/LogServices/SEL/Entries"}}))
            }
            "/redfish/v1/Systems/1/LogServices/SEL/Entries" => long_log(seen, can_skip),
            _ => status(404),
        });
        let service = service.await;
        let entries = service.bmc().log_entries(20).await;
        if can_skip {
            let entries = entries.unwrap();
            let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
            assert_eq!((ids.len(), ids[0], ids[19]), (20, "999", "980"));
        } else {
            // The beginning again and again: its entries are not the newest.
            let error = entries.unwrap_err().to_string();
            assert!(error.contains("log SEL shows its oldest entries first and has no end"), "{error}");
        }
        let pages = service.seen().iter().filter(|seen| seen.path.ends_with("Entries")).count();
        assert!(pages <= 4, "{pages}");
    }
}

/// Entries that are only named are read from the end that is the newest.
#[tokio::test]
async fn entries_that_are_only_named_are_read_one_by_one() {
    let Some(dump) = Dump::load("supermicro-x10-b") else { return };
    let log = "/redfish/v1/Systems/1/LogServices/Log1/Entries";
    let named: Vec<Value> = (1..=40).map(|at| json!({"@odata.id": format!("{log}/{at}")})).collect();
    dump.put(log, json!({"Members": named}));
    for at in 1..=40 {
        let created =
            format!("2024-01-{at:02}T00:00:00Z").replace("2024-01-3", "2024-02-1").replace("2024-01-40", "2024-02-20");
        dump.put(&format!("{log}/{at}"), json!({"Id": at.to_string(), "Message": "m", "Created": created}));
    }
    let entries = bmc(&dump, "").await.log_entries(3).await.unwrap();
    assert_eq!(entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["40", "39", "38"]);
}

/// A thousand entries in pages of ten, entered at the beginning only, whole or only named: the end is read all the same.
#[tokio::test]
async fn the_end_of_a_long_log_is_found_page_by_page() {
    const LOG: &str = "/redfish/v1/Systems/1/LogServices/SEL/Entries";
    for whole in [true, false] {
        let service = Scripted::start(move |seen, _| {
            let link = |path: &str| json!({"@odata.id": path});
            let entry = |at: u64| {
                json!({"@odata.id": format!("{LOG}/{at}"), "Id": at.to_string(), "Message": "m",
                    "Created": format!("2024-01-01T{:02}:{:02}:00Z", at / 60, at % 60)})
            };
            let from = seen.query.as_deref().and_then(|query| query.strip_prefix("page="));
            let from: u64 = from.map_or(0, |from| from.parse().unwrap());
            match seen.path.as_str() {
                "/redfish/v1/Systems/1" => {
                    let more = json!({
                        "LogServices": link("/redfish/v1/Systems/1/LogServices"),
                        "Links": {"ManagedBy": [link("/redfish/v1/Managers/1")]},
                    });
                    ok(&system("On", &["On"], more))
                }
                "/redfish/v1/Systems/1/LogServices" => {
                    ok(&json!({"Members": [link("/redfish/v1/Systems/1/LogServices/SEL")]}))
                }
                "/redfish/v1/Systems/1/LogServices/SEL" => ok(&json!({"Id": "SEL", "Entries": link(LOG)})),
                LOG => {
                    let named = |at| if whole { entry(at) } else { link(&format!("{LOG}/{at}")) };
                    let members: Vec<Value> = (from..from + 10).map(named).collect();
                    let mut page = json!({"Members": members, "Members@odata.count": 1000});
                    if from < 990 {
                        page["Members@odata.nextLink"] = format!("{LOG}?page={}", from + 10).into();
                    }
                    ok(&page)
                }
                path => match path.strip_prefix(LOG).and_then(|id| id.strip_prefix('/')) {
                    Some(id) => ok(&entry(id.parse().unwrap())),
                    None => status(404),
                },
            }
        });
        let entries = service.await.bmc().log_entries(3).await.unwrap();
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, ["999", "998", "997"], "{whole}");
    }
}

#[tokio::test]
async fn real_bmcs_say_how_their_console_is_reached() {
    let cases: [(&str, &[&str]); 8] = [
        (
            "dell-r750-idrac9-6.00",
            &[
                "kvm Some(true) Some(5900)",
                "ssh Some(true) Some(22) leads to the bmc's own shell; `console com2` there enters the serial console",
            ],
        ),
        (
            "hpe-dl385gen10plusv2-ilo5-2.72",
            &[
                "ssh Some(true) Some(22) leads to the server's serial console",
                "ipmi sol Some(false) Some(623)",
                "Oem Some(true) None",
                "kvm Some(true) Some(17990)",
                "ssh Some(true) Some(22) leads to the bmc's own shell; `VSP` there enters the serial console",
            ],
        ),
        (
            "lenovo-sr670v2-xcc-2.83",
            &[
                "ipmi sol Some(false) Some(623)",
                "ssh Some(true) Some(22) leads to the server's serial console",
                "kvm Some(true) Some(3900)",
                "ssh Some(true) Some(22) leads to the bmc's own shell",
            ],
        ),
        (
            "intel-s2600bpb-1.93",
            &["ssh Some(false) Some(66)", "ipmi sol Some(false) None", "kvm Some(false) Some(5902)"],
        ),
        (
            "nvidia-bluefield3-bmc-24.10",
            &[
                "ssh Some(true) Some(2200) to leave: Press ~. to exit console",
                "ipmi sol Some(true) Some(623)",
                "kvm Some(true) None",
            ],
        ),
        (
            "nvidia-dgxh100-ami-23.11",
            &[
                "ipmi sol Some(true) Some(623)",
                "kvm Some(true) Some(443)",
                "ssh Some(true) Some(22) leads to the bmc's own shell",
            ],
        ),
        (
            "openbmc-stock-2.15-dev",
            &["ssh Some(true) Some(2200)", "ipmi sol Some(true) Some(623)", "kvm Some(true) None"],
        ),
        (
            "supermicro-sys821ge-tnhr",
            &[
                "ssh Some(true) Some(22) `cd system1/sol1; start` enters it; to leave: press <Enter>, <Esc>, and then <T>",
                "ipmi sol Some(true) Some(623) to leave: Press ~.  - terminate connection",
                "kvm Some(true) Some(5900)",
            ],
        ),
    ];
    for (name, wanted) in cases {
        let Some(dump) = Dump::load(name) else { return };
        let shown: Vec<String> = bmc(&dump, "")
            .await
            .console()
            .await
            .unwrap()
            .iter()
            .map(|one| {
                format!("{} {:?} {:?} {}", one.kind, one.enabled, one.port, one.hint.as_deref().unwrap_or_default())
            })
            .collect();
        assert_eq!(shown.len(), wanted.len(), "{name}: {shown:#?}");
        for (shown, wanted) in shown.iter().zip(wanted) {
            assert!(shown.starts_with(wanted), "{name}: {shown}");
        }
    }
    let Some(dump) = Dump::load("hpe-cray-ex4252-4node") else { return };
    let error = bmc(&dump, "/redfish/v1/Systems/Node0").await.console().await.unwrap_err();
    assert!(error.to_string().contains("nor its manager tells of a console"), "{error}");
}
