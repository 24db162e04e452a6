//! Virtual media against BMCs that do what real ones were seen to do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::response::Response;
use serde_json::{Value, json};

use super::replay::bodies;
use super::scripted::{SYSTEM, Scripted, Seen, answer, ok, refusal, status, system};
use crate::{Bmc as _, BmcError, Credentials, MediaKind, Medium, ReadBack};

const MANAGER: &str = "/redfish/v1/Managers/1";
const URL: &str = "http://192.0.2.1/boot/a.iso";

/// What the tree is made of besides the slots: the root, a system and its manager, each with virtual media.
fn frame(seen: &Seen, slots: &[&str]) -> Option<Response> {
    let own = json!({"Links": {"ManagedBy": [{"@odata.id": MANAGER}]}});
    let body = match seen.path.as_str() {
        "/redfish/v1" => json!({"@odata.id": "/redfish/v1", "Systems": {"@odata.id": "/redfish/v1/Systems"}}),
        SYSTEM => system("Off", &["On", "ForceOff"], own),
        MANAGER => json!({"@odata.id": MANAGER, "VirtualMedia": {"@odata.id": format!("{MANAGER}/VirtualMedia")}}),
        "/redfish/v1/Managers/1/VirtualMedia" => {
            let members: Vec<Value> =
                slots.iter().map(|id| json!({"@odata.id": format!("{MANAGER}/VirtualMedia/{id}")})).collect();
            json!({"@odata.id": seen.path, "Members": members})
        }
        _ => return None,
    };
    Some(ok(&body))
}

/// A slot with both actions; `state` is laid over it.
fn slot(id: &str, state: Value) -> Value {
    let at = format!("{MANAGER}/VirtualMedia/{id}");
    let action = |name: &str| json!({"target": format!("{at}/Actions/VirtualMedia.{name}")});
    let mut slot = json!({
        "@odata.id": at, "Id": id, "MediaTypes": ["CD", "DVD"], "Image": null, "Inserted": false,
        "ConnectedVia": "NotConnected",
        "Actions": {"#VirtualMedia.InsertMedia": action("InsertMedia"), "#VirtualMedia.EjectMedia": action("EjectMedia")},
    });
    super::dump::merge(&mut slot, state);
    slot
}

fn filled(image: &str) -> Value {
    json!({"Image": image, "Inserted": true, "ConnectedVia": "URI"})
}

/// What was asked for, by the last part of its path.
fn acts(bmc: &Scripted) -> Vec<String> {
    bmc.writes().iter().map(|seen| seen.path.rsplit('/').next().unwrap().to_owned()).collect()
}

fn did(before: &[Seen], act: &str) -> usize {
    before.iter().filter(|seen| seen.path.ends_with(act)).count()
}

/// The state of a slot that obeys: what was done to it last.
fn obedient(before: &[Seen], at_first: Value) -> Value {
    let last = before.iter().rev().find(|seen| seen.method == "POST");
    match last {
        Some(seen) if seen.path.ends_with("InsertMedia") => filled(seen.body["Image"].as_str().unwrap()),
        Some(_) => json!({}),
        None => at_first,
    }
}

#[tokio::test]
async fn q78_an_address_that_is_there_already_is_not_trusted() {
    let bmc = Scripted::start(|seen, before| {
        frame(seen, &["CD"]).unwrap_or_else(|| match seen.method.as_str() {
            "GET" => ok(&slot("CD", obedient(before, filled(URL)))),
            _ => status(204),
        })
    });
    let bmc = bmc.await;
    let inserted = bmc.bmc().insert_media(&Medium::cd(URL)).await.unwrap();
    assert_eq!(inserted.read_back, ReadBack::Confirmed);
    assert_eq!(acts(&bmc), ["VirtualMedia.EjectMedia", "VirtualMedia.InsertMedia"]);
}

