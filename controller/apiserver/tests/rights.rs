//! What people may do who are not the administrator, and whom they may be taken for. The answers compared are those of a
//! real kube-apiserver (v1.36.3).
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use bessemer_apiserver::ApiServer;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

const APPLY: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

struct Client {
    router: axum::Router,
    headers: Vec<(&'static str, Vec<u8>)>,
}

impl Client {
    fn new(api: &ApiServer, headers: &[(&'static str, &[u8])]) -> Self {
        Self { router: api.router(), headers: headers.iter().map(|(name, value)| (*name, value.to_vec())).collect() }
    }

    async fn send(&self, method: &str, path: &str, kind: &str, body: &Value) -> (u16, Value) {
        let mut request = http::Request::builder().method(method).uri(path).header("content-type", kind);
        for (name, value) in &self.headers {
            request = request.header(*name, value.as_slice());
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let response = self.router.clone().oneshot(request.body(axum::body::Body::from(body)).unwrap()).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap())
    }

    async fn fails(&self, method: &str, path: &str, kind: &str, body: &Value) -> (u16, String) {
        let (code, answer) = self.send(method, path, kind, body).await;
        (code, answer["message"].as_str().unwrap_or_default().to_owned())
    }

    async fn works(&self, method: &str, path: &str, kind: &str, body: &Value) -> Value {
        let (code, answer) = self.send(method, path, kind, body).await;
        assert!(code < 300, "{method} {path}: {code} {answer}");
        answer
    }
}

fn map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}})
}

/// The administrator, and bob, who may do in `default` what the rules say.
async fn with_rules(api: &ApiServer, rules: Value) -> (Client, Client) {
    let admin = Client::new(api, &[]);
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"},
                      "rules": rules});
    admin.works("POST", &format!("{rbac}/roles"), JSON, &role).await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"}],
    });
    admin.works("POST", &format!("{rbac}/rolebindings"), JSON, &binding).await;
    (admin, Client::new(api, &[("impersonate-user", b"bob")]))
}

#[tokio::test]
async fn who_may_only_patch_applies_to_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let api = ApiServer::open(dir.path()).await.unwrap();
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]},
                       {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["own"], "verbs": ["create"]}]);
    let (admin, bob) = with_rules(&api, rules).await;
    let path = |name: &str| format!("{MAPS}/{name}?fieldManager=m");
    let refused = bob.fails("PATCH", &path("c1"), APPLY, &map("c1", "b")).await;
    let why = "configmaps \"c1\" is forbidden: User \"bob\" cannot create resource \"configmaps\" in API group \"\" in the \
               namespace \"default\"";
    assert_eq!(refused, (403, why.to_owned()));
    assert_eq!(admin.fails("GET", &path("c1"), JSON, &Value::Null).await.0, 404);
    // What is no good object is told first, as upstream does.
    let mut bad = map("c1", "b");
    bad["data"] = json!({"a/!": "b"});
    assert_eq!(bob.fails("PATCH", &path("c1"), APPLY, &bad).await.0, 422);
    assert_eq!(bob.send("PATCH", &path("own"), APPLY, &map("own", "b")).await.0, 201);
    assert_eq!(admin.send("PATCH", &path("c1"), APPLY, &map("c1", "b")).await.0, 201);
    assert_eq!(bob.send("PATCH", &format!("{}&force=true", path("c1")), APPLY, &map("c1", "c")).await.0, 200);
}

#[tokio::test]
async fn rules_about_names_hold_for_lists_of_one() {
    let dir = tempfile::tempdir().unwrap();
    let api = ApiServer::open(dir.path()).await.unwrap();
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["x"],
                        "verbs": ["list", "watch", "deletecollection"]}]);
    let (admin, bob) = with_rules(&api, rules).await;
    admin.works("POST", MAPS, JSON, &map("x", "1")).await;
    admin.works("POST", MAPS, JSON, &map("y", "1")).await;
    let list = bob.works("GET", &format!("{MAPS}?fieldSelector=metadata.name%3Dx"), JSON, &Value::Null).await;
    let names: Vec<&Value> = list["items"].as_array().unwrap().iter().map(|item| &item["metadata"]["name"]).collect();
    assert_eq!(names, ["x"]);
    let why = |name: &str, verb: &str| {
        let what = "resource \"configmaps\" in API group \"\" in the namespace \"default\"";
        (403, format!("configmaps{name} is forbidden: User \"bob\" cannot {verb} {what}"))
    };
    let cases = [
        ("GET", "?fieldSelector=metadata.name%3Dy", why(" \"y\"", "list")),
        ("GET", "?watch=1&fieldSelector=metadata.name%3Dy", why(" \"y\"", "watch")),
        ("GET", "?fieldSelector=nonsense", why("", "list")),
        ("GET", "", why("", "list")),
        ("DELETE", "?fieldSelector=metadata.name%3Dx", why("", "deletecollection")),
    ];
    for (method, query, wanted) in cases {
        assert_eq!(bob.fails(method, &format!("{MAPS}{query}"), JSON, &Value::Null).await, wanted, "{query}");
    }
}

