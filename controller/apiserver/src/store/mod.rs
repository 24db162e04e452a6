//! Where objects live: a journal and a redb file for durability, one in-memory index for every read and watch. It knows
//! objects as JSON under a key and versions them; it knows nothing of HTTP, kinds or schemas.
//!
//! All writes go through one writer thread as closures over a [`Txn`]. The thread runs as many as are waiting, commits
//! them in one fsynced transaction, publishes them to the index and the watch rings, and only then lets callers know.
//! So a decision is always made on the newest state, nothing is visible that could still be lost, and many clients
//! share the price of one disk flush.

mod base;
#[cfg(test)]
mod crash_tests;
mod disk;
mod error;
mod index;
mod journal;
mod log;
mod recent;
mod record;
mod ring;
#[cfg(test)]
mod shadow;
mod txn;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use disk::{Disk, SystemDisk};
pub use error::StoreError;
pub(crate) use index::{Index, Page};
use log::Log;
use recent::Recent;
pub(crate) use record::Record;
pub(crate) use ring::{Event, Expired};
pub(crate) use txn::Txn;

/// Where one object is kept. `resource` is `group/plural` of its storage, shared by all versions of a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) resource: Arc<str>,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Between the parts of a key on disk. No name, namespace or resource can contain it.
const SEPARATOR: char = '\u{0}';

