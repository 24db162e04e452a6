//! Answers of a real kube-apiserver (v1.36.3) to invalid objects, word for word. The files in `golden/` were recorded
//! from it: a definition, and objects sent to it as dry runs. Where it reports several faults of one object their
//! order is random there, so causes are compared as a set and the message only when there is one cause.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// Sends one request and answers the code and the body.
async fn send(router: &axum::Router, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(axum::body::Body::from(body.to_string()))
        .unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// What of a Status is compared.
fn essence(status: &Value) -> Value {
    let causes = status.pointer("/details/causes").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut causes: Vec<Value> = causes.iter().map(|c| json!([c["reason"], c["message"], c["field"]])).collect();
    causes.sort_by_key(Value::to_string);
    let message = if causes.len() > 1 { Value::Null } else { status["message"].clone() };
    json!({"code": status["code"], "reason": status["reason"], "message": message, "causes": causes})
}

fn recorded(status: &Value) -> Value {
    let mut causes = status["causes"].as_array().cloned().unwrap_or_default();
    causes.sort_by_key(Value::to_string);
    let message = if causes.len() > 1 { Value::Null } else { status["message"].clone() };
    json!({"code": status["code"], "reason": status["reason"], "message": message, "causes": causes})
}

fn read(name: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[tokio::test]
async fn invalid_objects_are_refused_in_the_same_words() {
    let golden = read("validation.json");
    let dir = tempfile::tempdir().unwrap();
    let api = common::reopen(dir.path()).await;
    api.install_crds(&[golden["definition"].clone()]).await.unwrap();
    let router = api.router();
    let path = "/apis/golden.example/v1/namespaces/default/sinks?dryRun=All";
    let mut different = Vec::new();
    let cases = golden["cases"].as_array().unwrap();
    for case in cases {
        let object = json!({
            "apiVersion": "golden.example/v1", "kind": "Sink", "metadata": {"name": "x"}, "spec": case["spec"],
        });
        let (code, answer) = send(&router, "POST", path, &object).await;
        let (found, wanted) = match case.get("status") {
            Some(status) => (essence(&answer), recorded(status)),
            None => (json!({"code": code, "spec": answer["spec"]}), json!({"code": 201, "spec": case["stored"]})),
        };
        if found != wanted {
            different.push(format!("{}\n  found  {found}\n  wanted {wanted}", case["spec"]));
        }
    }
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), cases.len(), different.join("\n"));
    assert!(cases.len() > 600);
}

/// Definitions that are refused here for other reasons, or in other words, and why.
const OTHER_DEFINITIONS: &[(&str, &str)] = &[
    ("root default", "upstream reports a second fault of the same field"),
    ("costly rule", "there is no estimate of cost before a rule runs; a budget of steps ends it then"),
    (
        "column {\"name\": \"A\", \"type\": \"string\", \"jsonPath\": \".a[?(\"}",
        "a path that cannot be read has no column here",
    ),
];

#[tokio::test]
async fn invalid_definitions_are_refused_in_the_same_words() {
    let golden = read("definitions.json");
    let dir = tempfile::tempdir().unwrap();
    let router = common::reopen(dir.path()).await.router();
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
    let mut different = Vec::new();
    let cases = golden.as_array().unwrap();
    for case in cases {
        if OTHER_DEFINITIONS.iter().any(|(name, _)| case["name"] == *name) {
            continue;
        }
        let (code, answer) = send(&router, "POST", path, &case["definition"]).await;
        let (found, wanted) = match &case["status"] {
            Value::Null => (json!([code, answer["message"]]), json!([201, null])),
            status => (essence(&answer), recorded(status)),
        };
        if found != wanted {
            different.push(format!("{}\n  found  {found}\n  wanted {wanted}", case["name"]));
        }
    }
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), cases.len(), different.join("\n"));
    assert!(cases.len() > 150);
}

/// Rules whose refusal is worded otherwise: another parser expects other things.
fn is_worded_otherwise(message: &str) -> bool {
    const OTHER: &[&str] = &[
        "Syntax error",
        // Go's parser of addresses explains itself in more ways.
        "ParseAddr(",
        // A fault of upstream's library, which shows instead of the missing key.
        "internal error: interface conversion",
    ];
    OTHER.iter().any(|words| message.contains(words))
}

