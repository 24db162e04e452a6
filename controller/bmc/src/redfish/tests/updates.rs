//! Firmware updates, against the trees of real BMCs and against what BMCs do in the middle of one.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use serde_json::{Value, json};

use super::bmc;
use super::dump::Dump;
use super::scripted::{Scripted, Seen, answer, ok, refusal, status, system};
use crate::{
    Bmc as _, BmcError, FirmwareApply, FirmwareFile, FirmwareImage, FirmwareJob, FirmwareProgress, FollowFirmware,
    follow_firmware_update,
};

#[tokio::test]
async fn real_bmcs_say_how_they_take_firmware() {
    let cases = [
        ("dell-r630-idrac8-2.81", true, "HTTP", false, false),
        ("dell-r750-idrac9-6.00", true, "HTTP NFS CIFS TFTP HTTPS", true, false),
        ("hpe-dl385gen10plusv2-ilo5-2.72", true, "HTTP HTTPS", false, false),
        ("intel-s2600bpb-1.93", true, "", false, false),
        ("lenovo-sr670v2-xcc-2.83", true, "TFTP SFTP HTTPS HTTP", true, true),
        ("nvidia-bluefield3-bmc-24.10", true, "SCP HTTP HTTPS", true, true),
        ("nvidia-dgxh100-ami-23.11", true, "HTTP FTP HTTPS", true, false),
        ("openbmc-stock-2.15-dev", false, "", true, true),
        ("supermicro-sys821ge-tnhr", true, "HTTP HTTPS FTP", true, false),
    ];
    for (name, fetches, protocols, forms, files) in cases {
        let Some(dump) = Dump::load(name) else { return };
        let ways = bmc(&dump, "").await.firmware_ways().await.unwrap();
        let shown = (ways.fetches, ways.protocols.join(" "), ways.takes_forms, ways.takes_files);
        assert_eq!(shown, (fetches, protocols.to_owned(), forms, files), "{name}");
    }
    let Some(dump) = Dump::load("supermicro-x10-b") else { return };
    let error = bmc(&dump, "").await.firmware_ways().await.unwrap_err();
    assert!(matches!(&error, BmcError::Unsupported { .. }), "{error}");
}

fn image() -> FirmwareImage {
    FirmwareImage {
        url: "http://images.example/bios-2.bin".to_owned(),
        targets: Vec::new(),
        apply: FirmwareApply::Default,
        login: None,
    }
}

const TASK: &str = "/redfish/v1/TaskService/Tasks/JID_7";
const UPDATE: &str = "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate";

/// A BMC with an update service whose one part has `version`; the rest is none.
fn server(seen: &Seen, version: &str, more: &Value) -> Option<axum::response::Response> {
    let link = |path: &str| json!({"@odata.id": format!("/redfish/v1/{path}")});
    Some(match seen.line().strip_prefix("GET /redfish/v1")? {
        "" => ok(&json!({"Systems": link("Systems"), "UpdateService": link("UpdateService")})),
        "/Systems/1" => ok(&system("On", &["On"], json!({}))),
        "/UpdateService" => {
            let mut service = json!({
                "Id": "UpdateService", "ServiceEnabled": true,
                "FirmwareInventory": link("UpdateService/FirmwareInventory"),
                "Actions": {"#UpdateService.SimpleUpdate": {"target": UPDATE}},
            });
            super::dump::merge(&mut service, more.clone());
            ok(&service)
        }
        "/UpdateService/FirmwareInventory" => ok(&json!({"Members": [link("UpdateService/FirmwareInventory/BIOS")]})),
        "/UpdateService/FirmwareInventory/BIOS" => ok(&json!({"Id": "BIOS", "Version": version})),
        _ => return None,
    })
}

