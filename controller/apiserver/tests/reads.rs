//! Lists and watches as a kube-apiserver v1.36 answers them: pages of a consistent state, versions of the past and of
//! the future, streamed lists, selectors, forms. The texts are those of a real one.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use axum::body::Body;
use bessemer_apiserver::ApiServer;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/test.example/v1/namespaces/default/widgets";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

async fn send(api: &ApiServer, method: Method, path: &str, accept: &str, body: Value) -> (StatusCode, String) {
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let request = Request::builder().method(method).uri(path).header("accept", accept);
    let request = request.header("content-type", "application/json").body(body).unwrap();
    let response = api.router().oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

async fn get(api: &ApiServer, path: &str) -> (u16, Value) {
    let (status, text) = send(api, Method::GET, path, "application/json", Value::Null).await;
    (status.as_u16(), serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}")))
}

async fn watch(api: &ApiServer, path: &str, accept: &str) -> Vec<Value> {
    let (status, text) = send(api, Method::GET, path, accept, Value::Null).await;
    assert_eq!(status, 200, "{path}: {text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn post(api: &ApiServer, path: &str, object: Value) -> Value {
    let (status, text) = send(api, Method::POST, path, "application/json", object).await;
    assert!(status.is_success(), "{text}");
    serde_json::from_str(&text).unwrap()
}

async fn with_maps(names: &[&str]) -> (TempDir, ApiServer) {
    let dir = TempDir::new().unwrap();
    let api = ApiServer::open(dir.path()).await.unwrap();
    for name in names {
        let map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "labels": {"n": name}}});
        post(&api, MAPS, map).await;
    }
    (dir, api)
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn pages_show_one_state() {
    let (_dir, api) = with_maps(&["c1", "c2", "c3", "c4"]).await;
    let (_, first) = get(&api, &format!("{MAPS}?limit=2")).await;
    assert_eq!(names(&first), ["c1", "c2"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    assert!(first["items"][0].get("kind").is_none(), "items of built-in kinds do not name it");

    let (status, _) = send(&api, Method::DELETE, &format!("{MAPS}/c3"), "*/*", Value::Null).await;
    assert_eq!(status, 200);
    post(&api, MAPS, json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c9"}})).await;
    let next = first["metadata"]["continue"].as_str().unwrap();
    let (_, second) = get(&api, &format!("{MAPS}?limit=2&continue={next}")).await;
    assert_eq!(names(&second), ["c3", "c4"], "the state is that of the first page");
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    assert!(second["metadata"].get("continue").is_none() && second["metadata"].get("remainingItemCount").is_none());

    let (_, selected) = get(&api, &format!("{MAPS}?limit=1&labelSelector=n%3Dc1")).await;
    assert_eq!(names(&selected), ["c1"]);
    assert!(selected["metadata"]["continue"].is_string(), "what is left may match");
    assert!(selected["metadata"].get("remainingItemCount").is_none(), "nobody knows how many do");

    let version = first["metadata"]["resourceVersion"].as_str().unwrap();
    for query in
        [format!("resourceVersionMatch=Exact&resourceVersion={version}"), format!("limit=9&resourceVersion={version}")]
    {
        assert_eq!(names(&get(&api, &format!("{MAPS}?{query}")).await.1), ["c1", "c2", "c3", "c4"], "{query}");
    }
    for query in ["resourceVersion=0&limit=1", "resourceVersionMatch=NotOlderThan&resourceVersion=1"] {
        assert_eq!(names(&get(&api, &format!("{MAPS}?{query}")).await.1), ["c1", "c2", "c4", "c9"], "{query}");
    }
}

#[tokio::test]
async fn places_sort_as_in_etcd() {
    let (_dir, api) = with_maps(&[]).await;
    for namespace in ["a", "a-b", "a.b"] {
        let path = "/api/v1/namespaces";
        let object = json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": namespace}});
        let (status, _) = send(&api, Method::POST, path, "*/*", object).await;
        if status.is_success() {
            let map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": namespace}});
            post(&api, &format!("/api/v1/namespaces/{namespace}/configmaps"), map).await;
        }
    }
    let (_, list) = get(&api, "/api/v1/configmaps?fieldSelector=metadata.namespace!%3Dkube-system").await;
    let found: Vec<_> = names(&list).into_iter().filter(|name| name.starts_with('a')).collect();
    // '-' comes before the '/' that ends the namespace.
    assert_eq!(found, ["a-b", "a"]);
    let (_, inside) = get(&api, "/api/v1/namespaces/a/configmaps").await;
    assert_eq!(names(&inside), ["a"]);
}

#[tokio::test]
async fn a_forgotten_state_is_gone_and_its_page_can_be_continued() {
    let dir = TempDir::new().unwrap();
    let next = {
        let api = ApiServer::open(dir.path()).await.unwrap();
        for name in ["c1", "c2", "c3"] {
            post(&api, MAPS, json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}})).await;
        }
        let (_, first) = get(&api, &format!("{MAPS}?limit=1")).await;
        post(&api, MAPS, json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c0"}})).await;
        first["metadata"]["continue"].as_str().unwrap().to_owned()
    };
    let api = common::reopen(dir.path()).await;
    let (code, gone) = get(&api, &format!("{MAPS}?limit=1&continue={next}")).await;
    assert_eq!((code, gone["reason"].as_str()), (410, Some("Expired")));
    assert!(gone["message"].as_str().unwrap().starts_with("The provided continue parameter is too old to display"));
    let anew = gone["metadata"]["continue"].as_str().unwrap();
    let (code, rest) = get(&api, &format!("{MAPS}?continue={anew}")).await;
    assert_eq!((code, names(&rest)), (200, vec!["c2", "c3"]));
    let (code, gone) = get(&api, &format!("{MAPS}?resourceVersion=1&resourceVersionMatch=Exact")).await;
    assert_eq!((code, gone["message"].as_str()), (410, Some("The resourceVersion for the provided list is too old.")));
}

#[tokio::test]
async fn refusals_read_like_upstream() {
    let (_dir, api) = with_maps(&["a"]).await;
    let long = "x".repeat(3 * 1024 * 1024 + 1);
    let cases = [
        (
            "?resourceVersion=abc",
            400,
            "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax",
        ),
        ("?limit=abc", 400, "strconv.ParseInt: parsing \"abc\": invalid syntax"),
        ("?continue=x", 400, "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"),
        (
            "?resourceVersionMatch=Exact",
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "?sendInitialEvents=true",
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
        ),
        (
            "?watch=1&sendInitialEvents=true",
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            "?watch=1&continue=x",
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
        ),
        (
            "?watch=1&resourceVersion=abc",
            500,
            "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax",
        ),
        (
            "?fieldSelector=spec.x%3D1",
            400,
            "\"spec.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        (
            "/a?resourceVersion=abc",
            500,
            "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax",
        ),
    ];
    for (query, wanted, message) in cases {
        let (code, status) = get(&api, &format!("{MAPS}{query}")).await;
        assert_eq!((code, status["message"].as_str()), (wanted, Some(message)), "{query}");
    }
    for path in ["?resourceVersion=99999999", "?resourceVersion=99999999&limit=1", "/a?resourceVersion=99999999"] {
        let (code, status) = get(&api, &format!("{MAPS}{path}")).await;
        assert_eq!((code, status["reason"].as_str()), (504, Some("Timeout")), "{path}");
        assert!(
            status["message"].as_str().unwrap().starts_with("Timeout: Too large resource version: 99999999, current: ")
        );
        let cause = json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]);
        assert_eq!(status["details"], json!({"causes": cause, "retryAfterSeconds": 1}), "{path}");
    }
    let map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "b"}, "data": {"k": long}});
    let (status, text) = send(&api, Method::POST, MAPS, "*/*", map).await;
    assert_eq!(status, 413);
    assert!(text.contains("Request entity too large: limit is 3145728"), "{text}");
}