#[tokio::test]
async fn whom_one_may_not_be_taken_for_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let api = ApiServer::open(dir.path()).await.unwrap();
    let me = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let as_whom = |headers: &[(&'static str, &[u8])]| Client::new(&api, headers);
    let headers: &[(&str, &[u8])] = &[
        ("impersonate-user", b"u"),
        ("impersonate-uid", b"7"),
        ("impersonate-group", b"g"),
        ("impersonate-extra-foo%2fa", b"1"),
    ];
    let answer = as_whom(headers).works("POST", me, JSON, &review).await;
    assert_eq!(
        answer["status"]["userInfo"],
        json!({"username": "u", "uid": "7", "groups": ["g", "system:authenticated"], "extra": {"foo/a": ["1"]}})
    );
    let headers: [&[(&str, &[u8])]; 3] = [
        &[("impersonate-user", b"j\xff")],
        &[("impersonate-user", b"u"), ("impersonate-group", b"\x80")],
        &[("impersonate-other", b"u")],
    ];
    for headers in headers {
        assert_eq!(as_whom(headers).fails("GET", MAPS, JSON, &Value::Null).await.0, 400, "{headers:?}");
    }
}

#[tokio::test]
async fn local_reviews_stay_in_their_namespace() {
    let dir = tempfile::tempdir().unwrap();
    let api = ApiServer::open(dir.path()).await.unwrap();
    let admin = Client::new(&api, &[]);
    let path = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews";
    let review = |namespace: &str| {
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "spec": {
            "user": "u", "resourceAttributes": {"namespace": namespace, "verb": "get", "resource": "secrets"}}})
    };
    let answer = admin.works("POST", path, JSON, &review("default")).await;
    assert_eq!(answer["status"]["allowed"], false);
    let (code, why) = admin.fails("POST", path, JSON, &review("other")).await;
    assert_eq!(code, 422);
    assert!(why.ends_with("Invalid value: \"other\": must match metadata.namespace"), "{why}");
}

#[tokio::test]
async fn a_namespace_is_finalized_as_it_was_read() {
    let dir = tempfile::tempdir().unwrap();
    let api = ApiServer::open(dir.path()).await.unwrap();
    let admin = Client::new(&api, &[]);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n1"}});
    let made = admin.works("POST", "/api/v1/namespaces", JSON, &namespace).await;
    let path = "/api/v1/namespaces/n1/finalize";
    let with = |metadata: Value, finalizers: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "spec": {"finalizers": finalizers}});
    let none = json!([]);
    let cases = [
        (json!({"name": "zz"}), 400, "the name of the object (zz) does not match the name on the URL (n1)"),
        (json!({}), 400, "the name of the object (n1 based on URL) was undeterminable: name must be provided"),
        (json!({"name": "n1", "uid": "u"}), 409, "Precondition failed: UID in precondition: u, UID in object meta: "),
        (json!({"name": "n1", "resourceVersion": "1"}), 409, "the object has been modified; please apply your changes"),
    ];
    for (metadata, code, why) in cases {
        let (found, message) = admin.fails("PUT", path, JSON, &with(metadata, none.clone())).await;
        assert_eq!(found, code, "{message}");
        assert!(message.contains(why), "{message}");
    }
    let same = admin.works("PUT", path, JSON, &with(json!({"name": "n1"}), json!(["kubernetes"]))).await;
    assert_eq!(same["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    let freed = admin.works("PUT", path, JSON, &with(json!({"name": "n1"}), none)).await;
    assert_ne!(freed["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
}