impl Key {
    /// The key of a place in a resource.
    fn at(resource: &Arc<str>, place: &str) -> Self {
        let (namespace, name) = place.split_once('/').unwrap_or(("", place));
        Self { resource: Arc::clone(resource), namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Where the object is inside its resource; sorts as etcd sorts upstream's keys.
    pub(crate) fn place(&self) -> String {
        if self.namespace.is_empty() { self.name.clone() } else { format!("{}/{}", self.namespace, self.name) }
    }

    fn encode(&self) -> String {
        format!("{}{SEPARATOR}{}{SEPARATOR}{}", self.resource, self.namespace, self.name)
    }

    fn decode(text: &str) -> Option<Self> {
        let mut parts = text.split(SEPARATOR);
        let key = Self { resource: parts.next()?.into(), namespace: parts.next()?.into(), name: parts.next()?.into() };
        parts.next().is_none().then_some(key)
    }
}

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

/// One committed write.
pub(crate) struct Change {
    pub(crate) key: Key,
    pub(crate) version: u64,
    pub(crate) kind: ChangeKind,
    /// The object after the change; for a deletion its last state under the deletion's version.
    pub(crate) object: Arc<Value>,
    pub(crate) previous: Option<Arc<Value>>,
    record: Arc<Record>,
    previous_record: Option<Arc<Record>>,
}

/// A write waiting for the writer thread: decides inside the transaction, and is told how the commit went.
type Job = Box<dyn FnOnce(&mut Txn<'_>) -> Ack + Send>;
type Ack = Box<dyn FnOnce(Result<(), &Arc<StoreError>>) + Send>;

/// Writes waiting at once; further callers wait in line.
const QUEUE: usize = 1024;
/// Writes that share one commit, and the bytes after which no further one joins it.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 2 * 1024 * 1024;

/// Runs on the writer thread after a commit, before callers are told or anyone reads what is new: whoever is woken by a
/// change finds what the hook made of it.
pub(crate) type PublishHook = Box<dyn Fn(&Index, &[Arc<Change>]) + Send>;

/// The store. Dropping it finishes the waiting writes and closes the file.
pub(crate) struct Store {
    handle: StoreHandle,
    jobs: Option<mpsc::Sender<Job>>,
    writer: Option<JoinHandle<()>>,
    /// Why nothing can be written until a restart, once that is so.
    failure: Arc<OnceLock<String>>,
}

/// A way to read and write that does not keep the store open.
#[derive(Clone)]
pub(crate) struct StoreHandle {
    index: Arc<RwLock<Index>>,
    jobs: mpsc::WeakSender<Job>,
}

impl Store {
    /// Opens or creates the file at `path` and reads it into memory; `hook` sees every later change, and `loaded` sees
    /// the index once before that.
    pub(crate) fn open(path: &Path, loaded: impl FnOnce(&Index), hook: PublishHook) -> Result<Self, StoreError> {
        Self::open_on(&SystemDisk, path, loaded, hook)
    }

    fn open_on(
        disk: &dyn Disk,
        path: &Path,
        loaded: impl FnOnce(&Index),
        hook: PublishHook,
    ) -> Result<Self, StoreError> {
        let (log, index) = Log::open(disk, path)?;
        loaded(&index);
        let index = Arc::new(RwLock::new(index));
        let (jobs, queue) = mpsc::channel(QUEUE);
        let handle = StoreHandle { index: Arc::clone(&index), jobs: jobs.downgrade() };
        let failure = Arc::new(OnceLock::new());
        let failed = Arc::clone(&failure);
        let writer = std::thread::Builder::new()
            .name("apiserver-writer".to_owned())
            .spawn(move || run_writer(log, &index, queue, &hook, &failed))
            .map_err(StoreError::Thread)?;
        Ok(Self { handle, jobs: Some(jobs), writer: Some(writer), failure })
    }

    /// Why nothing can be written until this program is restarted; `None` while the store is well. A full disk is none
    /// of these: writes go on by themselves once there is space.
    pub(crate) fn failure(&self) -> Option<&str> {
        match self.failure.get() {
            Some(why) => Some(why),
            None if self.jobs.as_ref().is_none_or(mpsc::Sender::is_closed) => Some("the store's writer has ended"),
            None => None,
        }
    }

    pub(crate) fn handle(&self) -> &StoreHandle {
        &self.handle
    }

    /// The index as of the last commit.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.handle.read()
    }

    /// An object as of the last commit. Read without keeping writes from being published meanwhile.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        let record = self.read().record(key).map(Arc::clone);
        record.map(|record| record.value())
    }

    /// A receiver that wakes with each change to `resource`.
    pub(crate) fn subscribe(&self, resource: &Arc<str>) -> tokio::sync::watch::Receiver<u64> {
        write_lock(&self.handle.index).subscribe(resource)
    }

    /// Runs `decide` on the newest state and commits what it wrote. What it wrote is dropped when it fails.
    pub(crate) async fn write<T, E>(
        &self,
        decide: impl FnOnce(&mut Txn<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (job, answer) = job(decide);
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

impl StoreHandle {
    /// The index as of the last commit.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Index> {
        // A poisoned lock means a reader or the publisher panicked; the index itself is only changed whole.
        self.index.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// As [`Store::write`], for a thread outside the async runtime.
    pub(crate) fn write_blocking<T, E>(
        &self,
        decide: impl FnOnce(&mut Txn<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (job, answer) = job(decide);
        let jobs = self.jobs.upgrade().ok_or(StoreError::Closed)?;
        jobs.blocking_send(job).map_err(|_| StoreError::Closed)?;
        drop(jobs);
        answer.blocking_recv().map_err(|_| StoreError::Closed)?
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the store's writer thread ended by a panic");
        }
    }
}

fn write_lock(index: &RwLock<Index>) -> RwLockWriteGuard<'_, Index> {
    index.write().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Wraps a decision so that its result waits for the commit.
fn job<T, E>(
    decide: impl FnOnce(&mut Txn<'_>) -> Result<T, E> + Send + 'static,
) -> (Job, oneshot::Receiver<Result<T, E>>)
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    let job: Job = Box::new(move |txn| {
        let start = txn.savepoint();
        // A fault in one decision must not end the writes of all: what it wrote is undone below, and its caller told.
        let decided = catch_unwind(AssertUnwindSafe(|| decide(txn)));
        let mut result = decided.unwrap_or_else(|_| Err(StoreError::Panicked.into()));
        if result.is_ok() && txn.is_too_large_since(start) {
            result = Err(StoreError::TooLarge.into());
        }
        if result.is_err() {
            txn.roll_back(start);
        }
        Box::new(move |commit| {
            let result = match (commit, result) {
                (Err(error), Ok(_)) => Err(StoreError::Shared(Arc::clone(error)).into()),
                (_, result) => result,
            };
            // The caller may have gone away; the write stands either way.
            let _ = reply.send(result);
        })
    });
    (job, answer)
}

fn run_writer(
    mut log: Log,
    index: &RwLock<Index>,
    mut queue: mpsc::Receiver<Job>,
    hook: &PublishHook,
    failure: &OnceLock<String>,
) {
    let mut recent = Recent::default();
    while let Some(first) = queue.blocking_recv() {
        let mut txn = Txn::new(index);
        let mut acks = vec![first(&mut txn)];
        while acks.len() < BATCH
            && txn.bytes() < BATCH_BYTES
            && let Ok(next) = queue.try_recv()
        {
            acks.push(next(&mut txn));
        }
        let changes = txn.into_changes();
        let outcome = if changes.is_empty() { Ok(()) } else { log.commit(&changes).map_err(Arc::new) };
        if outcome.is_ok() && !changes.is_empty() {
            let mut published = write_lock(index);
            published.publish(&changes);
            hook(&published, &changes);
            drop(published);
            recent.hold(&changes);
        }
        if let Err(error) = &outcome {
            if let StoreError::Broken(_) = **error {
                failure.get_or_init(|| error.to_string());
            }
            tracing::error!(%error, "writes rejected: the store could not commit them");
        }
        for ack in acks {
            ack(outcome.as_ref().copied());
        }
    }
}