#[tokio::test]
async fn an_object_may_have_one_and_a_half_mebibytes() {
    let dir = TempDir::new().unwrap();
    let (api, _client) = common::open(dir.path()).await;
    let widget = |name: &str, size: usize| {
        let annotations = json!({});
        let spec = json!({"size": 1, "note": "x".repeat(size)});
        json!({"kind": "Widget", "apiVersion": "test.example/v1", "metadata": {"name": name, "annotations": annotations}, "spec": spec})
    };
    post(&api, WIDGETS, widget("large", 1_500_000)).await;
    let (status, text) = send(&api, Method::POST, WIDGETS, "*/*", widget("larger", 1_573_000)).await;
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status.as_u16(), answer["message"].as_str()), (500, Some("etcdserver: request is too large")));
    assert!(answer.get("reason").is_none());
    assert_eq!(names(&get(&api, WIDGETS).await.1), ["large"]);
}

#[tokio::test]
async fn a_watch_can_begin_with_the_state() {
    let (_dir, api) = with_maps(&["a", "b"]).await;
    let (_, list) = get(&api, MAPS).await;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    for query in ["", "&resourceVersion=0", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"] {
        let path = format!("{MAPS}?watch=1&timeoutSeconds=1&allowWatchBookmarks=1{query}");
        let events = watch(&api, &path, "application/json").await;
        assert_eq!(kinds(&events)[..3], ["ADDED", "ADDED", "BOOKMARK"], "{query}");
        assert_eq!(events[0]["object"]["kind"], "ConfigMap");
        let end = &events[2]["object"]["metadata"];
        assert_eq!(end["annotations"], json!({"k8s.io/initial-events-end": "true"}));
        // The server itself may have written something in between.
        let number = |text: &str| text.parse::<u64>().unwrap();
        assert!(number(end["resourceVersion"].as_str().unwrap()) >= number(version), "{end}");
    }
    let without = format!("{MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    assert_eq!(kinds(&watch(&api, &without, "application/json").await), ["ADDED", "ADDED"]);
    let not = format!("{MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
    assert!(watch(&api, &not, "application/json").await.is_empty());
    let future = format!("{MAPS}?watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&resourceVersion=99999");
    let events = watch(&api, &future, "application/json").await;
    assert_eq!((kinds(&events), &events[0]["object"]["code"]), (vec!["ERROR"], &json!(504)));
    // Two seconds before the end, a bookmark says where to go on.
    let path = format!("{MAPS}?watch=1&timeoutSeconds=3&allowWatchBookmarks=1&resourceVersion={version}");
    let events = watch(&api, &path, "application/json").await;
    assert!(kinds(&events).iter().all(|kind| *kind == "BOOKMARK") && !events.is_empty(), "{events:?}");
    assert!(events[0]["object"]["metadata"]["resourceVersion"].is_string(), "{events:?}");
}

#[tokio::test]
async fn changes_are_told_as_the_selector_sees_them() {
    let (_dir, api) = with_maps(&["a"]).await;
    let (_, list) = get(&api, MAPS).await;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let map = |label: &str| json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "labels": {"n": label}}});
    for label in ["in", "in", "out", "in"] {
        let mut map = map(label);
        map["data"] = json!({"at": uuid()});
        let (status, text) = send(&api, Method::PUT, &format!("{MAPS}/a"), "*/*", map).await;
        assert_eq!(status, 200, "{text}");
    }
    send(&api, Method::DELETE, &format!("{MAPS}/a"), "*/*", Value::Null).await;
    let path = format!("{MAPS}?watch=1&timeoutSeconds=1&labelSelector=n%3Din&resourceVersion={version}");
    for accept in ["application/json", TABLE, PARTIAL] {
        let events = watch(&api, &path, accept).await;
        assert_eq!(kinds(&events), ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"], "{accept}");
        let versions: Vec<u64> = events
            .iter()
            .map(|event| event["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap())
            .collect();
        assert!(versions.is_sorted_by(|a, b| a < b), "{accept}: deletions carry their own version: {versions:?}");
        let heads = events.iter().filter(|event| event["object"]["columnDefinitions"].is_array()).count();
        assert_eq!(heads, usize::from(accept == TABLE), "{accept}: columns come with the first event");
    }
}

fn uuid() -> String {
    format!("{:?}", std::time::Instant::now())
}

#[tokio::test]
async fn other_forms_have_their_own_lists_and_bookmarks() {
    let (_dir, api) = with_maps(&["a", "b"]).await;
    let (_, text) = send(&api, Method::GET, &format!("{MAPS}?limit=1"), TABLE, Value::Null).await;
    let table: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["rows"].as_array().unwrap().len(), 1);
    assert!(table["columnDefinitions"].is_array() && table["metadata"]["continue"].is_string());
    let (_, text) = send(&api, Method::GET, MAPS, PARTIAL_LIST, Value::Null).await;
    let partial: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (partial["kind"].as_str(), partial["items"][1]["metadata"]["name"].as_str()),
        (Some("PartialObjectMetadataList"), Some("b"))
    );
    let (_, text) = send(&api, Method::GET, "/api/v1/namespaces/none/configmaps", PARTIAL_LIST, Value::Null).await;
    assert!(text.contains("\"items\":null"), "{text}");
    let (status, text) = send(&api, Method::GET, MAPS, PARTIAL, Value::Null).await;
    assert_eq!(status, 406);
    assert!(text.contains("the requested object is a list (*core.ConfigMapList)"), "{text}");

    let path = format!("{MAPS}?watch=1&timeoutSeconds=1&allowWatchBookmarks=1");
    let events = watch(&api, &path, TABLE).await;
    let end = &events[2]["object"];
    assert_eq!(end["rows"][0]["object"]["metadata"]["annotations"], json!({"k8s.io/initial-events-end": "true"}));
    let events = watch(&api, &path, PARTIAL).await;
    assert_eq!(events[2]["object"]["kind"], "PartialObjectMetadata");
}

