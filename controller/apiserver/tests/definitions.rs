//! What else happens when a definition changes or goes: to its instances and what they own, to requests and watches under
//! way, and to the built-in kinds.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use common::{open, widgets};
use futures::{FutureExt as _, SinkExt as _};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/test.example/v1/namespaces/default/widgets";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

fn at(list: &str, name: &str) -> String {
    format!("{list}/{name}")
}

fn request(method: &str, path: &str, body: Body) -> http::Request<Body> {
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    http::Request::builder().method(method).uri(path).header("content-type", kind).body(body).unwrap()
}

async fn answer(response: axum::response::Response) -> (u16, Value) {
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into()))
}

async fn send(router: &Router, method: &str, path: &str, body: Value) -> (u16, Value) {
    let body = if body.is_null() { Body::empty() } else { body.to_string().into() };
    answer(router.clone().oneshot(request(method, path, body)).await.unwrap()).await
}

async fn get(router: &Router, path: &str) -> (u16, Value) {
    send(router, "GET", path, Value::Null).await
}

async fn make(router: &Router, list: &str, object: Value) -> Value {
    let (code, made) = send(router, "POST", list, object).await;
    assert_eq!(code, 201, "{made}");
    made
}

/// Until an object is gone.
async fn gone(router: &Router, path: &str) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    while get(router, path).await.0 != 404 {
        assert!(tokio::time::Instant::now() < deadline, "never gone: {path}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Until nobody writes any more: several times on end, since a task that writes for ever pauses as well.
async fn all_is_quiet(router: &Router) {
    const WINDOW: Duration = Duration::from_millis(400);
    const WINDOWS: u32 = 4;
    let version = || async { get(router, "/api/v1/namespaces").await.1["metadata"]["resourceVersion"].clone() };
    // What a server writes when it begins may come late on a busy machine.
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    let mut quiet = 0;
    while quiet < WINDOWS {
        assert!(tokio::time::Instant::now() < deadline, "somebody writes again and again");
        let before = version().await;
        tokio::time::sleep(WINDOW).await;
        quiet = if version().await == before { quiet + 1 } else { 0 };
    }
}

fn widget(name: &str) -> Value {
    json!({"apiVersion": "test.example/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 3}})
}

fn map(name: &str, owners: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": owners}})
}

fn owner(of: &Value, blocks: bool) -> Value {
    json!({"apiVersion": of["apiVersion"], "kind": of["kind"], "name": of["metadata"]["name"],
        "uid": of["metadata"]["uid"], "blockOwnerDeletion": blocks})
}

#[tokio::test]
async fn a_definition_with_a_finalizer_of_its_own_waits_in_peace() {
    let dir = TempDir::new().unwrap();
    let (api, _) = open(dir.path()).await;
    let router = api.router();
    let definition = at(DEFINITIONS, "widgets.test.example");
    let hold = json!({"metadata": {"finalizers": ["test.example/hold"]}});
    assert_eq!(send(&router, "PATCH", &definition, hold).await.0, 200);
    make(&router, WIDGETS, widget("a")).await;
    assert_eq!(send(&router, "DELETE", &definition, Value::Null).await.0, 200);
    gone(&router, &at(WIDGETS, "a")).await;
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    while get(&router, &definition).await.1["metadata"]["finalizers"] != json!(["test.example/hold"]) {
        assert!(tokio::time::Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    all_is_quiet(&router).await;
    let free = json!({"metadata": {"finalizers": null}});
    assert_eq!(send(&router, "PATCH", &definition, free).await.0, 200);
    gone(&router, &definition).await;
}

#[tokio::test]
async fn names_of_built_in_kinds_are_taken() {
    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let dir = TempDir::new().unwrap();
    let (api, _) = open(dir.path()).await;
    let router = api.router();
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "kept"}});
    make(&router, LEASES, lease).await;
    let mut definition = widgets();
    definition["metadata"] = json!({"name": "leases.coordination.k8s.io", "annotations": {
        "api-approved.kubernetes.io": "unapproved, a test"}});
    definition["spec"]["group"] = "coordination.k8s.io".into();
    definition["spec"]["names"] = json!({"plural": "leases", "kind": "Lease"});
    make(&router, DEFINITIONS, definition.clone()).await;
    let made = get(&router, &at(DEFINITIONS, "leases.coordination.k8s.io")).await.1;
    let conditions = made["status"]["conditions"].as_array().unwrap();
    let found = |kind: &str| conditions.iter().find(|condition| condition["type"] == kind).unwrap();
    assert_eq!(found("NamesAccepted")["status"], "False");
    assert_eq!(found("NamesAccepted")["message"], "\"LeaseList\" is already in use");
    assert_eq!(found("Established")["status"], "False");

    assert_eq!(get(&router, &at(LEASES, "kept")).await.0, 200);
    let second = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "second"},
        "spec": {"holderIdentity": "me"}});
    assert_eq!(make(&router, LEASES, second).await["spec"]["holderIdentity"], "me", "still the built-in kind");
    let path = at(DEFINITIONS, "leases.coordination.k8s.io");
    assert_eq!(send(&router, "DELETE", &path, Value::Null).await.0, 200);
    gone(&router, &path).await;
    for name in ["kept", "second"] {
        assert_eq!(get(&router, &at(LEASES, name)).await.0, 200, "{name}");
    }
}

