//! Subscriptions and streams of events, against services that behave as services do.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::bmc;
use super::dump::Dump;
use super::scripted::{Scripted, Seen, answer, ok, refusal, status, system};
use crate::{Bmc as _, BmcError, Subscription, SubscriptionId};

const SUBSCRIPTIONS: &str = "/redfish/v1/EventService/Subscriptions";

fn wanted() -> Subscription {
    Subscription { destination: "https://controller.example/events".to_owned(), context: "bessemer-1".to_owned() }
}

/// The requests that made or ended a subscription, in order.
fn subscriptions(before: &[Seen]) -> Vec<&Seen> {
    before.iter().filter(|seen| seen.path.starts_with(SUBSCRIPTIONS) && seen.method != "GET").collect()
}

fn service(seen: &Seen, members: &[Value], more: Value) -> Option<Response> {
    let link = |path: &str| json!({"@odata.id": path});
    let path = seen.path.as_str();
    if seen.method != "GET" {
        return None;
    }
    Some(match path {
        "/redfish/v1" => {
            ok(&json!({"Systems": link("/redfish/v1/Systems"), "EventService": link("/redfish/v1/EventService")}))
        }
        "/redfish/v1/Systems/1" => ok(&system("On", &["On"], json!({}))),
        "/redfish/v1/EventService" => {
            let mut body = json!({
                "ServiceEnabled": true, "Subscriptions": link(SUBSCRIPTIONS),
                "Actions": {"#EventService.SubmitTestEvent": {"target": "/redfish/v1/EventService/Actions/Test"}},
            });
            super::dump::merge(&mut body, more);
            ok(&body)
        }
        SUBSCRIPTIONS => {
            let named: Vec<Value> = members.iter().map(|member| json!({"@odata.id": member["@odata.id"]})).collect();
            ok(&json!({"Members": named}))
        }
        _ => members.iter().find(|member| member["@odata.id"] == path).map_or_else(|| status(404), ok),
    })
}

fn member(id: &str, destination: &str, context: &str, state: &str) -> Value {
    json!({
        "@odata.id": format!("{SUBSCRIPTIONS}/{id}"), "Destination": destination, "Context": context,
        "Status": {"State": state},
    })
}

/// A service that refuses what it does not know, makes the subscription without saying where, and shows it afterwards.
#[tokio::test]
async fn a_subscription_is_made_once_in_words_that_the_service_takes() {
    let bmc = Scripted::start(|seen, before| {
        let made = subscriptions(before).iter().any(|seen| seen.body.get("EventFormatType").is_none());
        let own = member("7", "https://controller.example/events/", "bessemer-1", "Enabled");
        let other = member("1", "https://other.example/", "bessemer-1", "Enabled");
        let members = if made { vec![other, own] } else { vec![other] };
        let more = json!({"EventFormatTypes": ["Event"], "EventTypesForSubscription": ["Alert", "MetricReport"]});
        service(seen, &members, more).unwrap_or_else(|| match seen.body.get("EventFormatType") {
            Some(_) => refusal(400, "Base.1.8.PropertyUnknown"),
            None => status(201),
        })
    });
    let bmc = bmc.await;
    for _ in 0..2 {
        assert_eq!(bmc.bmc().subscribe(&wanted()).await.unwrap(), SubscriptionId(format!("{SUBSCRIPTIONS}/7")));
    }
    let bodies: Vec<Value> = bmc.writes().iter().map(|seen| seen.body.clone()).collect();
    assert_eq!(bodies.len(), 2, "{bodies:?}");
    assert_eq!(
        bodies[1],
        json!({
            "Destination": "https://controller.example/events", "Protocol": "Redfish", "Context": "bessemer-1",
            "EventTypes": ["Alert"],
        })
    );
    let held = bmc.bmc().subscriptions().await.unwrap();
    assert_eq!((held.len(), held[1].context.as_deref(), held[1].sends), (2, Some("bessemer-1"), Some(true)));
}