#[tokio::test]
async fn people_get_indented_answers() {
    let (_dir, api) = with_maps(&["a"]).await;
    let (_, pretty) = send(&api, Method::GET, &format!("{MAPS}?pretty=true"), "*/*", Value::Null).await;
    let (_, plain) = send(&api, Method::GET, MAPS, "*/*", Value::Null).await;
    assert!(pretty.contains("\n  \"kind\": \"ConfigMapList\""), "{pretty}");
    assert!(!plain.trim().contains('\n'));
    assert_eq!(
        serde_json::from_str::<Value>(&pretty).unwrap()["items"],
        serde_json::from_str::<Value>(&plain).unwrap()["items"]
    );
}

#[tokio::test]
async fn a_large_list_comes_in_pieces() {
    let (_dir, api) = with_maps(&[]).await;
    for n in 0..40 {
        let map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": format!("m{n:02}")}, "data": {"k": "v".repeat(9000)}});
        post(&api, MAPS, map).await;
    }
    let request = Request::builder().uri(MAPS).body(Body::empty()).unwrap();
    let mut body = api.router().oneshot(request).await.unwrap().into_body();
    let (mut pieces, mut whole) = (0, Vec::new());
    while let Some(frame) = body.frame().await {
        let data = frame.unwrap().into_data().unwrap();
        assert!(data.len() < 128 * 1024, "a piece of {} bytes", data.len());
        pieces += 1;
        whole.extend(data);
    }
    assert!(pieces > 3, "{pieces}");
    assert_eq!(names(&serde_json::from_slice(&whole).unwrap()).len(), 40);
}

