//! Runs the corpus against one server: installs what the cases need, then runs the cases side by side.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::corpus::{Case, File, Step};
use crate::kubeconfig::Access;
use crate::normal::normalise;
use crate::outcome::{Body, Outcome};
use crate::step::{Session, find};
use crate::variables::Variables;
use crate::wire::Connection;

/// Cases at a time.
const SIDE_BY_SIDE: usize = 8;
/// A definition must be served within this time.
const SETUP: Duration = Duration::from_secs(30);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs every case whose name contains `filter` and returns the normalised answers, in the order of the corpus.
///
/// # Errors
/// When the setup fails. Whatever happens in a case is an outcome.
pub async fn run(access: &Access, files: &[File], definitions: &[Value], filter: &str) -> anyhow::Result<Vec<Outcome>> {
    let mut setup: Vec<&Value> = definitions.iter().collect();
    setup.extend(files.iter().flat_map(|file| &file.setup));
    install(access, &setup).await?;
    let gate = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let mut tasks = JoinSet::new();
    let cases = files.iter().flat_map(|file| file.cases.iter().map(|case| (&file.vars, case)));
    for (index, (vars, case)) in cases.filter(|(_, case)| case.name.contains(filter)).enumerate() {
        let (access, gate, vars, case) = (access.clone(), Arc::clone(&gate), vars.clone(), case.clone());
        tasks.spawn(async move {
            let _turn = gate.acquire_owned().await;
            (index, run_case(&access, vars, &case).await)
        });
    }
    let mut done = BTreeMap::new();
    while let Some(finished) = tasks.join_next().await {
        let (index, outcomes) = finished.context("a case did not finish")?;
        done.insert(index, outcomes);
    }
    Ok(done.into_values().flatten().collect())
}

async fn run_case(access: &Access, vars: BTreeMap<String, String>, case: &Case) -> Vec<Outcome> {
    let mut variables = Variables::default();
    for (name, value) in vars.iter().chain(&case.vars) {
        variables.set(name, value);
    }
    variables.set("ns", &case.name);
    let mut session = Session::new(access, variables);
    let mut outcomes = Vec::new();
    if let Err(error) = make_namespace(&mut session.admin, &case.name).await {
        let body = Body::Failed(format!("{error:#}"));
        let id = format!("{}/0", case.name);
        return vec![Outcome { id, request: "the namespace".to_owned(), status: 0, headers: BTreeMap::new(), body }];
    }
    for (number, step) in case.steps.iter().enumerate() {
        let spread = step.spread();
        let several = spread.len() > 1;
        for (part, one) in spread.iter().enumerate() {
            let part = if several { format!(".{}", part + 1) } else { String::new() };
            let id = format!("{}/{}{part}", case.name, number + 1);
            outcomes.push(session.run(id, one).await);
        }
    }
    let steps = case.steps.iter().flat_map(Step::spread);
    outcomes.iter_mut().zip(steps).for_each(|(outcome, step)| narrow(outcome, &step));
    normalise(&mut outcomes, &session.hidden, &access.address);
    outcomes
}

/// What controllers put into every namespace. The real server runs without the ones that do, so that they do not race
/// with the cases.
const ALWAYS_THERE: &[&str] = &["kube-root-ca.crt", "default"];

/// Whether an item, a row or an event is about one of them. No case uses the namespace `default` in a list.
fn is_always_there(object: &Value) -> bool {
    let name = ["/metadata/name", "/object/metadata/name"].iter().find_map(|pointer| object.pointer(pointer));
    name.and_then(Value::as_str).is_some_and(|name| ALWAYS_THERE.contains(&name))
}

