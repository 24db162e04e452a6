//! What a cluster's controllers do to the server's own kinds: dependents of owners that are gone are deleted, deletions
//! in the foreground and orphaning are carried out, terminating namespaces and definitions end once they are empty, roles
//! are put together, and every namespace gets its account and the authority's certificate. One thread, woken by changes;
//! what a killed process left undone is found again by a scan at the start.

mod owned;
mod queue;
mod upkeep;

use std::io;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::builtin::{CONFIG_MAPS, DEFINITIONS, NAMESPACES, SERVICE_ACCOUNTS};
use crate::core::SharedRegistry;
use crate::crd;
use crate::lifecycle;
use crate::object;
use crate::store::{Change, ChangeKind, Index, Key, StoreError, StoreHandle};
use owned::Departed;
use queue::Queue;

/// Something to look at. A set of these is bounded by the number of objects, however many changes come.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// The dependents of this object are to be looked at: it is gone.
    Dependents(Departed),
    /// A dependent of the object with this uid is gone, or no longer in its way.
    Owner(String),
    /// The owners of this object may be gone, or it is being deleted in a way that concerns dependents.
    Owned(Key),
    /// Something in this namespace is gone, or it is terminating.
    Namespace(String),
    /// An instance of this definition is gone, or it is being deleted.
    Definition(String),
    /// A definition is gone, and so its names are free.
    Names,
    /// A cluster role has changed.
    Roles,
    /// What every namespace holds may be missing from this one.
    Furnish(String),
}

/// The tasks that wait.
#[derive(Default)]
pub(crate) struct Work {
    queue: Queue<Task>,
    /// The certificate that clients trust us by, once there is a listener.
    root_ca: OnceLock<String>,
}

impl Work {
    /// Queues everything that a killed process may have left undone.
    pub(crate) fn scan(&self, index: &Index) {
        let mut tasks = vec![Task::Roles];
        tasks.extend(index.list(NAMESPACES, "").iter().map(|namespace| namespace_task(namespace)));
        tasks.extend(index.orphaned().into_iter().map(Task::Owned));
        for (key, object) in index.deleting() {
            if &*key.resource == DEFINITIONS {
                tasks.push(Task::Definition(key.name));
            } else if owned::is_held(&object) {
                tasks.push(Task::Owned(key));
            }
        }
        self.queue.add(tasks.into_iter());
    }

    /// Queues what follows from committed changes.
    pub(crate) fn note(&self, changes: &[Arc<Change>]) {
        let mut tasks = Vec::new();
        for change in changes {
            let (object, namespace) = (&change.object, &change.key.namespace);
            let gone = change.kind == ChangeKind::Deleted;
            let before: Vec<_> = change.previous.iter().flat_map(|previous| object::owners(previous)).collect();
            let owners_changed = !before.iter().copied().eq(object::owners(object));
            if gone {
                tasks.push(Task::Dependents(Departed::new(object)));
                tasks.extend((!namespace.is_empty()).then(|| Task::Namespace(namespace.clone())));
                tasks.extend(definition_of(&change.key).map(Task::Definition));
                tasks.extend((&*change.key.resource == DEFINITIONS).then_some(Task::Names));
            } else if owned::is_held(object) || (owners_changed && object::owners(object).next().is_some()) {
                tasks.push(Task::Owned(change.key.clone()));
            }
            if gone || owners_changed {
                tasks.extend(before.iter().map(|owner| Task::Owner(owner.uid.to_owned())));
            }
            let name = object::name(object);
            match (&*change.key.resource, name) {
                (NAMESPACES, _) if !gone => tasks.push(namespace_task(object)),
                (DEFINITIONS, _) if object::is_deleting(object) => tasks.push(Task::Definition(name.to_owned())),
                (upkeep::CLUSTER_ROLES, _) => tasks.push(Task::Roles),
                (SERVICE_ACCOUNTS, upkeep::ACCOUNT) | (CONFIG_MAPS, upkeep::ROOT_CA) => {
                    tasks.push(Task::Furnish(namespace.clone()));
                }
                _ => {}
            }
        }
        self.queue.add(tasks.into_iter());
    }