#[tokio::test]
async fn q80_properties_that_are_refused_are_left_out() {
    let bmc = Scripted::start(|seen, before| {
        frame(seen, &["CD"]).unwrap_or_else(|| match seen.method.as_str() {
            "GET" if did(before, "InsertMedia") == 2 => ok(&slot("CD", filled(URL))),
            "GET" => ok(&slot("CD", json!({}))),
            _ if seen.body.get("Inserted").is_some() => refusal(400, "Base.1.4.ActionParameterUnknown"),
            _ => status(204),
        })
    });
    let bmc = bmc.await;
    assert_eq!(bmc.bmc().insert_media(&Medium::cd(URL)).await.unwrap().read_back, ReadBack::Confirmed);
    let bodies: Vec<Value> = bmc.writes().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies, [json!({"Image": URL, "Inserted": true, "WriteProtected": true}), json!({"Image": URL})]);
}

/// Also C204.
#[tokio::test]
async fn q81_slots_without_actions_are_changed() {
    let bmc = Scripted::start(|seen, before| {
        frame(seen, &["EXT1"]).unwrap_or_else(|| {
            let mut slot = slot("EXT1", json!({}));
            slot.as_object_mut().unwrap().remove("Actions");
            match (seen.method.as_str(), before.iter().rev().find(|seen| seen.method == "PATCH")) {
                ("GET", Some(last)) if last.body["Inserted"] == json!(true) => {
                    super::dump::merge(&mut slot, filled(URL));
                    ok(&slot)
                }
                ("GET", _) => ok(&slot),
                _ => status(200),
            }
        })
    });
    let bmc = bmc.await;
    let client = bmc.bmc();
    assert_eq!(client.insert_media(&Medium::cd(URL)).await.unwrap().read_back, ReadBack::Confirmed);
    assert_eq!(client.eject_media(MediaKind::Cd).await.unwrap(), ReadBack::Confirmed);
    let writes: Vec<(String, Value)> = bmc.writes().into_iter().map(|seen| (seen.line(), seen.body)).collect();
    let line = format!("PATCH {MANAGER}/VirtualMedia/EXT1");
    assert_eq!(writes, [(line.clone(), json!({"Image": URL, "Inserted": true})), (line, json!({"Inserted": false})),]);
}

/// The manager's collection is gone, the system has one.
#[tokio::test]
async fn q82_media_of_the_system_alone_are_found() {
    let bmc = Scripted::start(|seen, _| match seen.path.as_str() {
        SYSTEM => {
            let media = json!({
                "VirtualMedia": {"@odata.id": format!("{SYSTEM}/VirtualMedia")},
                "Links": {"ManagedBy": [{"@odata.id": MANAGER}]},
            });
            ok(&system("Off", &["On"], media))
        }
        "/redfish/v1/Systems/1/VirtualMedia" => {
            ok(&json!({"@odata.id": seen.path, "Members": [{"@odata.id": format!("{SYSTEM}/VirtualMedia/1")}]}))
        }
        "/redfish/v1/Systems/1/VirtualMedia/1" => ok(&slot("1", json!({"@odata.id": seen.path}))),
        MANAGER => ok(&json!({"@odata.id": MANAGER, "VirtualMedia": {"@odata.id": format!("{MANAGER}/VirtualMedia")}})),
        _ => status(404),
    });
    let slots = bmc.await.bmc().media().await.unwrap();
    let ids: Vec<&str> = slots.iter().map(|slot| slot.id.as_str()).collect();
    assert_eq!(ids, ["/redfish/v1/Systems/1/VirtualMedia/1"]);
}