#[tokio::test]
async fn one_that_has_stopped_sending_is_made_anew() {
    let bmc = Scripted::start(|seen, before| {
        let writes = subscriptions(before);
        let mut members = Vec::new();
        if !writes.iter().any(|seen| seen.method == "DELETE") {
            members.push(member("1", &wanted().destination, "bessemer-1", "Disabled"));
        }
        if writes.iter().any(|seen| seen.method == "POST") {
            members.push(member("2", &wanted().destination, "bessemer-1", "Enabled"));
        }
        let place = format!("https://10.0.0.9{SUBSCRIPTIONS}/2");
        service(seen, &members, json!({})).unwrap_or_else(|| match seen.method.as_str() {
            "POST" => answer(201, &[("Location", place.as_str())], ""),
            _ => status(204),
        })
    });
    let bmc = bmc.await;
    assert_eq!(bmc.bmc().subscribe(&wanted()).await.unwrap().0, format!("{SUBSCRIPTIONS}/2"));
    let lines: Vec<String> = bmc.writes().iter().map(Seen::line).collect();
    assert_eq!(lines, [format!("DELETE {SUBSCRIPTIONS}/1"), format!("POST {SUBSCRIPTIONS}")]);
}

#[tokio::test]
async fn what_cannot_be_subscribed_says_why() {
    let full = Scripted::start(|seen, _| {
        let members = [member("1", "https://other.example", "x", "Enabled")];
        service(seen, &members, json!({})).unwrap_or_else(|| refusal(400, "Base.1.8.CreateLimitReachedForResource"))
    });
    let full = full.await;
    let error = full.bmc().subscribe(&wanted()).await.unwrap_err();
    assert!(matches!(&error, BmcError::Refused { .. }), "{error:?}");
    assert!(
        error.to_string().contains(&format!("end one of them: {SUBSCRIPTIONS}/1 to https://other.example")),
        "{error}"
    );
    assert_eq!(full.writes().len(), 1);
    let silent = Scripted::start(|seen, _| service(seen, &[], json!({})).unwrap_or_else(|| status(201)));
    let error = silent.await.bmc().subscribe(&wanted()).await.unwrap_err();
    assert!(error.to_string().ends_with("reads back no such subscription"), "{error}");
    // The event service of this one is switched off.
    let Some(dump) = Dump::load("dell-r630-idrac8-2.81") else { return };
    let error = bmc(&dump, "").await.subscribe(&wanted()).await.unwrap_err();
    assert!(matches!(&error, BmcError::Unsupported { .. }) && error.to_string().contains("ServiceEnabled"), "{error}");
    assert!(dump.writes().is_empty());
}

#[tokio::test]
async fn only_subscriptions_are_ended() {
    let service = Scripted::start(|seen, before| {
        let ended = !subscriptions(before).is_empty();
        let members = if ended { vec![] } else { vec![member("1", "https://us", "c", "Enabled")] };
        service(seen, &members, json!({})).unwrap_or_else(|| status(204))
    });
    let service = service.await;
    let bmc = service.bmc();
    bmc.unsubscribe(&SubscriptionId(format!("{SUBSCRIPTIONS}/1"))).await.unwrap();
    for id in ["/redfish/v1/AccountService/Accounts/1", "1", ""] {
        let error = bmc.unsubscribe(&SubscriptionId(id.to_owned())).await.unwrap_err();
        assert!(matches!(&error, BmcError::Refused { .. }), "{error}");
    }
    assert_eq!(service.writes().len(), 1);
}

#[tokio::test]
async fn a_test_event_is_asked_for_until_the_words_fit() {
    let service = Scripted::start(|seen, _| {
        let more = json!({"EventTypesForSubscription": ["StatusChange", "Alert"]});
        service(seen, &[], more).unwrap_or_else(|| match seen.body.as_object().map(serde_json::Map::len) {
            Some(1) if seen.body["EventType"] == "Alert" => status(204),
            _ => refusal(400, "Base.1.8.PropertyUnknown"),
        })
    });
    let service = service.await;
    service.bmc().send_test_event().await.unwrap();
    assert_eq!(service.writes().len(), 2);
}