/// The whole way: started, running without a percentage, away in the middle, and forgotten; the version tells the end.
#[tokio::test]
async fn an_update_is_followed_through_a_restart_and_its_end_is_read_from_the_versions() {
    for (after, wanted) in [("2.0", FirmwareProgress::Done), ("1.0", FirmwareProgress::Gone)] {
        let service = Scripted::start(move |seen, before| {
            let asked = before.iter().filter(|seen| seen.path == TASK).count();
            let posted = before.iter().any(|seen| seen.method == "POST");
            let version = if posted { after } else { "1.0" };
            server(seen, version, &json!({})).unwrap_or_else(|| match (seen.path.as_str(), asked) {
                (UPDATE, _) => answer(202, &[("Location", TASK)], ""),
                // Not there yet, then running, away for all the attempts of a question, and forgotten.
                (TASK, 0) => status(404),
                (TASK, 1) => ok(&json!({"TaskState": "New", "TaskStatus": "OK"})),
                (TASK, 2) => ok(&json!({"TaskState": "Running", "TaskStatus": "OK"})),
                (TASK, 3..9) => answer(503, &[("Retry-After", "0")], "<html>starting</html>"),
                _ => status(404),
            })
        });
        let service = service.await;
        let bmc = service.bmc();
        let job = bmc.start_firmware_update(&image()).await.unwrap();
        assert!(job.0.starts_with(&format!("{TASK}#")), "{job}");
        let quick = FollowFirmware { period: Duration::from_millis(10), ..FollowFirmware::default() };
        let (mut running, mut away) = (0, 0);
        let end = follow_firmware_update(&bmc, &job, quick, |seen| match seen {
            Ok(FirmwareProgress::Running { percent: None, .. }) => running += 1,
            Err(_) => away += 1,
            Ok(_) => {}
        });
        assert_eq!(end.await.unwrap(), wanted);
        assert_eq!((running, away > 0), (1, true));
        assert_eq!(service.writes()[0].body, json!({"ImageURI": "http://images.example/bios-2.bin"}));
    }
}

/// iDRAC's task is gone, its job is not.
#[tokio::test]
async fn q121_an_update_whose_task_is_gone_is_found_among_the_jobs() {
    for (state, wanted) in [("Completed", "Done"), ("Failed", "Failed { why: \"Failed: Bad image (RED007)\" }")] {
        let service = Scripted::start(move |seen, _| {
            server(seen, "1", &json!({})).unwrap_or_else(|| match seen.path.as_str() {
                "/redfish/v1/Managers/iDRAC.Embedded.1/Oem/Dell/Jobs/JID_7" => ok(&json!({
                    "JobState": state, "Messages": [{"MessageId": "IDRAC.2.8.RED007", "Message": "Bad image."}],
                })),
                _ => status(404),
            })
        });
        let progress = service.await.bmc().firmware_progress(&FirmwareJob(TASK.to_owned())).await.unwrap();
        assert_eq!(format!("{progress:?}"), wanted);
    }
}

/// iLO 5 answers 200 and has no task: its update service says how it stands.
#[tokio::test]
async fn an_update_without_a_task_is_followed_at_the_service() {
    let service = Scripted::start(|seen, before| {
        let asked = before.iter().filter(|seen| seen.path == "/redfish/v1/UpdateService").count();
        let hpe = match asked {
            0 => json!({"State": "Idle"}),
            1 => json!({"State": "Writing", "FlashProgressPercent": 40}),
            2 => json!({"State": "Complete"}),
            _ => json!({"State": "Error", "Result": {"MessageId": "iLO.2.14.UpdateInvalidFile"}}),
        };
        server(seen, "1", &json!({"Oem": {"Hpe": hpe}})).unwrap_or_else(|| status(200))
    });
    let bmc = service.await.bmc();
    let job = bmc.start_firmware_update(&image()).await.unwrap();
    assert!(job.0.starts_with("update-service#"), "{job}");
    let running = FirmwareProgress::Running { percent: Some(40), step: "Writing".to_owned() };
    assert_eq!(bmc.firmware_progress(&job).await.unwrap(), running);
    assert_eq!(bmc.firmware_progress(&job).await.unwrap(), FirmwareProgress::Done);
    let failed = FirmwareProgress::Failed { why: "iLO.2.14.UpdateInvalidFile".to_owned() };
    assert_eq!(bmc.firmware_progress(&job).await.unwrap(), failed);
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let refused = Scripted::start(|seen, _| {
        server(seen, "1", &json!({})).unwrap_or_else(|| refusal(400, "Update.1.0.InvalidImage"))
    });
    let error = refused.await.bmc().start_firmware_update(&image()).await.unwrap_err();
    assert!(matches!(&error, BmcError::Refused { .. }) && error.to_string().contains("InvalidImage"), "{error}");
    let off =
        Scripted::start(|seen, _| server(seen, "1", &json!({"ServiceEnabled": false})).unwrap_or_else(|| status(500)));
    let error = off.await.bmc().start_firmware_update(&image()).await.unwrap_err();
    assert!(error.to_string().contains("is switched off"), "{error}");
    let Some(dump) = Dump::load("openbmc-stock-2.15-dev") else { return };
    let error = bmc(&dump, "").await.start_firmware_update(&image()).await.unwrap_err();
    assert!(error.to_string().contains("/redfish/v1/UpdateService has no action SimpleUpdate"), "{error}");
    let Some(dump) = Dump::load("dell-r630-idrac8-2.81") else { return };
    let mut ftp = image();
    ftp.url = "ftp://user:secret@images.example/x".to_owned();
    let error = bmc(&dump, "").await.start_firmware_update(&ftp).await.unwrap_err().to_string();
    assert!(error.contains("it fetches by HTTP only, not by FTP") && !error.contains("secret"), "{error}");
    assert!(dump.writes().is_empty());
}