fn rule_definition(golden: &Value, rule: &Value, extra: &Value) -> Value {
    let mut spec = golden["spec"].clone();
    let mut rule = json!({"rule": rule});
    for (name, value) in extra.as_object().into_iter().flatten() {
        rule[name] = value.clone();
    }
    spec["x-kubernetes-validations"] = json!([rule]);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "rules.golden.example"},
        "spec": {
            "group": "golden.example", "scope": "Namespaced", "names": {"plural": "rules", "kind": "Rule"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": spec},
            }}}],
        },
    })
}

fn rule_object(spec: &Value) -> Value {
    json!({"apiVersion": "golden.example/v1", "kind": "Rule", "metadata": {"name": "x"}, "spec": spec})
}

fn causes_of(code: u16, answer: &Value) -> Value {
    if code < 300 { Value::Null } else { essence(answer)["causes"].clone() }
}

/// The same definition under names that are free; texts name it as it was.
fn under_another_name(definition: &Value) -> Value {
    let mut other = definition.clone();
    other["metadata"]["name"] = "trials.golden.example".into();
    other["spec"]["names"] = json!({"plural": "trials", "kind": "Trial"});
    other
}

/// A text with the name of the type of `self`, which is made up anew each time, taken out.
fn without_type_names(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("selfType") {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 8..];
        let end = tail.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(tail.len());
        out.push_str("object");
        rest = &tail[end..];
    }
    out + rest
}

#[tokio::test]
async fn rules_decide_as_upstream() {
    let golden = read("rules.json");
    let dir = tempfile::tempdir().unwrap();
    let api = common::reopen(dir.path()).await;
    let router = api.router();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let path = "/apis/golden.example/v1/namespaces/default/rules";
    let mut different = Vec::new();
    let mut decided = 0;
    for case in golden["rules"].as_array().unwrap() {
        let rule = &case["rule"];
        let definition = rule_definition(&golden, rule, &Value::Null);
        let (code, answer) =
            send(&router, "POST", &format!("{definitions}?dryRun=All"), &under_another_name(&definition)).await;
        if case["refused"]["message"].as_str().is_some_and(|message| message.contains("estimated rule cost")) {
            continue;
        }
        let wanted = case["refused"]["message"].as_str().map(without_type_names);
        let found = (code != 201).then(|| {
            without_type_names(&answer["message"].as_str().unwrap_or_default().replace("trials.golden", "rules.golden"))
        });
        let same = match (&found, &wanted) {
            (Some(_), Some(wanted)) if is_worded_otherwise(wanted) => true,
            (found, wanted) => found == wanted,
        };
        if !same {
            different.push(format!("{rule}\n  found  {found:?}\n  wanted {wanted:?}"));
        }
        let Some(results) = case["results"].as_array().filter(|_| found.is_none()) else { continue };
        api.install_crds(&[definition]).await.unwrap();
        for (object, wanted) in golden["objects"].as_array().unwrap().iter().zip(results) {
            let (code, answer) = send(&router, "POST", &format!("{path}?dryRun=All"), &rule_object(object)).await;
            let found = causes_of(code, &answer);
            decided += 1;
            let same = found == *wanted || (found.is_array() && is_worded_otherwise(&wanted.to_string()));
            if !same {
                different.push(format!("{rule} on {object}\n  found  {found}\n  wanted {wanted}"));
            }
        }
    }
    for case in golden["updates"].as_array().unwrap() {
        api.install_crds(&[rule_definition(&golden, &case["rule"], &case["extra"])]).await.unwrap();
        for item in case["cases"].as_array().unwrap() {
            send(&router, "DELETE", &format!("{path}/x"), &json!({})).await;
            let (code, answer) = send(&router, "POST", path, &rule_object(&item["create"])).await;
            let found = causes_of(code, &answer);
            if found != item["created"] {
                different.push(format!("{case}\n  found  {found}\n  wanted {}", item["created"]));
            }
            for update in item["updates"].as_array().unwrap() {
                let mut object = rule_object(&update[0]);
                object["metadata"]["resourceVersion"] = answer["metadata"]["resourceVersion"].clone();
                let (code, updated) = send(&router, "PUT", &format!("{path}/x?dryRun=All"), &object).await;
                let found = causes_of(code, &updated);
                decided += 1;
                if found != update[1] {
                    different.push(format!(
                        "{} {} -> {}\n  found  {found}\n  wanted {}",
                        case["rule"], item["create"], update[0], update[1]
                    ));
                }
            }
        }
    }
    assert!(different.is_empty(), "{} differ of {decided}:\n{}", different.len(), different.join("\n"));
    assert!(decided > 700, "{decided}");
}
