//! `await_condition` sees what is, what comes and what goes.

use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use kube::runtime::wait::{Condition, await_condition};
use kube::{Client, ResourceExt as _};
use serde_json::json;

use crate::shelf::{Shelf, namespace, shelf};
use crate::soon;

fn built(count: u8) -> impl Condition<Shelf> {
    move |shelf: Option<&Shelf>| shelf.and_then(|shelf| shelf.status.as_ref()).is_some_and(|is| is.built == count)
}

pub(crate) async fn check(client: &Client) {
    namespace(client, "waiting").await;
    let shelves: Api<Shelf> = Api::namespaced(client.clone(), "waiting");

    // before it is there
    let coming = tokio::spawn(await_condition(shelves.clone(), "one", built(2)));
    let made = shelves.create(&PostParams::default(), &shelf("one", 2)).await.unwrap();
    for count in [1, 2] {
        let status = Patch::Merge(json!({"status": {"built": count}}));
        shelves.patch_status("one", &PatchParams::default(), &status).await.unwrap();
    }
    let seen = soon("a status that comes", coming).await.unwrap().unwrap().unwrap();
    assert_eq!(seen.status.unwrap().built, 2);
    // when it is so already
    soon("a status that is there", await_condition(shelves.clone(), "one", built(2))).await.unwrap();

    let uid = made.uid().unwrap();
    let gone = tokio::spawn({
        let shelves = shelves.clone();
        async move { await_condition(shelves, "one", is_deleted(&uid)).await }
    });
    shelves.delete("one", &DeleteParams::default()).await.unwrap();
    soon("an end", gone).await.unwrap().unwrap();
}