/// What a status says of the names is the server's to say: its controllers say it again, as upstream's do.
#[tokio::test]
async fn no_write_of_a_status_takes_a_kind_out_of_service() {
    let dir = TempDir::new().unwrap();
    let (api, _) = open(dir.path()).await;
    let router = api.router();
    let definition = at(DEFINITIONS, "widgets.test.example");
    make(&router, WIDGETS, widget("a")).await;
    let (_, mut sent) = get(&router, &definition).await;
    sent["status"] = json!({"conditions": [], "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]});
    let (code, answer) = send(&router, "PUT", &at(&definition, "status"), sent).await;
    assert_eq!(code, 200, "{answer}");
    let (code, list) = get(&router, WIDGETS).await;
    assert_eq!((code, list["items"].as_array().map(Vec::len)), (200, Some(1)), "{list}");
    let (_, found) = get(&router, &definition).await;
    assert_eq!(found["status"]["acceptedNames"]["kind"], "Widget");
    let conditions = found["status"]["conditions"].as_array().unwrap();
    let holds = |kind: &str| conditions.iter().any(|found| found["type"] == kind && found["status"] == "True");
    assert!(holds("Established") && holds("NamesAccepted"), "{found}");
}

#[tokio::test]
async fn what_instances_own_goes_when_they_go_with_their_definition() {
    let dir = TempDir::new().unwrap();
    let (api, _) = open(dir.path()).await;
    let router = api.router();
    let owned: Vec<Value> = {
        let mut owners = Vec::new();
        for n in 0..20 {
            owners.push(make(&router, WIDGETS, widget(&format!("w{n}"))).await);
        }
        owners.iter().map(|of| owner(of, false)).collect()
    };
    for (n, owner) in owned.iter().enumerate() {
        make(&router, MAPS, map(&format!("m{n}"), json!([owner]))).await;
    }
    let mut misnamed = owned[0].clone();
    misnamed["kind"] = "Gadget".into();
    make(&router, MAPS, map("other", json!([misnamed]))).await;
    let definition = at(DEFINITIONS, "widgets.test.example");
    assert_eq!(send(&router, "DELETE", &definition, Value::Null).await.0, 200);
    gone(&router, &definition).await;
    for n in 0..owned.len() {
        gone(&router, &at(MAPS, &format!("m{n}"))).await;
    }
    assert_eq!(get(&router, &at(MAPS, "other")).await.0, 200, "nobody can say what a gadget is");
}

#[tokio::test]
async fn an_owner_of_an_unknown_kind_keeps_its_dependent() {
    let dir = TempDir::new().unwrap();
    let (api, _) = open(dir.path()).await;
    let router = api.router();
    let top = make(&router, WIDGETS, widget("top")).await;
    let unknown = json!({"apiVersion": "un.known/v1", "kind": "Thing", "name": "t", "uid": "11-22"});
    make(&router, MAPS, map("shared", json!([owner(&top, true), unknown]))).await;
    make(&router, MAPS, map("own", json!([owner(&top, true)]))).await;
    let foreground = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"});
    assert_eq!(send(&router, "DELETE", &at(WIDGETS, "top"), foreground).await.0, 200);
    gone(&router, &at(WIDGETS, "top")).await;
    assert_eq!(get(&router, &at(MAPS, "own")).await.0, 404);
    let (code, shared) = get(&router, &at(MAPS, "shared")).await;
    assert_eq!((code, &shared["metadata"]["ownerReferences"]), (200, &json!([unknown])));
}

#[tokio::test]
async fn roles_that_are_put_together_of_each_other_come_to_rest() {
    let dir = TempDir::new().unwrap();
    let (api, _) = open(dir.path()).await;
    let router = api.router();
    for (name, of, rule) in [("one", "two", "pods"), ("two", "one", "secrets")] {
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name, "labels": {"test": name}},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"test": of}}]},
            "rules": [{"apiGroups": [""], "resources": [rule], "verbs": ["get"]}]});
        make(&router, ROLES, role).await;
    }
    all_is_quiet(&router).await;
}