#[tokio::test]
async fn an_image_is_pushed_where_it_fits() {
    let file = |length: usize| FirmwareFile {
        name: "bios.bin".to_owned(),
        length: length as u64,
        bytes: stream::iter([Ok(Bytes::from(vec![b'x'; length]))]).boxed(),
        targets: vec!["/redfish/v1/UpdateService/FirmwareInventory/BIOS".to_owned()],
        apply: FirmwareApply::Default,
    };
    let service = Scripted::start(|seen, _| {
        let ways = json!({"MultipartHttpPushUri": "/redfish/v1/UpdateService/upload", "MaxImageSizeBytes": 5000});
        server(seen, "1", &ways).unwrap_or_else(|| match seen.path.as_str() {
            "/redfish/v1/UpdateService/upload" => answer(202, &[("Location", TASK)], ""),
            TASK => ok(&json!({"TaskState": "Running", "PercentComplete": 1})),
            _ => status(404),
        })
    });
    let service = service.await;
    let job = service.bmc().push_firmware_update(file(4000)).await.unwrap();
    assert!(job.0.starts_with(TASK), "{job}");
    let writes = service.writes();
    assert_eq!(writes.len(), 1);
    assert!(writes[0].header("Content-Type").unwrap().starts_with("multipart/form-data"));
    let error = service.bmc().push_firmware_update(file(6000)).await.unwrap_err();
    assert!(error.to_string().contains("the image has 6000 bytes; it takes at most 5000"), "{error}");
}

/// What the service said of the update before is not said of this one, though it is Complete or Error still.
#[tokio::test]
async fn the_end_of_an_earlier_update_is_not_taken_for_this_ones() {
    for state in ["Complete", "Error"] {
        let service = Scripted::start(move |seen, before| {
            let posted = before.iter().any(|seen| seen.method == "POST");
            let parts = before.iter().filter(|seen| posted && seen.path.ends_with("FirmwareInventory/BIOS")).count();
            let version = if parts < 3 { "1" } else { "2" };
            server(seen, version, &json!({"Oem": {"Hpe": {"State": state}}})).unwrap_or_else(|| status(200))
        });
        let bmc = service.await.bmc();
        let job = bmc.start_firmware_update(&image()).await.unwrap();
        for _ in 0..2 {
            let progress = bmc.firmware_progress(&job).await.unwrap();
            assert!(matches!(progress, FirmwareProgress::Running { .. }), "{progress:?}");
        }
        assert_eq!(bmc.firmware_progress(&job).await.unwrap(), FirmwareProgress::Done);
    }
    // The same word again, after others: it is this one's.
    let service = Scripted::start(|seen, before| {
        let posted = before.iter().position(|seen| seen.method == "POST");
        let asked =
            posted.map(|at| before[at..].iter().filter(|seen| seen.path == "/redfish/v1/UpdateService").count());
        let state = if asked == Some(1) { "Writing" } else { "Complete" };
        server(seen, "1", &json!({"Oem": {"Hpe": {"State": state}}})).unwrap_or_else(|| status(200))
    });
    let bmc = service.await.bmc();
    let job = bmc.start_firmware_update(&image()).await.unwrap();
    assert_eq!(bmc.firmware_progress(&job).await.unwrap(), FirmwareProgress::Done);
}

