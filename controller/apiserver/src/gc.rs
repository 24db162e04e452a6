//! Garbage collection: objects whose owners are all gone are deleted, references to owners that are gone are dropped
//! from the others, and terminating namespaces end once they are empty. One thread, woken by changes; what a killed
//! process left undone is found again by a scan at the start.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use serde_json::Value;

use crate::builtin::NAMESPACES;
use crate::core::SharedRegistry;
use crate::lifecycle;
use crate::object::{self, OwnerRef};
use crate::registry::Registry;
use crate::store::{Change, ChangeKind, Index, Key, StoreError, StoreHandle, Txn};

/// Something to look at. A set of these is bounded by the number of objects, however many changes come.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// The object with this uid is gone.
    OwnerGone(String),
    /// The owners of this object may be gone.
    Owned(Key),
    /// Something in this namespace is gone, or it is terminating.
    Namespace(String),
}

/// The tasks that wait.
#[derive(Default)]
pub(crate) struct Work {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    tasks: BTreeSet<Task>,
    closed: bool,
}

impl Work {
    /// Queues everything that a killed process may have left undone.
    pub(crate) fn scan(&self, index: &Index) {
        let terminating = index.list(NAMESPACES, "");
        let terminating = terminating.iter().filter(|namespace| object::is_deleting(namespace));
        let tasks = terminating.map(|namespace| Task::Namespace(object::name(namespace).to_owned()));
        let tasks = tasks.chain(index.orphaned().into_iter().map(Task::Owned));
        self.add(tasks);
    }

    /// Queues what follows from committed changes.
    pub(crate) fn note(&self, changes: &[Arc<Change>]) {
        let mut tasks = Vec::new();
        for change in changes {
            let namespace = &change.key.namespace;
            match (&change.previous, change.kind) {
                (_, ChangeKind::Deleted) => {
                    tasks.push(Task::OwnerGone(object::uid(&change.object).to_owned()));
                    tasks.extend((!namespace.is_empty()).then(|| Task::Namespace(namespace.clone())));
                }
                (Some(previous), _) if object::owners(previous).eq(object::owners(&change.object)) => {}
                _ if object::owners(&change.object).next().is_some() => tasks.push(Task::Owned(change.key.clone())),
                _ => {}
            }
        }
        self.add(tasks.into_iter());
    }

    /// Ends the thread; what waits is found again at the next start.
    pub(crate) fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.wake.notify_one();
    }

    fn add(&self, tasks: impl Iterator<Item = Task>) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).tasks.extend(tasks);
        self.wake.notify_one();
    }

    /// Waits for a task; `None` once closed.
    fn next(&self) -> Option<Task> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if queue.closed {
                return None;
            }
            if let Some(task) = queue.tasks.pop_first() {
                return Some(task);
            }
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Starts the thread. It ends when its work is closed.
pub(crate) fn start(store: StoreHandle, registry: SharedRegistry, work: Arc<Work>) -> io::Result<()> {
    let run = move || {
        while let Some(task) = work.next() {
            match carry_out(&store, &registry, task.clone()) {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                // Left for the next start's scan: a store that rejects writes needs a person first.
                Err(error) => tracing::error!(%error, ?task, "garbage collection failed"),
            }
        }
    };
    std::thread::Builder::new().name("apiserver-gc".to_owned()).spawn(run).map(drop)
}

fn carry_out(store: &StoreHandle, registry: &SharedRegistry, task: Task) -> Result<(), StoreError> {
    match task {
        Task::OwnerGone(uid) => {
            let dependents = store.read().dependents(&uid);
            dependents.into_iter().try_for_each(|key| check_owned(store, registry, key))
        }
        Task::Owned(key) => check_owned(store, registry, key),
        Task::Namespace(name) => {
            let terminating =
                store.read().get(&lifecycle::namespace_key(&name)).is_some_and(|n| object::is_deleting(&n));
            if !terminating {
                return Ok(());
            }
            store.write_blocking(move |txn| {
                lifecycle::finish_namespace(txn, &name);
                Ok(())
            })
        }
    }
}

fn check_owned(store: &StoreHandle, registry: &SharedRegistry, key: Key) -> Result<(), StoreError> {
    let registry = registry.get();
    store.write_blocking(move |txn| {
        let Some(object) = txn.get(&key) else { return Ok(()) };
        let owners: Vec<_> = object::owners(&object).map(|o| (o.uid, state_of(&registry, txn, &key, &o))).collect();
        match decide(&owners) {
            Verdict::Keep => {}
            Verdict::Delete => {
                lifecycle::remove(txn, &key, &object);
            }
            Verdict::Forget(gone) => {
                let mut freed = Value::clone(&object);
                object::drop_owners(&mut freed, |uid| gone.contains(&uid));
                txn.put(key, freed);
            }
        }
        Ok(())
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Present,
    Gone,
    /// Its kind is not served, so nobody can say.
    Unknown,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict<'a> {
    Keep,
    Delete,
    Forget(Vec<&'a str>),
}

fn decide<'a>(owners: &[(&'a str, Owner)]) -> Verdict<'a> {
    let gone: Vec<&str> = owners.iter().filter(|(_, state)| *state == Owner::Gone).map(|(uid, _)| *uid).collect();
    if gone.is_empty() {
        Verdict::Keep
    } else if gone.len() == owners.len() {
        Verdict::Delete
    } else if owners.iter().any(|(_, state)| *state == Owner::Present) {
        Verdict::Forget(gone)
    } else {
        Verdict::Keep
    }
}

fn state_of(registry: &Registry, txn: &Txn<'_>, dependent: &Key, owner: &OwnerRef<'_>) -> Owner {
    let Some(resource) = registry.find_kind(owner.api_version, owner.kind) else { return Owner::Unknown };
    // An owner is cluster-scoped or in the dependent's namespace; one elsewhere counts as gone, as upstream.
    let found = txn.locate(owner.uid).is_some_and(|key| {
        key.resource == resource.stored_as && (key.namespace.is_empty() || key.namespace == dependent.namespace)
    });
    if found { Owner::Present } else { Owner::Gone }
}

#[cfg(test)]
mod tests {
    use super::Owner::{Gone, Present, Unknown};
    use super::*;

    #[test]
    fn verdicts() {
        let cases = [
            (vec![], Verdict::Keep),
            (vec![("a", Present)], Verdict::Keep),
            (vec![("a", Gone)], Verdict::Delete),
            (vec![("a", Gone), ("b", Gone)], Verdict::Delete),
            (vec![("a", Gone), ("b", Present)], Verdict::Forget(vec!["a"])),
            (vec![("a", Gone), ("b", Unknown)], Verdict::Keep),
            (vec![("a", Unknown)], Verdict::Keep),
        ];
        for (owners, wanted) in cases {
            assert_eq!(decide(&owners), wanted, "{owners:?}");
        }
    }
}