/// C201, as captured: an iDRAC whose manager links to media that are not there.
#[tokio::test]
async fn c201_media_of_an_idrac_are_found_under_its_system() {
    let Some(bodies) = bodies("fixtures-bmclib") else { return };
    let prefix = "internal/redfishwrapper/fixtures/dell/";
    let mut tree: HashMap<String, Value> = HashMap::new();
    for (file, body) in bodies.iter().filter(|(file, _)| file.starts_with(prefix)) {
        let at = body["@odata.id"].as_str().unwrap().to_owned();
        let known = tree.entry(at).or_insert(Value::Null);
        // The system is there twice, once with what its action to reset takes and once with its link to media.
        super::dump::merge(known, body.clone());
        assert!(known.is_object(), "{file}");
    }
    let media = json!({"VirtualMedia": {"@odata.id": "/redfish/v1/Managers/iDRAC.Embedded.1/VirtualMedia"}});
    super::dump::merge(tree.get_mut("/redfish/v1/Managers/iDRAC.Embedded.1").unwrap(), media);
    let bmc = Scripted::start(move |seen, before| {
        let Some(body) = tree.get(&seen.path).filter(|_| seen.method == "GET") else {
            return status(if seen.method == "GET" { 404 } else { 204 });
        };
        let mut body = body.clone();
        if did(before, "InsertMedia") > 0 && seen.path.ends_with("VirtualMedia/1") {
            super::dump::merge(&mut body, filled(URL));
        }
        ok(&body)
    });
    let bmc = bmc.await;
    let client = bmc.bmc_without_path();
    let system = "/redfish/v1/Systems/System.Embedded.1/VirtualMedia";
    let ids: Vec<String> = client.media().await.unwrap().into_iter().map(|slot| slot.id).collect();
    assert_eq!(ids, [format!("{system}/1"), format!("{system}/2")]);
    assert_eq!(client.insert_media(&Medium::cd(URL)).await.unwrap().read_back, ReadBack::Confirmed);
    let wanted = json!({"Image": URL, "TransferProtocolType": "HTTP", "Inserted": true, "WriteProtected": true});
    assert_eq!(bmc.writes().last().unwrap().body, wanted);
}

/// Also C207: what stays behind after an eject neither keeps it from ending nor the next insert from beginning.
#[tokio::test]
async fn q84_an_address_that_stays_after_the_eject_is_none() {
    let bmc = Scripted::start(|seen, before| {
        frame(seen, &["CD"]).unwrap_or_else(|| {
            let left = json!({"Image": "http://192.0.2.1/old.iso", "Inserted": true, "ConnectedVia": "NotConnected"});
            match seen.method.as_str() {
                "GET" if did(before, "InsertMedia") > 0 => ok(&slot("CD", filled(URL))),
                "GET" if did(before, "EjectMedia") > 0 => ok(&slot("CD", left)),
                "GET" => ok(&slot("CD", filled("http://192.0.2.1/old.iso"))),
                _ => status(204),
            }
        })
    });
    let bmc = bmc.await;
    let client = bmc.bmc();
    assert_eq!(client.eject_media(MediaKind::Cd).await.unwrap(), ReadBack::Confirmed);
    assert!(!client.media().await.unwrap()[0].inserted);
    assert_eq!(client.insert_media(&Medium::cd(URL)).await.unwrap().read_back, ReadBack::Confirmed);
}

#[tokio::test]
async fn q85_a_slot_that_is_slow_to_empty_is_waited_for() {
    let bmc = Scripted::start(|seen, before| {
        frame(seen, &["CD"]).unwrap_or_else(|| {
            let reads_since = before.iter().rev().take_while(|seen| seen.method == "GET").count();
            let ejected = did(before, "EjectMedia") > 0;
            match (seen.method.as_str(), did(before, "InsertMedia")) {
                ("GET", 0) if ejected && reads_since >= 3 => ok(&slot("CD", json!({}))),
                ("GET", 0) => ok(&slot("CD", filled("http://192.0.2.1/old.iso"))),
                ("GET", 3) => ok(&slot("CD", filled(URL))),
                ("GET", _) => ok(&slot("CD", json!({}))),
                (_, tried) if seen.path.ends_with("InsertMedia") && tried < 2 => status(500),
                _ => status(204),
            }
        })
    });
    let bmc = bmc.await;
    assert_eq!(bmc.bmc().insert_media(&Medium::cd(URL)).await.unwrap().read_back, ReadBack::Confirmed);
    let insert = "VirtualMedia.InsertMedia";
    assert_eq!(acts(&bmc), ["VirtualMedia.EjectMedia", insert, insert, insert]);
}