/// Sends a request of which the body comes only once `meanwhile` is done.
async fn slowly(router: &Router, path: &str, body: Value, meanwhile: impl Future<Output = ()>) -> (u16, Value) {
    let (mut sender, receiver) = futures::channel::mpsc::channel::<Result<Bytes, std::io::Error>>(0);
    let mut pending = Box::pin(router.clone().oneshot(request("POST", path, Body::from_stream(receiver))));
    // The body is asked for after the kind was looked up: what fills the channel's one place is taken then.
    let text = body.to_string();
    let (first, rest) = text.split_at(1);
    sender.try_send(Ok(first.to_owned().into())).unwrap();
    while futures::future::poll_fn(|cx| sender.poll_ready(cx)).now_or_never().is_none() {
        assert!(pending.as_mut().now_or_never().is_none());
    }
    meanwhile.await;
    let rest = rest.to_owned();
    let finish = async move {
        sender.send(Ok(rest.into())).await.unwrap();
        drop(sender);
    };
    let (response, ()) = futures::join!(pending, finish);
    answer(response.unwrap()).await
}

#[tokio::test]
async fn an_instance_is_stored_under_the_definition_of_that_moment() {
    let dir = TempDir::new().unwrap();
    let (api, _) = open(dir.path()).await;
    let router = api.router();
    let definition = at(DEFINITIONS, "widgets.test.example");
    let undisturbed = slowly(&router, WIDGETS, widget("first"), async {}).await;
    assert_eq!(undisturbed.0, 201, "{}", undisturbed.1);

    // Something about it that does not matter.
    let (code, made) = slowly(&router, WIDGETS, widget("second"), async {
        let label = json!({"metadata": {"labels": {"a": "b"}}});
        assert_eq!(send(&router, "PATCH", &definition, label).await.0, 200);
    })
    .await;
    assert_eq!((code, &made["spec"]), (201, &json!({"mode": "UEFI", "size": 3})));

    // A tighter schema.
    let (code, refused) = slowly(&router, WIDGETS, widget("third"), async {
        let mut tighter = widgets();
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum";
        *tighter.pointer_mut(spec).unwrap() = 2.into();
        api.install_crds(&[tighter]).await.unwrap();
    })
    .await;
    assert_eq!(code, 422, "{refused}");

    // No definition any more.
    let (code, refused) = slowly(&router, WIDGETS, widget("fourth"), async {
        assert_eq!(send(&router, "DELETE", &definition, Value::Null).await.0, 200);
        gone(&router, &definition).await;
    })
    .await;
    assert_eq!(code, 404, "{refused}");
    api.install_crds(&[widgets()]).await.unwrap();
    assert_eq!(get(&router, WIDGETS).await.1["items"], json!([]));

    // One that is going.
    let hold = json!({"metadata": {"finalizers": ["test.example/hold"]}});
    let (code, refused) = slowly(&router, WIDGETS, widget("fifth"), async {
        assert_eq!(send(&router, "PATCH", &definition, hold).await.0, 200);
        assert_eq!(send(&router, "DELETE", &definition, Value::Null).await.0, 200);
    })
    .await;
    assert_eq!(code, 403, "{refused}");
}