/// No task and no state: it is under way until the version tells otherwise or too much time has gone by.
#[tokio::test]
async fn an_update_of_which_nothing_is_known_is_under_way() {
    let service = Scripted::start(|seen, before| {
        let posted = before.iter().any(|seen| seen.method == "POST");
        let reads = before.iter().filter(|seen| posted && seen.path.ends_with("FirmwareInventory/BIOS")).count();
        server(seen, if reads < 3 { "1" } else { "2" }, &json!({})).unwrap_or_else(|| status(200))
    });
    let bmc = service.await.bmc();
    let job = bmc.start_firmware_update(&image()).await.unwrap();
    let mut running = 0;
    let quick = FollowFirmware { period: Duration::from_millis(10), ..FollowFirmware::default() };
    let end = follow_firmware_update(&bmc, &job, quick, |seen| {
        running += usize::from(matches!(seen, Ok(FirmwareProgress::Running { .. })));
    });
    assert_eq!((end.await.unwrap(), running), (FirmwareProgress::Done, 2));
    let old = FirmwareJob("update-service#t1000000000".to_owned());
    assert_eq!(bmc.firmware_progress(&old).await.unwrap(), FirmwareProgress::Gone);
}

#[tokio::test]
async fn a_task_that_is_about_to_begin_is_not_one_that_waits() {
    for (state, waits) in [("New", false), ("Starting", false), ("Scheduled", true), ("Pending", true)] {
        let service = Scripted::start(move |seen, _| {
            server(seen, "1", &json!({})).unwrap_or_else(|| ok(&json!({"TaskState": state, "TaskStatus": "OK"})))
        });
        let progress = service.await.bmc().firmware_progress(&FirmwareJob(TASK.to_owned())).await.unwrap();
        assert_eq!(matches!(progress, FirmwareProgress::Waiting { .. }), waits, "{progress:?}");
    }
}

/// Another part, or one that is away for a moment, says nothing of the one that is updated.
#[tokio::test]
async fn only_the_targets_tell_that_an_update_is_done() {
    let service = Scripted::start(|seen, before| {
        let posted = before.iter().any(|seen| seen.method == "POST");
        let folder = "/redfish/v1/UpdateService/FirmwareInventory";
        match (seen.path.strip_prefix(folder), posted) {
            (Some(""), _) => ok(&json!({"Members": [
                {"@odata.id": format!("{folder}/BIOS")}, {"@odata.id": format!("{folder}/NIC")},
            ]})),
            (Some("/NIC"), posted) => ok(&json!({"Version": if posted { "9" } else { "8" }})),
            _ => server(seen, "1", &json!({})).unwrap_or_else(|| status(200)),
        }
    });
    let bmc = service.await.bmc();
    let mut bios = image();
    bios.targets = vec!["/redfish/v1/UpdateService/FirmwareInventory/BIOS/".to_owned()];
    let job = bmc.start_firmware_update(&bios).await.unwrap();
    let progress = bmc.firmware_progress(&job).await.unwrap();
    assert!(matches!(progress, FirmwareProgress::Running { .. }), "{progress:?}");
}

#[tokio::test]
async fn no_secret_of_the_image_comes_back() {
    let service = Scripted::start(|seen, _| {
        server(seen, "1", &json!({})).unwrap_or_else(|| match seen.path.as_str() {
            TASK => {
                let message = "Cannot fetch http://bob:s3cr3t@images.example/bios.bin?token=t0ken now";
                ok(&json!({"TaskState": "Exception", "Messages": [{"MessageId": "Update.1.0.X", "Message": message}]}))
            }
            _ => {
                let message = format!("{} does not answer to {}", seen.body["ImageURI"], seen.body["Password"]);
                let info = json!([{"MessageId": "Update.1.0.TransferFailed", "Message": message}]);
                answer(400, &[], &json!({"error": {"@Message.ExtendedInfo": info}}).to_string())
            }
        })
    });
    let bmc = service.await.bmc();
    let mut image = image();
    image.url = "http://bob:s3cr3t@images.example/bios.bin?token=t0ken".to_owned();
    image.login = Some(crate::Credentials::new("bob", "pa55word"));
    let error = bmc.start_firmware_update(&image).await.unwrap_err();
    let failed = bmc.firmware_progress(&FirmwareJob(TASK.to_owned())).await.unwrap();
    let shown = format!("{error} {error:?} {failed:?} {image:?}");
    assert_eq!(shown.matches("http://images.example/bios.bin").count(), 6, "{shown}");
    for secret in ["s3cr3t", "t0ken", "pa55word"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}