#[tokio::test]
async fn q86_the_next_slot_is_tried_where_one_answers_405() {
    let bmc = Scripted::start(|seen, before| {
        frame(seen, &["Slot_0", "Slot_1"]).unwrap_or_else(|| {
            let id = if seen.path.contains("Slot_0") { "Slot_0" } else { "Slot_1" };
            let inserted = before.iter().any(|seen| seen.line().contains("Slot_1/Actions"));
            match seen.method.as_str() {
                "GET" if id == "Slot_1" && inserted => ok(&slot(id, filled(URL))),
                "GET" => ok(&slot(id, json!({}))),
                _ if id == "Slot_0" => status(405),
                _ => status(204),
            }
        })
    });
    let inserted = bmc.await.bmc().insert_media(&Medium::cd(URL)).await.unwrap();
    assert!(inserted.slot.ends_with("Slot_1"), "{}", inserted.slot);
}

#[tokio::test]
async fn q90_a_refused_address_is_explained() {
    let bmc = Scripted::start(|seen, _| {
        frame(seen, &["CD"]).unwrap_or_else(|| match seen.method.as_str() {
            "GET" => ok(&slot("CD", json!({}))),
            _ => refusal(400, "Base.1.4.ActionParameterValueFormatError"),
        })
    });
    let bmc = bmc.await;
    let error = bmc.bmc().insert_media(&Medium::cd("http://192.0.2.1/a.iso?token=s3cr3t")).await.unwrap_err();
    assert!(matches!(error, BmcError::Refused { .. }) && !error.is_transient(), "{error}");
    assert!(error.to_string().contains("without ? and = that end in .iso"), "{error}");
    let error = bmc.bmc().insert_media(&Medium::cd(URL)).await.unwrap_err();
    assert!(!error.to_string().contains("that end in .iso"), "{error}");
}

#[tokio::test]
async fn q93_a_detached_drive_is_explained() {
    let bmc = Scripted::start(|seen, _| {
        frame(seen, &["CD"]).unwrap_or_else(|| match seen.method.as_str() {
            "GET" => ok(&slot("CD", json!({}))),
            _ => refusal(400, "IDRAC.2.4.RAC0904"),
        })
    });
    let error = bmc.await.bmc().insert_media(&Medium::cd(URL)).await.unwrap_err().to_string();
    assert!(error.contains("AutoAttach"), "{error}");
}

