//! One watch and one cache per kind, shared by every controller that cares for it.

use std::fmt::Debug;
use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use kube::runtime::reflector::{ObjectRef, Store, store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_util::sync::CancellationToken;

/// Changes a slow subscriber may fall behind before it is given the whole cache again.
const BUFFER: usize = 1024;

/// A watched kind: its cache, and its changes from now on.
pub(crate) struct Feed<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    store: Store<K>,
    changes: broadcast::Sender<Arc<K>>,
}

impl<K> Clone for Feed<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), changes: self.changes.clone() }
    }
}

impl<K> Feed<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    /// Watches until `shutdown`. `trim` takes off what nobody reads.
    pub(crate) fn start(
        api: Api<K>,
        config: watcher::Config,
        trim: impl Fn(&mut K) + Send + 'static,
        shutdown: CancellationToken,
    ) -> Self {
        let (store, writer) = store();
        let (changes, _) = broadcast::channel(BUFFER);
        let sender = changes.clone();
        let watch = watcher(api, config)
            .default_backoff()
            .modify(move |object| {
                object.managed_fields_mut().clear();
                trim(object);
            })
            .reflect(writer)
            .touched_objects()
            .take_until(shutdown.cancelled_owned());
        tokio::spawn(watch.for_each(move |event| {
            match event {
                // No subscriber yet is no error.
                Ok(object) => drop(sender.send(Arc::new(object))),
                Err(error) => tracing::warn!(kind = %K::kind(&()), %error, "watch interrupted"),
            }
            std::future::ready(())
        }));
        Self { store, changes }
    }

    /// The cache.
    pub(crate) fn store(&self) -> Store<K> {
        self.store.clone()
    }

    /// Everything in the cache, then every object created, changed or deleted from now on.
    pub(crate) fn changes(&self) -> impl Stream<Item = Arc<K>> + Send + use<K> {
        let store = self.store.clone();
        let news = BroadcastStream::new(self.changes.subscribe()).flat_map(move |item| {
            // Behind: whatever was missed is in the cache by now, save deletions, which timers catch.
            stream::iter(item.map_or_else(|_| store.state(), |object| vec![object]))
        });
        stream::iter(self.store.state()).chain(news)
    }
}

/// Those of the cache that hold: what a change of something else triggers.
pub(crate) fn references<K>(store: &Store<K>, which: impl Fn(&K) -> bool) -> Vec<ObjectRef<K>>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    store.state_filter(which).iter().map(|object| ObjectRef::from_obj(object.as_ref())).collect()
}