/// Keeps what the step wants compared.
fn narrow(outcome: &mut Outcome, step: &Step) {
    match &mut outcome.body {
        Body::Events(events) => events.retain(|event| !is_always_there(event)),
        Body::Json(body) => {
            for list in ["items", "rows"] {
                let Some(Value::Array(items)) = body.get_mut(list) else { continue };
                let all = items.len();
                items.retain(|item| !is_always_there(item));
                // A list of this form says that it is empty with a null: so does one that is empty without them.
                if items.is_empty()
                    && all > 0
                    && body.get("kind").is_some_and(|kind| kind == "PartialObjectMetadataList")
                {
                    body.as_object_mut().map(|fields| fields.insert(list.to_owned(), Value::Null));
                }
            }
        }
        _ => {}
    }
    let Body::Json(body) = &mut outcome.body else { return };
    for pointer in &step.without {
        if let Some((parent, key)) = pointer.rsplit_once('/')
            && let Some(Value::Object(parent)) = body.pointer_mut(parent)
        {
            parent.remove(&key.replace("~1", "/"));
        }
    }
    if !step.only.is_empty() && outcome.status < 300 {
        let picked = |pointer: &String| (pointer.clone(), find(body, pointer).cloned().unwrap_or(Value::Null));
        *body = Value::Object(step.only.iter().map(picked).collect());
    }
}

async fn make_namespace(connection: &mut Connection, name: &str) -> anyhow::Result<()> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let answer = connection.ask(post("/api/v1/namespaces", &namespace)?).await?;
    ensure!(answer.status == 201, "cannot make the namespace {name}: {}", String::from_utf8_lossy(&answer.body));
    Ok(())
}

fn post(target: &str, object: &Value) -> anyhow::Result<Request<Bytes>> {
    let body = Bytes::from(serde_json::to_vec(object)?);
    Ok(Request::post(target).header("content-type", "application/json").body(body)?)
}

async fn install(access: &Access, objects: &[&Value]) -> anyhow::Result<()> {
    let mut connection = Connection::new(access, false);
    let mut lists = Vec::new();
    for object in objects {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        ensure!(text("/kind") == "CustomResourceDefinition", "only definitions can be set up, not {}", text("/kind"));
        let name = text("/metadata/name");
        let answer = connection.ask(post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", object)?).await?;
        if answer.status != 201 {
            bail!("cannot install {name}: {} {}", answer.status, String::from_utf8_lossy(&answer.body));
        }
        let versions = object.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        for version in versions.filter(|version| version.get("served") == Some(&Value::Bool(true))) {
            let version = version.get("name").and_then(Value::as_str).unwrap_or_default();
            lists.push(format!("/apis/{}/{version}/{}", text("/spec/group"), text("/spec/names/plural")));
        }
    }
    let deadline = Instant::now() + SETUP;
    for list in lists {
        loop {
            let answer = connection.ask(Request::get(&list).body(Bytes::new())?).await?;
            if answer.status == 200 {
                break;
            }
            ensure!(Instant::now() < deadline, "{list} is not served: {}", answer.status);
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// Reads definitions from a directory of manifests.
///
/// # Errors
/// When a file cannot be read.
pub fn definitions(dir: &Path) -> anyhow::Result<Vec<Value>> {
    let entries = std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    let mut definitions = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        definitions.push(crate::yaml::parse(&text).with_context(|| format!("cannot use {}", path.display()))?);
    }
    Ok(definitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of metadata with these items, and what is left of it to compare.
    fn narrowed(items: Value) -> Value {
        let body = Body::Json(json!({"kind": "PartialObjectMetadataList", "items": items}));
        let (id, request) = ("c/1".to_owned(), "GET /".to_owned());
        let mut outcome = Outcome { id, request, status: 200, headers: BTreeMap::new(), body };
        narrow(&mut outcome, &crate::yaml::parse(r#"{do: "GET /"}"#).unwrap());
        let Body::Json(mut body) = outcome.body else { return Value::Null };
        body["items"].take()
    }

    #[test]
    fn an_empty_list_is_compared_as_it_was_sent() {
        assert_eq!(narrowed(json!([])), json!([]));
        assert_eq!(narrowed(json!(null)), json!(null));
        assert_eq!(narrowed(json!([{"metadata": {"name": "default"}}])), json!(null));
        assert_eq!(narrowed(json!([{"metadata": {"name": "a"}}])), json!([{"metadata": {"name": "a"}}]));
    }
}