#[tokio::test]
async fn q94_a_missing_licence_is_said() {
    let bmc = Scripted::start(|seen, _| {
        frame(seen, &["CD"]).unwrap_or_else(|| match seen.method.as_str() {
            "GET" => ok(&slot("CD", json!({}))),
            _ => {
                let message =
                    "Not licensed to perform this request. The following licenses SFT-DCMS-SINGLE were needed.";
                let info = json!([{"MessageId": "SMC.1.0.OemLicenseNotPassed", "Message": message}]);
                answer(401, &[], &json!({"error": {"@Message.ExtendedInfo": info}}).to_string())
            }
        })
    });
    let bmc = bmc.await.bmc();
    let error = bmc.insert_media(&Medium::cd(URL)).await.unwrap_err();
    assert!(matches!(&error, BmcError::Unsupported { .. }), "{error:?}");
    assert!(error.to_string().contains("SFT-DCMS-SINGLE"), "{error}");
    // It is no wrong password, which would lock out what needs no licence.
    assert_eq!(bmc.media().await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_was_accepted_and_does_not_show_is_an_error_and_goes_to_no_other_slot() {
    let bmc = Scripted::start(|seen, _| {
        frame(seen, &["CD1", "CD2"]).unwrap_or_else(|| match seen.method.as_str() {
            "GET" => ok(&slot(seen.path.rsplit('/').next().unwrap(), json!({}))),
            _ => status(204),
        })
    });
    let bmc = bmc.await;
    let error = bmc.bmc().insert_media(&Medium::cd(URL)).await.unwrap_err();
    assert!(matches!(&error, BmcError::NotApplied { .. }), "{error:?}");
    assert_eq!(acts(&bmc).len(), 1);
}

#[tokio::test]
async fn another_image_than_was_asked_for_contradicts() {
    let bmc = Scripted::start(|seen, before| {
        frame(seen, &["CD"]).unwrap_or_else(|| match seen.method.as_str() {
            "GET" if did(before, "InsertMedia") > 0 => ok(&slot("CD", filled("http://192.0.2.1/other.iso"))),
            "GET" => ok(&slot("CD", json!({}))),
            _ => status(204),
        })
    });
    let error = bmc.await.bmc().insert_media(&Medium::cd(URL)).await.unwrap_err();
    assert!(matches!(&error, BmcError::Contradicted { .. }), "{error:?}");
    assert!(error.to_string().contains("other.iso"), "{error}");
}

/// A writer that keeps what is logged.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Logged {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Though the service repeats what was sent to it, first while it is busy and then for good.
#[tokio::test]
async fn no_secret_of_the_medium_comes_back_in_an_error_or_a_log() {
    let logged = Logged::default();
    let writer = logged.clone();
    // With one subscriber alone tracing asks that of the thread that first comes by a place, which may be another test's: none.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone());
    let _guard = tracing::subscriber::set_default(subscriber.finish());
    let bmc = Scripted::start(|seen, before| {
        frame(seen, &["CD"]).unwrap_or_else(|| match seen.method.as_str() {
            "GET" => ok(&slot("CD", json!({}))),
            _ => {
                let busy = did(before, "InsertMedia") < 2;
                let message = format!("Cannot mount {} for {}", seen.body["Image"], seen.body["Password"]);
                let info = json!([{"MessageId": "Base.1.4.GeneralError", "Message": message}]);
                let status = if busy { 503 } else { 400 };
                answer(status, &[], &json!({"error": {"@Message.ExtendedInfo": info}}).to_string())
            }
        })
    });
    let mut medium = Medium::cd("http://bob:s3cr3t@192.0.2.1/a.iso?token=t0ken");
    medium.login = Some(Credentials::new("bob", "pa55word"));
    let error = bmc.await.bmc().insert_media(&medium).await.unwrap_err();
    let logged = String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("redfish call is made again") && logged.contains("503"), "{logged}");
    let shown = format!("{error} {error:?} {logged}");
    assert!(shown.contains("http://192.0.2.1/a.iso"), "{shown}");
    for secret in ["s3cr3t", "t0ken", "pa55word"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

/// What may show later ends it; only a slot that is none after all gives way to the next.
#[tokio::test]
async fn only_a_slot_that_cannot_be_used_gives_way_to_the_next() {
    const TASK: &str = "/redfish/v1/TaskService/Tasks/1";
    for (code, tried) in [(202, 1), (500, 1), (503, 1), (401, 1), (405, 2), (404, 2), (501, 2), (400, 2)] {
        let bmc = Scripted::start(move |seen, before| {
            frame(seen, &["CD1", "CD2"]).unwrap_or_else(|| match seen.method.as_str() {
                "GET" if seen.path == TASK => ok(&json!({"TaskState": "Running"})),
                "GET" if seen.path.ends_with("CD2") && did(before, "CD2/Actions/VirtualMedia.InsertMedia") > 0 => {
                    ok(&slot("CD2", filled(URL)))
                }
                "GET" => ok(&slot(seen.path.rsplit('/').next().unwrap(), json!({}))),
                _ if seen.path.contains("/CD2/") => status(204),
                _ if code == 202 => answer(202, &[("Location", TASK)], ""),
                _ => status(code),
            })
        });
        let bmc = bmc.await;
        let inserted = bmc.bmc().insert_media(&Medium::cd(URL)).await;
        assert_eq!(inserted.is_ok(), tried == 2, "{code}: {inserted:?}");
        let mut slots: Vec<String> = bmc.writes().iter().map(|seen| seen.path.clone()).collect();
        slots.dedup();
        assert_eq!(slots.len(), tried, "{code}: {slots:?}");
    }
}

/// A slot that cannot be read may be filled: neither is it called empty, nor is there said to be none.
#[tokio::test]
async fn a_slot_that_is_not_shown_is_not_passed_over() {
    let bmc = |code: u16, slots: &'static [&str]| {
        Scripted::start(move |seen, _| {
            frame(seen, slots).unwrap_or_else(|| match seen.path.rsplit('/').next().unwrap() {
                "Broken" => status(code),
                id if seen.method == "GET" => ok(&slot(id, json!({}))),
                _ => status(204),
            })
        })
    };
    for slots in [&["CD", "Broken"][..], &["Broken"]] {
        let bmc = bmc(500, slots).await;
        let errors = [
            bmc.bmc().eject_media(MediaKind::Cd).await.unwrap_err(),
            bmc.bmc().insert_media(&Medium::cd(URL)).await.unwrap_err(),
            bmc.bmc().capabilities().await.unwrap_err(),
        ];
        for error in errors {
            assert!(error.is_transient() && error.to_string().contains("VirtualMedia/Broken"), "{error}");
        }
        assert!(bmc.writes().is_empty());
    }
    let ejected = bmc(403, &["CD", "Broken"]).await.bmc().eject_media(MediaKind::Cd).await.unwrap();
    assert!(matches!(&ejected, ReadBack::Unverifiable(why) if why.contains("VirtualMedia/Broken")), "{ejected:?}");
    let error = bmc(403, &["Broken"]).await.bmc().eject_media(MediaKind::Cd).await.unwrap_err();
    assert!(error.to_string().contains("does not show its virtual media") && !error.is_transient(), "{error}");
}

/// Else both would find the slot empty, and the second would be refused or fill it unseen.
#[tokio::test]
async fn two_inserts_at_once_go_one_after_the_other() {
    let bmc = Scripted::start(|seen, before| {
        frame(seen, &["CD"]).unwrap_or_else(|| match seen.method.as_str() {
            "GET" => ok(&slot("CD", obedient(before, json!({})))),
            _ => status(204),
        })
    });
    let bmc = bmc.await;
    let client = bmc.bmc();
    let other = Medium::cd("http://192.0.2.1/boot/b.iso");
    let first = Medium::cd(URL);
    let (one, two) = tokio::join!(client.insert_media(&first), client.insert_media(&other));
    assert_eq!((one.unwrap().read_back, two.unwrap().read_back), (ReadBack::Confirmed, ReadBack::Confirmed));
    assert_eq!(acts(&bmc), ["VirtualMedia.InsertMedia", "VirtualMedia.EjectMedia", "VirtualMedia.InsertMedia"]);
}

/// Only what the slot itself says in the end counts, and only of an address by HTTPS.
#[tokio::test]
async fn a_slot_is_asked_to_verify_certificates_and_believed_when_it_says_that_it_does() {
    let https = "https://192.0.2.1/boot/a.iso";
    for (url, at_first, obeys, asked, verified) in [
        (https, Some(false), true, true, true),
        (https, Some(false), false, true, false),
        (https, Some(true), true, false, true),
        (https, None, true, false, false),
        (URL, Some(false), true, false, false),
        (URL, Some(true), true, false, false),
    ] {
        let bmc = Scripted::start(move |seen, before| {
            frame(seen, &["CD"]).unwrap_or_else(|| match seen.method.as_str() {
                "GET" => {
                    let patched = before.iter().any(|seen| seen.body["VerifyCertificate"] == json!(true));
                    let mut state = obedient(before, json!({}));
                    if let Some(at_first) = at_first {
                        state["VerifyCertificate"] = json!(at_first || patched && obeys);
                    }
                    ok(&slot("CD", state))
                }
                _ => status(204),
            })
        });
        let bmc = bmc.await;
        let inserted = bmc.bmc().insert_media(&Medium::cd(url)).await.unwrap();
        assert_eq!(inserted.verified, verified, "{url} {at_first:?} {obeys}");
        assert_eq!(acts(&bmc).iter().any(|act| act == "CD"), asked, "{url} {at_first:?} {obeys}");
    }
}
