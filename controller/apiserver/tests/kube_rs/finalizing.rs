//! `finalizer` holds an object until it has been cleaned up.

use std::sync::Arc;

use kube::api::{Api, DeleteParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Error, Event, finalizer};
use kube::{Client, ResourceExt as _};

use crate::shelf::{Shelf, namespace, shelf};
use crate::soon;

const NAME: &str = "kube-rs.example/tidy";

#[derive(Debug)]
struct NotYet;

impl std::fmt::Display for NotYet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("not yet")
    }
}

impl std::error::Error for NotYet {}

/// One turn, and what it was.
async fn turn(shelves: &Api<Shelf>, clean: bool) -> Result<Option<&'static str>, Error<NotYet>> {
    let Some(object) = shelves.get_opt("one").await.unwrap() else { return Ok(Some("gone")) };
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let reconcile = |event| async move {
        match event {
            Event::Apply(_) => told.send("apply").unwrap(),
            Event::Cleanup(_) if clean => told.send("cleanup").unwrap(),
            Event::Cleanup(_) => return Err(NotYet),
        }
        Ok(Action::await_change())
    };
    soon("a turn", finalizer(shelves, NAME, Arc::new(object), reconcile)).await?;
    Ok(tell.try_recv().ok())
}

pub(crate) async fn check(client: &Client) {
    namespace(client, "finalizing").await;
    let shelves: Api<Shelf> = Api::namespaced(client.clone(), "finalizing");
    shelves.create(&PostParams::default(), &shelf("one", 1)).await.unwrap();
    // first it only puts itself there
    assert_eq!(turn(&shelves, true).await.unwrap(), None);
    assert_eq!(shelves.get("one").await.unwrap().finalizers(), [NAME]);
    assert_eq!(turn(&shelves, true).await.unwrap(), Some("apply"));

    let left = shelves.delete("one", &DeleteParams::default()).await.unwrap();
    assert!(left.left().is_some_and(|object| object.metadata.deletion_timestamp.is_some()));
    assert!(matches!(turn(&shelves, false).await, Err(Error::CleanupFailed(NotYet))));
    assert_eq!(turn(&shelves, true).await.unwrap(), Some("cleanup"));
    assert_eq!(turn(&shelves, true).await.unwrap(), Some("gone"));
}
