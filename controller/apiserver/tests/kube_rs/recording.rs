//! `Recorder` publishes events and counts what happens again.

use k8s_openapi::api::core::v1::Event as OldEvent;
use k8s_openapi::api::events::v1::Event as StoredEvent;
use kube::api::{Api, ListParams, PostParams};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource as _};

use crate::shelf::{Shelf, namespace, shelf};
use crate::soon;

pub(crate) async fn check(client: &Client) {
    namespace(client, "recording").await;
    let shelves: Api<Shelf> = Api::namespaced(client.clone(), "recording");
    let object = shelves.create(&PostParams::default(), &shelf("one", 1)).await.unwrap();
    let reporter = Reporter { controller: "kube-rs.example/shelves".into(), instance: Some("first".into()) };
    let recorder = Recorder::new(client.clone(), reporter);
    let event = |reason: &str, type_| Event {
        type_,
        reason: reason.into(),
        note: Some("a board was put in".into()),
        action: "Building".into(),
        secondary: None,
    };
    for _ in 0..3 {
        soon("an event", recorder.publish(&event("Built", EventType::Normal), &object.object_ref(&()))).await.unwrap();
    }
    let warning = event("Crooked", EventType::Warning);
    soon("a warning", recorder.publish(&warning, &object.object_ref(&()))).await.unwrap();

    let events: Api<StoredEvent> = Api::namespaced(client.clone(), "recording");
    let mut all = events.list(&ListParams::default()).await.unwrap().items;
    all.sort_by_key(|event| event.reason.clone());
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[0].series.as_ref().map(|series| series.count), Some(3));
    assert_eq!(all[0].regarding.as_ref().and_then(|regarding| regarding.uid.clone()), object.metadata.uid);
    assert_eq!(all[1].type_.as_deref(), Some("Warning"));
    // the same ones by the older name of the kind
    let old: Api<OldEvent> = Api::namespaced(client.clone(), "recording");
    let selected = ListParams::default().fields("reason=Crooked,involvedObject.name=one");
    assert_eq!(old.list(&selected).await.unwrap().items.len(), 1);
}
