//! `Controller` keeps what an object owns as it should be: made, repaired, followed, gone with its owner.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::wait::{Condition, await_condition, conditions};
use kube::runtime::watcher;
use kube::{Client, Resource as _, ResourceExt as _};
use serde_json::json;

use crate::shelf::{Shelf, namespace, shelf};
use crate::soon;

#[derive(Debug)]
struct Failed(kube::Error);

impl std::fmt::Display for Failed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

impl std::error::Error for Failed {}

/// A config map with the number of boards, applied; then the status.
async fn reconcile(shelf: Arc<Shelf>, client: Arc<Client>) -> Result<Action, Failed> {
    let (name, space) = (shelf.name_any(), shelf.namespace().unwrap());
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), &space);
    let wanted = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            owner_references: Some(vec![shelf.controller_owner_ref(&()).unwrap()]),
            ..ObjectMeta::default()
        },
        data: Some([("boards".to_owned(), shelf.spec.boards.to_string())].into()),
        ..ConfigMap::default()
    };
    let manager = PatchParams::apply("shelves").force();
    maps.patch(&name, &manager, &Patch::Apply(&wanted)).await.map_err(Failed)?;
    let shelves: Api<Shelf> = Api::namespaced((*client).clone(), &space);
    let status = json!({
        "apiVersion": "kube-rs.example/v1", "kind": "Shelf", "status": {"built": shelf.spec.boards},
    });
    shelves.patch_status(&name, &manager, &Patch::Apply(status)).await.map_err(Failed)?;
    Ok(Action::await_change())
}

fn on_error(_: Arc<Shelf>, error: &Failed, _: Arc<Client>) -> Action {
    println!("reconciling again: {error}");
    Action::requeue(Duration::from_millis(200))
}

fn boards(count: u8) -> impl Condition<ConfigMap> {
    move |map: Option<&ConfigMap>| {
        let data = map.and_then(|map| map.data.as_ref());
        data.and_then(|data| data.get("boards")).is_some_and(|boards| *boards == count.to_string())
    }
}

pub(crate) async fn check(client: &Client) {
    namespace(client, "controlling").await;
    let shelves: Api<Shelf> = Api::namespaced(client.clone(), "controlling");
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "controlling");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let controller = Controller::new(shelves.clone(), watcher::Config::default())
        .owns(maps.clone(), watcher::Config::default().streaming_lists())
        .graceful_shutdown_on(async {
            stopped.await.ok();
        });
    let running = tokio::spawn(controller.run(reconcile, on_error, Arc::new(client.clone())).count());

    // `boards` of a status that was applied
    let built = |count: u8| {
        move |shelf: Option<&Shelf>| {
            shelf.and_then(|shelf| shelf.status.as_ref()).is_some_and(|status| status.built == count)
        }
    };
    shelves.create(&PostParams::default(), &shelf("one", 3)).await.unwrap();
    soon("the map of a new shelf", await_condition(maps.clone(), "one", boards(3))).await.unwrap();
    soon("the status of a new shelf", await_condition(shelves.clone(), "one", built(3))).await.unwrap();

    let change = Patch::Merge(json!({"spec": {"boards": 4}}));
    shelves.patch("one", &PatchParams::default(), &change).await.unwrap();
    soon("the map of a changed shelf", await_condition(maps.clone(), "one", boards(4))).await.unwrap();

    // what somebody changes or deletes is put right
    let damage = Patch::Merge(json!({"data": {"boards": "9"}}));
    maps.patch("one", &PatchParams::default(), &damage).await.unwrap();
    soon("a repaired map", await_condition(maps.clone(), "one", boards(4))).await.unwrap();
    let uid = maps.get("one").await.unwrap().uid().unwrap();
    maps.delete("one", &DeleteParams::default()).await.unwrap();
    soon("the end of a map", await_condition(maps.clone(), "one", conditions::is_deleted(&uid))).await.unwrap();
    soon("a new map", await_condition(maps.clone(), "one", boards(4))).await.unwrap();

    let uid = maps.get("one").await.unwrap().uid().unwrap();
    shelves.delete("one", &DeleteParams::foreground()).await.unwrap();
    soon("a map without owner", await_condition(maps.clone(), "one", conditions::is_deleted(&uid))).await.unwrap();
    while soon("the shelf's end", shelves.get_opt("one")).await.unwrap().is_some() {
        tokio::task::yield_now().await;
    }

    stop.send(()).unwrap();
    assert!(soon("the controller's end", running).await.unwrap() >= 4);
}
