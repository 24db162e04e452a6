//! The API as `kube::Client` sees it, without a socket.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::time::Duration;

use common::{open, widget, widget_api};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Event, Secret, ServiceAccount};
use k8s_openapi::api::events::v1::Event as NewEvent;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::{PartialObjectMeta, Status};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;

fn status(error: kube::Error) -> Box<Status> {
    match error {
        kube::Error::Api(status) => status,
        other => panic!("not an API error: {other:?}"),
    }
}

async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut check: impl FnMut() -> F) -> T {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < deadline, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn create_defaults_prunes_and_validates() {
    let dir = TempDir::new().unwrap();
    let (_api, client) = open(dir.path()).await;
    let widgets = widget_api(&client);
    let made = widgets.create(&PostParams::default(), &widget("a", json!({"size": 3, "unknown": 1}))).await.unwrap();
    assert_eq!(made.data["spec"], json!({"size": 3, "mode": "UEFI"}));
    assert_eq!(made.metadata.generation, Some(1));
    assert!(made.uid().is_some() && made.creation_timestamp().is_some());

    let bad = widgets.create(&PostParams::default(), &widget("b", json!({"mode": "x", "note": "A"}))).await;
    let bad = status(bad.unwrap_err());
    assert_eq!((bad.code, bad.reason.as_str()), (422, "Invalid"));
    for part in ["spec.size: Required value", "spec.mode: Unsupported value: \"x\"", "should match '^[a-z]*$'"] {
        assert!(bad.message.contains(part), "{}", bad.message);
    }
    let twice = widgets.create(&PostParams::default(), &widget("a", json!({"size": 3}))).await;
    assert_eq!(status(twice.unwrap_err()).reason, "AlreadyExists");

    let elsewhere: Api<Secret> = Api::namespaced(client.clone(), "nowhere");
    let secret: Secret = serde_json::from_value(json!({"metadata": {"generateName": "s-"}})).unwrap();
    let missing = status(elsewhere.create(&PostParams::default(), &secret).await.unwrap_err());
    assert_eq!(missing.message, "namespaces \"nowhere\" not found");
    let here: Api<Secret> = Api::namespaced(client, "default");
    let mut secret = secret;
    secret.string_data = Some([("k".to_owned(), "v".to_owned())].into());
    let made = here.create(&PostParams::default(), &secret).await.unwrap();
    assert!(made.name_any().starts_with("s-") && made.name_any().len() == 7);
    assert_eq!(made.data.unwrap()["k"].0, b"v");
}

#[tokio::test]
async fn patches_keep_spec_and_status_apart() {
    let dir = TempDir::new().unwrap();
    let (_api, client) = open(dir.path()).await;
    let widgets = widget_api(&client);
    widgets.create(&PostParams::default(), &widget("a", json!({"size": 3}))).await.unwrap();
    let params = PatchParams::default();

    let both = json!({"spec": {"size": 4}, "status": {"phase": "Wrong"}});
    let patched = widgets.patch("a", &params, &Patch::Merge(&both)).await.unwrap();
    assert_eq!((patched.metadata.generation, patched.data.get("status")), (Some(2), None));

    let both = json!({"spec": {"size": 9}, "status": {"phase": "Right"}, "metadata": {"labels": {"x": "y"}}});
    let patched = widgets.patch_status("a", &params, &Patch::Merge(&both)).await.unwrap();
    assert_eq!(patched.data["spec"]["size"], 4);
    assert_eq!(patched.data["status"]["phase"], "Right");
    assert_eq!((patched.metadata.generation, patched.labels().len()), (Some(2), 0));

    let again = widgets.patch_status("a", &params, &Patch::Merge(&both)).await.unwrap();
    assert_eq!(again.resource_version(), patched.resource_version(), "a write that changes nothing");

    let stale = json!({"metadata": {"resourceVersion": "1"}, "spec": {"size": 5}});
    assert_eq!(status(widgets.patch("a", &params, &Patch::Merge(&stale)).await.unwrap_err()).reason, "Conflict");
    let other = json!({"metadata": {"uid": "not-it"}, "spec": {"size": 5}});
    assert_eq!(status(widgets.patch("a", &params, &Patch::Merge(&other)).await.unwrap_err()).code, 422);
    let wrong = json!({"spec": {"size": 0}});
    assert_eq!(status(widgets.patch("a", &params, &Patch::Merge(&wrong)).await.unwrap_err()).code, 422);

    let ops: json_patch::Patch = serde_json::from_value(json!([{"op": "test", "path": "/spec/size", "value": 4},
            {"op": "replace", "path": "/spec/size", "value": 6}]))
    .unwrap();
    let patched = widgets.patch("a", &params, &Patch::Json::<()>(ops.clone())).await.unwrap();
    assert_eq!(patched.data["spec"]["size"], 6);
    assert_eq!(status(widgets.patch("a", &params, &Patch::Json::<()>(ops)).await.unwrap_err()).code, 422);

    let mut whole = patched.clone();
    whole.data["spec"]["size"] = 7.into();
    let put = widgets.replace("a", &PostParams::default(), &whole).await.unwrap();
    assert_eq!(put.data["status"]["phase"], "Right");
    let stale = widgets.replace("a", &PostParams::default(), &whole).await.unwrap_err();
    assert_eq!(status(stale).reason, "Conflict");
}

#[tokio::test]
async fn finalizers_hold_an_object_back() {
    let dir = TempDir::new().unwrap();
    let (_api, client) = open(dir.path()).await;
    let widgets = widget_api(&client);
    let mut held = widget("a", json!({"size": 1}));
    held.metadata.finalizers = Some(vec!["test.example/hold".to_owned()]);
    widgets.create(&PostParams::default(), &held).await.unwrap();

    let left = widgets.delete("a", &DeleteParams::default()).await.unwrap().left().expect("still there");
    assert!(left.metadata.deletion_timestamp.is_some());
    assert_eq!(left.metadata.generation, Some(2));
    let again = widgets.delete("a", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert_eq!(again.resource_version(), left.resource_version());

    let more = json!({"metadata": {"finalizers": ["test.example/hold", "test.example/more"]}});
    let refused = widgets.patch("a", &PatchParams::default(), &Patch::Merge(&more)).await.unwrap_err();
    assert_eq!(status(refused).code, 422);
    let none = json!({"metadata": {"finalizers": null}});
    widgets.patch("a", &PatchParams::default(), &Patch::Merge(&none)).await.unwrap();
    assert!(widgets.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn watches_see_objects_enter_and_leave_a_selector() {
    let dir = TempDir::new().unwrap();
    let (_api, client) = open(dir.path()).await;
    let widgets = widget_api(&client);
    let list = widgets.list(&ListParams::default()).await.unwrap();
    let since = list.metadata.resource_version.unwrap();
    let params = WatchParams::default().labels("on=yes").timeout(60);
    let mut stream = widgets.watch(&params, &since).await.unwrap().boxed();

    widgets.create(&PostParams::default(), &widget("a", json!({"size": 1}))).await.unwrap();
    let merge = |patch: Value| {
        let widgets = widgets.clone();
        async move { widgets.patch("a", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap() }
    };
    merge(json!({"metadata": {"labels": {"on": "yes"}}})).await;
    merge(json!({"spec": {"size": 2}})).await;
    let out = merge(json!({"metadata": {"labels": {"on": "no"}}})).await;
    merge(json!({"metadata": {"labels": {"on": "yes"}}})).await;
    widgets.delete("a", &DeleteParams::default()).await.unwrap();

    let mut seen = Vec::new();
    while seen.len() < 5 {
        let event = tokio::time::timeout(Duration::from_secs(5), stream.try_next()).await.unwrap().unwrap().unwrap();
        seen.push(match event {
            WatchEvent::Added(_) => "added",
            WatchEvent::Modified(_) => "modified",
            WatchEvent::Deleted(object) => {
                if seen.len() == 2 {
                    assert_eq!(object.resource_version(), out.resource_version());
                    assert_eq!(object.labels()["on"], "yes", "the state the watcher knew");
                }
                "deleted"
            }
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(seen, ["added", "modified", "deleted", "added", "deleted"]);
}

#[tokio::test]
async fn watches_end_in_time_and_old_versions_are_gone() {
    let dir = TempDir::new().unwrap();
    {
        let (_api, client) = open(dir.path()).await;
        widget_api(&client).create(&PostParams::default(), &widget("a", json!({"size": 1}))).await.unwrap();
    }
    let (_api, client) = open(dir.path()).await;
    let widgets = widget_api(&client);
    let params = WatchParams::default().timeout(1);
    let mut stream = widgets.watch(&params, "1").await.unwrap().boxed();
    let event = stream.try_next().await.unwrap().unwrap();
    assert!(matches!(&event, WatchEvent::Error(e) if e.code == 410), "{event:?}");
    assert!(stream.try_next().await.unwrap().is_none());
    // One that is not there yet may come.
    let events: Vec<_> = widgets.watch(&params, "999999").await.unwrap().try_collect().await.unwrap();
    assert!(events.is_empty() || matches!(events.as_slice(), [WatchEvent::Bookmark(_)]), "{events:?}");
    let since = widgets.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let params = WatchParams::default().timeout(1);
    let events: Vec<_> = widgets.watch(&params, &since).await.unwrap().try_collect().await.unwrap();
    assert!(events.iter().all(|event| matches!(event, WatchEvent::Bookmark(_))), "{events:?}");
}

#[tokio::test]
async fn kube_watchers_follow_by_both_ways_and_metadata_only() {
    let dir = TempDir::new().unwrap();
    let (_api, client) = open(dir.path()).await;
    let widgets = widget_api(&client);
    widgets.create(&PostParams::default(), &widget("a", json!({"size": 1}))).await.unwrap();
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let mut stream = watcher(widgets.clone(), config.clone()).touched_objects().boxed();
        let first = tokio::time::timeout(Duration::from_secs(5), stream.try_next()).await.unwrap().unwrap().unwrap();
        assert_eq!(first.name_any(), "a");
        let next = widgets.create(&PostParams::default(), &widget("b", json!({"size": 1}))).await.unwrap();
        let seen = tokio::time::timeout(Duration::from_secs(5), stream.try_next()).await.unwrap().unwrap().unwrap();
        assert_eq!(seen.resource_version(), next.resource_version());
        widgets.delete("b", &DeleteParams::default()).await.unwrap();
    }
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "default");
    let secret: Secret = serde_json::from_value(json!({"metadata": {"name": "s"}})).unwrap();
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    let metadata: Api<PartialObjectMeta<Secret>> = Api::namespaced(client, "default");
    let mut stream = watcher(metadata, watcher::Config::default()).touched_objects().boxed();
    let first = tokio::time::timeout(Duration::from_secs(5), stream.try_next()).await.unwrap().unwrap().unwrap();
    assert_eq!(first.name_any(), "s");
}

#[tokio::test]
async fn events_have_one_storage_and_field_selectors() {
    let dir = TempDir::new().unwrap();
    let (_api, client) = open(dir.path()).await;
    let event: NewEvent = serde_json::from_value(json!({
        "metadata": {"name": "e"}, "reason": "Powered", "type": "Normal", "action": "PowerOn", "note": "hello",
        "eventTime": "2026-11-30T10:00:00.000000Z", "reportingController": "c", "reportingInstance": "i",
        "regarding": {"kind": "Widget", "name": "a", "namespace": "default"},
    }))
    .unwrap();
    let new: Api<NewEvent> = Api::namespaced(client.clone(), "default");
    new.create(&PostParams::default(), &event).await.unwrap();
    let core: Api<Event> = Api::namespaced(client, "default");
    let found = core.list(&ListParams::default().fields("involvedObject.name=a")).await.unwrap();
    assert_eq!(found.items[0].message.as_deref(), Some("hello"));
    assert!(core.list(&ListParams::default().fields("involvedObject.name=b")).await.unwrap().items.is_empty());
    assert_eq!(new.list(&ListParams::default().fields("regarding.name=a")).await.unwrap().items.len(), 1);
    let bad = core.list(&ListParams::default().fields("spec.x=1")).await.unwrap_err();
    assert_eq!(status(bad).message, "field label not supported: spec.x");
}

#[tokio::test]
async fn dependents_follow_their_owner_across_kinds_and_restarts() {
    let dir = TempDir::new().unwrap();
    let owned = |owner: &kube::api::DynamicObject, name: &str| {
        let owner =
            json!({"apiVersion": "test.example/v1", "kind": "Widget", "name": owner.name_any(), "uid": owner.uid()});
        serde_json::from_value::<ConfigMap>(json!({"metadata": {"name": name, "ownerReferences": [owner]}})).unwrap()
    };
    let (_api, client) = open(dir.path()).await;
    let (widgets, maps) = (widget_api(&client), Api::<ConfigMap>::namespaced(client.clone(), "default"));
    let mut middle = widget("middle", json!({"size": 1}));
    let top = widgets.create(&PostParams::default(), &widget("top", json!({"size": 1}))).await.unwrap();
    middle.metadata.owner_references = owned(&top, "").metadata.owner_references;
    let middle = widgets.create(&PostParams::default(), &middle).await.unwrap();
    maps.create(&PostParams::default(), &owned(&middle, "leaf")).await.unwrap();
    let mut shared = owned(&middle, "shared");
    let other = widgets.create(&PostParams::default(), &widget("other", json!({"size": 1}))).await.unwrap();
    shared.metadata.owner_references.as_mut().unwrap().extend(owned(&other, "").metadata.owner_references.unwrap());
    maps.create(&PostParams::default(), &shared).await.unwrap();

    widgets.delete("top", &DeleteParams::background()).await.unwrap();
    until("the leaf goes", || async { maps.get_opt("leaf").await.unwrap().is_none().then_some(()) }).await;
    let kept = until("the shared one forgets", || async {
        let map = maps.get("shared").await.unwrap();
        (map.owner_references().len() == 1).then_some(map)
    })
    .await;
    assert_eq!(kept.owner_references()[0].name, "other");

    let orphaned =
        DeleteParams { propagation_policy: Some(kube::api::PropagationPolicy::Orphan), ..Default::default() };
    widgets.delete("other", &orphaned).await.unwrap();
    let is_free = || async { maps.get("shared").await.unwrap().owner_references().is_empty().then_some(()) };
    until("the shared one is free", is_free).await;
    let is_gone = || async { widgets.get_opt("other").await.unwrap().is_none().then_some(()) };
    until("its owner goes", is_gone).await;
    // An owner that never was: collected at once.
    maps.create(&PostParams::default(), &owned(&top, "late")).await.unwrap();
    until("the late one goes", || async { maps.get_opt("late").await.unwrap().is_none().then_some(()) }).await;
}

#[tokio::test]
async fn an_owner_deleted_in_the_foreground_waits_for_those_in_its_way() {
    let dir = TempDir::new().unwrap();
    let (_api, client) = open(dir.path()).await;
    let (widgets, maps) = (widget_api(&client), Api::<ConfigMap>::namespaced(client.clone(), "default"));
    let top = widgets.create(&PostParams::default(), &widget("top", json!({"size": 1}))).await.unwrap();
    let owner = json!({
        "apiVersion": "test.example/v1", "kind": "Widget", "name": "top", "uid": top.uid(), "blockOwnerDeletion": true,
    });
    let held = json!({"metadata": {"name": "held", "finalizers": ["a.b/c"], "ownerReferences": [owner]}});
    maps.create(&PostParams::default(), &serde_json::from_value(held).unwrap()).await.unwrap();

    widgets.delete("top", &DeleteParams::foreground()).await.unwrap();
    until("the dependent is being deleted", || async {
        maps.get("held").await.unwrap().metadata.deletion_timestamp.map(drop)
    })
    .await;
    let waiting = widgets.get("top").await.unwrap();
    assert_eq!(waiting.metadata.finalizers.unwrap(), ["foregroundDeletion"]);
    let none = json!({"metadata": {"finalizers": null}});
    maps.patch("held", &PatchParams::default(), &Patch::Merge(&none)).await.unwrap();
    until("the owner goes", || async { widgets.get_opt("top").await.unwrap().is_none().then_some(()) }).await;
}

#[tokio::test]
async fn two_that_own_each_other_end_together() {
    let dir = TempDir::new().unwrap();
    let (_api, client) = open(dir.path()).await;
    let widgets = widget_api(&client);
    let a = widgets.create(&PostParams::default(), &widget("a", json!({"size": 1}))).await.unwrap();
    let b = widgets.create(&PostParams::default(), &widget("b", json!({"size": 1}))).await.unwrap();
    for (one, other) in [("a", &b), ("b", &a)] {
        let owner = json!({
            "apiVersion": "test.example/v1", "kind": "Widget", "name": other.name_any(), "uid": other.uid(),
            "blockOwnerDeletion": true,
        });
        let patch = json!({"metadata": {"ownerReferences": [owner]}});
        widgets.patch(one, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }
    widgets.delete("a", &DeleteParams::foreground()).await.unwrap();
    until("both go", || async { widgets.list(&ListParams::default()).await.unwrap().items.is_empty().then_some(()) })
        .await;
}

#[tokio::test]
async fn namespaces_take_their_contents_along() {
    let dir = TempDir::new().unwrap();
    let (_api, client) = open(dir.path()).await;
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    let made = serde_json::from_value(json!({"metadata": {"name": "x"}})).unwrap();
    namespaces.create(&PostParams::default(), &made).await.unwrap();
    let widgets: Api<kube::api::DynamicObject> = Api::namespaced_with(client.clone(), "x", &common::widget_kind());
    let mut held = widget("held", json!({"size": 1}));
    held.metadata.finalizers = Some(vec!["test.example/hold".to_owned()]);
    widgets.create(&PostParams::default(), &held).await.unwrap();
    widgets.create(&PostParams::default(), &widget("free", json!({"size": 1}))).await.unwrap();

    namespaces.delete("x", &DeleteParams::default()).await.unwrap();
    let phase = namespaces.get("x").await.unwrap().status.unwrap().phase;
    assert_eq!(phase.as_deref(), Some("Terminating"));
    until("the free one goes", || async { widgets.get_opt("free").await.unwrap().is_none().then_some(()) }).await;
    let refused = widgets.create(&PostParams::default(), &widget("new", json!({"size": 1}))).await.unwrap_err();
    assert_eq!(status(refused).code, 403);
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let labelled = namespaces.patch("x", &PatchParams::default(), &Patch::Merge(&label)).await.unwrap();
    assert_eq!(labelled.metadata.labels.unwrap()["a"], "b");
    assert!(namespaces.get_opt("x").await.unwrap().is_some(), "it ended before its contents");
    let none = json!({"metadata": {"finalizers": null}});
    widgets.patch("held", &PatchParams::default(), &Patch::Merge(&none)).await.unwrap();
    until("the namespace ends", || async { namespaces.get_opt("x").await.unwrap().is_none().then_some(()) }).await;
    assert_eq!(status(namespaces.delete("default", &DeleteParams::default()).await.unwrap_err()).code, 403);
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let dir = TempDir::new().unwrap();
    let version = {
        let (api, client) = open(dir.path()).await;
        let widgets = widget_api(&client);
        widgets.create(&PostParams::default(), &widget("a", json!({"size": 1}))).await.unwrap();
        widgets.create(&PostParams::default(), &widget("b", json!({"size": 1}))).await.unwrap();
        widgets.delete("b", &DeleteParams::default()).await.unwrap();
        api.close();
        let refused = widgets.watch(&WatchParams::default(), "0").await.err().unwrap();
        assert_eq!(status(refused).code, 503);
        // The last that the server does by itself at a first start.
        let accounts = Api::<ServiceAccount>::all(client.clone());
        until("an account in each namespace", || async {
            (accounts.list(&ListParams::default()).await.unwrap().items.len() == 4).then_some(())
        })
        .await;
        widgets.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap()
    };
    let api = common::reopen(dir.path()).await;
    api.install_crds(&[common::widgets()]).await.unwrap();
    let client = Client::new(api.router(), "default");
    let widgets = widget_api(&client);
    let list = widgets.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items.iter().map(kube::ResourceExt::name_any).collect::<Vec<_>>(), ["a"]);
    assert_eq!(list.metadata.resource_version.unwrap(), version, "restarting and reinstalling writes nothing");
    let next = widgets.create(&PostParams::default(), &widget("c", json!({"size": 1}))).await.unwrap();
    assert!(next.resource_version().unwrap().parse::<u64>().unwrap() > version.parse::<u64>().unwrap());

    let second = bessemer_apiserver::ApiServer::open(dir.path()).await.err().unwrap();
    assert!(second.to_string().contains("is in use by another process"), "{second}");
}

#[tokio::test]
async fn bad_requests_get_a_status_and_store_nothing() {
    let dir = TempDir::new().unwrap();
    let (_api, client) = open(dir.path()).await;
    let base = "/apis/test.example/v1/namespaces/default/widgets";
    let cases: [(&str, &str, &str, &str, u16); 12] = [
        ("POST", base, "application/json", "{", 400),
        ("POST", base, "application/json", "[]", 400),
        ("POST", base, "application/json", "{\"kind\":\"Widget\",\"apiVersion\":\"v9\"}", 400),
        (
            "POST",
            base,
            "application/json",
            "{\"kind\":\"Widget\",\"apiVersion\":\"test.example/v1\",\"metadata\":3}",
            400,
        ),
        (
            "POST",
            base,
            "application/json",
            "{\"kind\":\"Widget\",\"apiVersion\":\"test.example/v1\",\"metadata\":{\"name\":\"A b\"}}",
            422,
        ),
        ("POST", base, "application/vnd.kubernetes.protobuf", "k8s", 415),
        ("PUT", base, "application/json", "{}", 405),
        ("DELETE", "/apis/test.example/v1/widgets", "application/json", "", 405),
        ("PATCH", "/apis/test.example/v1/namespaces/default/widgets/none", "application/merge-patch+json", "{}", 404),
        ("PATCH", "/apis/test.example/v1/namespaces/default/widgets/none", "text/plain", "{}", 415),
        ("GET", "/api/v1/things", "", "", 404),
        ("GET", "/apis/test.example/v1/widgets?labelSelector=((", "", "", 400),
    ];
    for (method, path, kind, body, code) in cases {
        let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
        let answer = client.send(request.body(body.as_bytes().to_vec().into()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), code, "{method} {path} {body}");
        let bytes = {
            use http_body_util::BodyExt as _;
            answer.into_body().collect().await.unwrap().to_bytes()
        };
        let status: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((&status["kind"], &status["code"]), (&json!("Status"), &json!(code)), "{method} {path}");
    }
    let huge = format!("{{\"x\":\"{}\"}}", "y".repeat(4 * 1024 * 1024));
    let request = http::Request::post(base).body(huge.into_bytes().into()).unwrap();
    assert_eq!(client.send(request).await.unwrap().status(), 413);
    assert!(widget_api(&client).list(&ListParams::default()).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn definitions_come_and_go() {
    let dir = TempDir::new().unwrap();
    let (api, client) = open(dir.path()).await;
    let crds: Api<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition> =
        Api::all(client.clone());
    let made = crds.get("widgets.test.example").await.unwrap();
    let conditions = made.status.unwrap().conditions.unwrap();
    assert!(conditions.iter().any(|c| c.type_ == "Established" && c.status == "True"));

    let mut broken = common::widgets();
    broken["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["type"] = "thing".into();
    let refused = api.install_crds(&[broken]).await.unwrap_err().to_string();
    assert!(refused.contains("Unsupported value: \"thing\""), "{refused}");

    let widgets = widget_api(&client);
    widgets.create(&PostParams::default(), &widget("a", json!({"size": 1}))).await.unwrap();
    crds.delete("widgets.test.example", &DeleteParams::default()).await.unwrap();
    let is_gone = || async { crds.get_opt("widgets.test.example").await.unwrap().is_none().then_some(()) };
    until("the definition goes", is_gone).await;
    assert!(widgets.get("a").await.is_err());
    api.install_crds(&[common::widgets()]).await.unwrap();
    assert!(widgets.list(&ListParams::default()).await.unwrap().items.is_empty());
}
