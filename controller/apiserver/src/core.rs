//! What every request shares: the store, the resources served, and the sign that the server is closing.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;

use crate::builtin::DEFINITIONS;
use crate::conversion::{Convert, Converters};
use crate::gc::{self, Work};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::registry::Registry;
use crate::store::{Change, Index, Store, StoreError};

pub(crate) struct Core {
    store: Store,
    registry: SharedRegistry,
    closing: watch::Sender<bool>,
    garbage: Arc<Work>,
    metrics: Metrics,
    limits: Limits,
}

impl Drop for Core {
    fn drop(&mut self) {
        self.garbage.close();
    }
}

/// The registry of the moment, replaced whole when a definition changes.
#[derive(Clone)]
pub(crate) struct SharedRegistry {
    current: Arc<RwLock<Arc<Registry>>>,
    converters: Arc<RwLock<Converters>>,
}

impl SharedRegistry {
    fn new() -> Self {
        let converters = Converters::new();
        let empty = Registry::new(&[], &converters, None);
        Self { current: Arc::new(RwLock::new(Arc::new(empty))), converters: Arc::new(RwLock::new(converters)) }
    }

    pub(crate) fn get(&self) -> Arc<Registry> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the definitions that changed.
    fn update(&self, index: &Index) {
        let before = self.get();
        self.replace(index, Some(&before));
    }

    fn replace(&self, index: &Index, before: Option<&Registry>) {
        let definitions = index.records(DEFINITIONS, "");
        let converters = self.converters.read().unwrap_or_else(PoisonError::into_inner);
        let registry = Arc::new(Registry::new(&definitions, &converters, before));
        drop(converters);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = registry;
    }
}

impl Core {
    pub(crate) fn open(file: &Path) -> Result<Self, StoreError> {
        let registry = SharedRegistry::new();
        let work = Arc::new(Work::default());
        let (for_load, for_hook) = (registry.clone(), registry.clone());
        let (load_work, hook_work) = (Arc::clone(&work), Arc::clone(&work));
        let loaded = move |index: &Index| {
            for_load.update(index);
            load_work.scan(index);
        };
        // Before a writer learns that its definition is stored, the kind is served.
        let hook = move |index: &Index, changes: &[Arc<Change>]| {
            if changes.iter().any(|change| &*change.key.resource == DEFINITIONS) {
                for_hook.update(index);
            }
            hook_work.note(changes);
        };
        let store = Store::open(file, loaded, Box::new(hook))?;
        gc::start(store.handle().clone(), registry.clone(), Arc::clone(&work)).map_err(StoreError::Thread)?;
        Ok(Self {
            store,
            registry,
            closing: watch::Sender::new(false),
            garbage: work,
            metrics: Metrics::default(),
            limits: Limits::default(),
        })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.get()
    }

    /// Puts the certificate that clients trust us by into every namespace.
    pub(crate) fn publish_root_ca(&self, pem: &str) {
        self.garbage.publish_root_ca(pem, &self.store.read());
    }

    /// Registers how the objects of a kind change version.
    pub(crate) fn convert_with(&self, group: &str, kind: &str, hook: Arc<dyn Convert>) {
        // The index lock keeps the writer from publishing a definition in between.
        let index = self.store.read();
        let mut converters = self.registry.converters.write().unwrap_or_else(PoisonError::into_inner);
        converters.insert((group.to_owned(), kind.to_owned()), hook);
        drop(converters);
        self.registry.replace(&index, None);
    }

    /// Ends all watches.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Returns once the server is closing.
    pub(crate) async fn closing(&self) {
        let mut closing = self.closing.subscribe();
        // The sender lives as long as `self`, so this only returns when the sign is given.
        let _ = closing.wait_for(|closing| *closing).await;
    }
}
