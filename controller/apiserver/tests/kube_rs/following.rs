//! Watchers and reflectors follow every change, with a list first and with a list that is streamed.

use std::collections::BTreeMap;
use std::pin::pin;

use futures::{Stream, StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::{WatchStreamExt as _, predicates, reflector, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::json;

use crate::shelf::{Shelf, namespace, shelf};
use crate::soon;

pub(crate) async fn check(client: &Client) {
    for (name, config) in [
        ("listed", watcher::Config::default()),
        // so small that there are several
        ("paged", watcher::Config::default().page_size(2)),
        ("streamed", watcher::Config::default().streaming_lists()),
    ] {
        namespace(client, &format!("following-{name}")).await;
        let shelves: Api<Shelf> = Api::namespaced(client.clone(), &format!("following-{name}"));
        reflect(&shelves, config.clone()).await;
        let metadata = Api::namespaced(client.clone(), &format!("following-{name}"));
        only_metadata(&shelves, metadata, config).await;
    }
}

async fn reflect(shelves: &Api<Shelf>, config: watcher::Config) {
    for name in ["a", "b", "c", "d", "e"] {
        shelves.create(&PostParams::default(), &shelf(name, 1)).await.unwrap();
    }
    let (reader, writer) = reflector::store();
    let stream = watcher(shelves.clone(), config).default_backoff().reflect(writer).applied_objects();
    let changes = stream.predicate_filter(predicates::generation, kube::runtime::PredicateConfig::default());
    let mut changes = pin!(changes.boxed());
    let mut begun: Vec<String> = Vec::new();
    while begun.len() < 5 {
        begun.push(next(&mut changes).await.name_any());
    }
    // a stream moves only while somebody asks it
    let ready = async {
        tokio::select! {
            ready = reader.wait_until_ready() => ready.unwrap(),
            change = changes.next() => panic!("nothing changed, but {change:?}"),
        }
    };
    soon("a full store", ready).await;
    assert_eq!(names(&reader), ["a", "b", "c", "d", "e"]);

    // a label does not change the generation: the predicate holds it back, the store has it
    let label = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
    shelves.patch("a", &PatchParams::default(), &label).await.unwrap();
    let boards = Patch::Merge(json!({"spec": {"boards": 2}}));
    shelves.patch("b", &PatchParams::default(), &boards).await.unwrap();
    let changed = next(&mut changes).await;
    assert_eq!((changed.name_any().as_str(), changed.spec.boards), ("b", 2));
    let labelled = reader.get(&ObjectRef::new("a").within(&changed.namespace().unwrap())).unwrap();
    assert_eq!(labelled.labels(), &BTreeMap::from([("seen".to_owned(), "yes".to_owned())]));

    shelves.delete("c", &DeleteParams::default()).await.unwrap();
    shelves.create(&PostParams::default(), &shelf("f", 1)).await.unwrap();
    assert_eq!(next(&mut changes).await.name_any(), "f");
    assert_eq!(names(&reader), ["a", "b", "d", "e", "f"]);
}

async fn only_metadata(shelves: &Api<Shelf>, metadata: Api<PartialObjectMeta<Shelf>>, config: watcher::Config) {
    let stream = watcher(metadata, config.labels("seen=yes")).default_backoff();
    let mut touched = pin!(stream.touched_objects().boxed());
    let first: PartialObjectMeta<Shelf> = soon("metadata", touched.try_next()).await.unwrap().unwrap();
    assert_eq!(first.name_any(), "a");
    let unlabel = Patch::Merge(json!({"metadata": {"labels": null}}));
    shelves.patch("a", &PatchParams::default(), &unlabel).await.unwrap();
    // it left the selector: a deletion for the watcher, with the object as it was while it was selected
    let left = soon("metadata of what left", touched.try_next()).await.unwrap().unwrap();
    let ObjectMeta { name, labels, .. } = left.metadata;
    let selected = BTreeMap::from([("seen".to_owned(), "yes".to_owned())]);
    assert_eq!((name.as_deref(), labels), (Some("a"), Some(selected)));
}

async fn next<S: Stream<Item = watcher::Result<Shelf>> + Unpin>(changes: &mut S) -> Shelf {
    soon("a change", changes.try_next()).await.unwrap().unwrap()
}

fn names(reader: &Store<Shelf>) -> Vec<String> {
    let mut names: Vec<String> = reader.state().iter().map(|shelf| shelf.name_any()).collect();
    names.sort();
    names
}