#[tokio::test]
async fn a_watcher_that_does_not_read_costs_nothing_and_is_told_to_begin_anew() {
    let dir = TempDir::new().unwrap();
    let (api, _client) = common::open(dir.path()).await;
    let widget = |seed: u64| {
        // Letters that compress badly, so that the history of 16 MiB is soon full.
        let mut state = seed;
        let mut letter = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + ((state >> 40) % 26) as u8)
        };
        let note: String = (0..1_400_000).map(|_| letter()).collect();
        json!({"kind": "Widget", "apiVersion": "test.example/v1", "metadata": {"name": format!("w{seed}")}, "spec": {"size": 1, "note": note}})
    };
    let path = format!("{WIDGETS}?watch=1&timeoutSeconds=60&resourceVersion=0");
    let mut body =
        api.router().oneshot(Request::builder().uri(path).body(Body::empty()).unwrap()).await.unwrap().into_body();
    for seed in 0..20 {
        post(&api, WIDGETS, widget(seed)).await;
    }
    let line = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let event: Value = serde_json::from_slice(&line).unwrap();
    assert_eq!((event["type"].as_str(), event["object"]["code"].as_u64()), (Some("ERROR"), Some(410)), "{event}");
    assert!(body.frame().await.is_none(), "the watch goes on");
}