#[tokio::test]
async fn events_are_listened_to() {
    let event = json!({"Context": "c", "Events": [{"MessageId": "TaskEvent.1.0.TaskCompletedOK", "Severity": "OK"}]});
    let text = format!(": hello\n\ndata: {{\"MetricValues\": []}}\n\nid: 1\ndata: {event}\n\n");
    let listening = Scripted::start(move |seen, _| {
        let more = json!({"ServerSentEventUri": "/redfish/v1/SSE"});
        if seen.path == "/redfish/v1/SSE" {
            let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from(text.clone()))]);
            return Response::new(Body::from_stream(first.chain(stream::pending())));
        }
        service(seen, &[], more).unwrap_or_else(|| status(404))
    });
    let listening = listening.await;
    let mut events = listening.bmc().events().await.unwrap();
    let records = events.next().await.unwrap().unwrap();
    assert_eq!(records[0].message_id.as_deref(), Some("TaskEvent.1.0.TaskCompletedOK"));
    assert!(timeout(Duration::from_millis(50), events.next()).await.is_err());
    let deaf = Scripted::start(|seen, _| service(seen, &[], json!({})).unwrap_or_else(|| status(404)));
    let Err(error) = deaf.await.bmc().events().await else { panic!() };
    assert!(error.to_string().contains("has no stream of events"), "{error}");
}

/// Some hide the context, some the destination, some both; what the answer names is still the one.
#[tokio::test]
async fn what_a_service_hides_does_not_speak_against_a_subscription() {
    for (hidden, posts) in [(&["Context"][..], 1), (&["Destination"], 2), (&["Context", "Destination"], 2)] {
        let bmc = Scripted::start(move |seen, before| {
            let (mut made, mut members) = (0, Vec::new());
            for write in subscriptions(before) {
                if write.method == "POST" {
                    made += 1;
                    let mut own = member(&made.to_string(), &wanted().destination, "bessemer-1", "Enabled");
                    own.as_object_mut().unwrap().retain(|name, _| !hidden.contains(&name.as_str()));
                    members.push(own);
                } else {
                    members.retain(|member| member["@odata.id"] != write.path);
                }
            }
            let place = format!("{SUBSCRIPTIONS}/{}", made + 1);
            service(seen, &members, json!({})).unwrap_or_else(|| match seen.method.as_str() {
                "POST" => answer(201, &[("Location", place.as_str())], ""),
                _ => status(204),
            })
        });
        let bmc = bmc.await;
        for _ in 0..2 {
            let _ = bmc.bmc().subscribe(&wanted()).await.unwrap();
        }
        let made = bmc.writes().iter().filter(|seen| seen.method == "POST").count();
        assert_eq!(made, posts, "{hidden:?}");
        // Where the context is known, the one before was ended.
        let held = bmc.bmc().subscriptions().await.unwrap().len();
        assert_eq!(held, if hidden.len() == 2 { 2 } else { 1 }, "{hidden:?}");
    }
}

/// Else each repeat would leave one more behind.
#[tokio::test]
async fn a_subscription_that_reads_back_otherwise_is_ended() {
    let bmc = Scripted::start(|seen, before| {
        let writes = subscriptions(before);
        let there = writes.iter().filter(|seen| seen.method == "POST").count()
            > writes.iter().filter(|seen| seen.method == "DELETE").count();
        let other = member("1", "https://other.example/", "bessemer-1", "Enabled");
        let members = if there { vec![other] } else { vec![] };
        service(seen, &members, json!({})).unwrap_or_else(|| match seen.method.as_str() {
            "POST" => answer(201, &[("Location", &format!("{SUBSCRIPTIONS}/1"))], ""),
            _ => status(204),
        })
    });
    let bmc = bmc.await;
    let error = bmc.bmc().subscribe(&wanted()).await.unwrap_err();
    assert!(matches!(&error, BmcError::Contradicted { .. }), "{error:?}");
    assert!(bmc.bmc().subscriptions().await.unwrap().is_empty());
}