    /// From now on every namespace holds this certificate.
    pub(crate) fn publish_root_ca(&self, pem: &str, index: &Index) {
        if self.root_ca.set(pem.to_owned()).is_ok() {
            let namespaces = index.list(NAMESPACES, "");
            self.queue.add(namespaces.iter().map(|namespace| namespace_task(namespace)));
        }
    }

    /// Ends the thread; what waits is found again at the next start.
    pub(crate) fn close(&self) {
        self.queue.close();
    }
}

fn namespace_task(namespace: &Value) -> Task {
    let name = object::name(namespace).to_owned();
    if object::is_deleting(namespace) { Task::Namespace(name) } else { Task::Furnish(name) }
}

/// The name of the definition that an object would be an instance of.
fn definition_of(key: &Key) -> Option<String> {
    let (group, plural) = key.resource.split_once('/')?;
    (!group.is_empty()).then(|| format!("{plural}.{group}"))
}

/// Starts the thread. It ends when its work is closed.
pub(crate) fn start(store: StoreHandle, registry: SharedRegistry, work: Arc<Work>) -> io::Result<()> {
    let run = move || {
        while let Some(task) = work.queue.next() {
            match carry_out(&store, &registry, &work, task.clone()) {
                Ok(()) => work.queue.done(),
                Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::error!(%error, ?task, "garbage collection failed, to be tried again");
                    work.queue.failed(task);
                }
            }
        }
    };
    std::thread::Builder::new().name("apiserver-gc".to_owned()).spawn(run).map(drop)
}

fn carry_out(store: &StoreHandle, registry: &SharedRegistry, work: &Work, task: Task) -> Result<(), StoreError> {
    match task {
        Task::Dependents(departed) => {
            let dependents = store.read().dependents(&departed.uid);
            dependents.into_iter().try_for_each(|key| owned::attend(store, registry, key, Some(departed.clone())))
        }
        Task::Owner(uid) => {
            let owner = store.read().locate(&uid).cloned();
            owner.map_or(Ok(()), |key| owned::attend(store, registry, key, None))
        }
        Task::Owned(key) => owned::attend(store, registry, key, None),
        Task::Namespace(name) => {
            // Most deletions are in namespaces that stay: those need no turn of the writer.
            let key = lifecycle::namespace_key(&name);
            if !store.read().get(&key).is_some_and(|namespace| object::is_deleting(&namespace)) {
                return Ok(());
            }
            store.write_blocking(move |txn| {
                lifecycle::sweep_namespace(txn, &name);
                Ok(())
            })
        }
        Task::Definition(name) => {
            let key = Key { resource: DEFINITIONS.into(), namespace: String::new(), name: name.clone() };
            if !store.read().get(&key).is_some_and(|definition| object::is_deleting(&definition)) {
                return Ok(());
            }
            store.write_blocking(move |txn| {
                lifecycle::sweep_definition(txn, &name);
                Ok(())
            })
        }
        Task::Names => {
            if store.read().list(DEFINITIONS, "").iter().all(|definition| crd::is_established(definition)) {
                return Ok(());
            }
            store.write_blocking(|txn| {
                lifecycle::accept_waiting(txn);
                Ok(())
            })
        }
        Task::Roles => store.write_blocking(|txn| {
            upkeep::aggregate(txn);
            Ok(())
        }),
        Task::Furnish(name) => {
            let root_ca = work.root_ca.get().cloned();
            if upkeep::is_furnished(&store.read(), &name, root_ca.as_deref()) {
                return Ok(());
            }
            store.write_blocking(move |txn| {
                upkeep::furnish(txn, &name, root_ca.as_deref());
                Ok(())
            })
        }
    }
}