struct Watch(Body);

impl Watch {
    async fn begin(router: &Router, path: &str) -> Self {
        let response = router.clone().oneshot(request("GET", path, Body::empty())).await.unwrap();
        assert_eq!(response.status(), 200);
        Self(response.into_body())
    }

    /// The type of the next event; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        let frame = tokio::time::timeout(Duration::from_secs(10), self.0.frame()).await.expect("nothing came")?;
        let event: Value = serde_json::from_slice(&frame.unwrap().into_data().unwrap()).unwrap();
        Some(event["type"].as_str().unwrap().to_owned())
    }
}

#[tokio::test]
async fn watches_end_with_their_definition() {
    let dir = TempDir::new().unwrap();
    let (api, _) = open(dir.path()).await;
    let router = api.router();
    let definition = at(DEFINITIONS, "widgets.test.example");
    let watched = format!("{WIDGETS}?watch=true");
    make(&router, WIDGETS, widget("a")).await;
    let mut watch = Watch::begin(&router, &watched).await;
    assert_eq!(watch.next().await.as_deref(), Some("ADDED"));
    let mut maps =
        Watch::begin(&router, &format!("{MAPS}?watch=true&resourceVersion=0&fieldSelector=metadata.name=m")).await;

    let label = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(send(&router, "PATCH", &definition, label).await.0, 200);
    make(&router, WIDGETS, widget("b")).await;
    assert_eq!(watch.next().await.as_deref(), Some("ADDED"), "a label changes nothing");

    let mut other = widgets();
    other["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["new"] =
        json!({"type": "string"});
    api.install_crds(&[other]).await.unwrap();
    assert_eq!(watch.next().await, None, "the kind is another");

    let mut watch = Watch::begin(&router, &watched).await;
    assert_eq!(watch.next().await.as_deref(), Some("ADDED"));
    assert_eq!(watch.next().await.as_deref(), Some("ADDED"));
    assert_eq!(send(&router, "DELETE", &definition, Value::Null).await.0, 200);
    assert_eq!(watch.next().await.as_deref(), Some("DELETED"));
    assert_eq!(watch.next().await.as_deref(), Some("DELETED"));
    assert_eq!(watch.next().await, None, "the kind is gone");

    make(&router, MAPS, map("m", json!([]))).await;
    assert_eq!(maps.next().await.as_deref(), Some("ADDED"), "other kinds are watched on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_sees_a_definition_established_finds_its_kind() {
    let dir = TempDir::new().unwrap();
    let (api, _) = open(dir.path()).await;
    let router = api.router();
    for round in 0..30 {
        let group = format!("g{round}.example");
        let mut definition = widgets();
        definition["metadata"]["name"] = format!("widgets.{group}").into();
        definition["spec"]["group"] = group.as_str().into();
        let path = format!("{DEFINITIONS}?watch=true&resourceVersion=0&fieldSelector=metadata.name=widgets.{group}");
        let mut watch = Watch::begin(&router, &path).await;
        let (poster, body) = (router.clone(), definition.clone());
        let posted = tokio::spawn(async move { make(&poster, DEFINITIONS, body).await });
        assert_eq!(watch.next().await.as_deref(), Some("ADDED"));
        let (code, answer) = get(&router, &format!("/apis/{group}/v1/widgets")).await;
        assert_eq!(code, 200, "{answer}");
        posted.await.unwrap();
    }
}
