//! The durable half of the store: two journals that take each commit, and the redb file behind them.
//!
//! A commit is durable once it is in the active journal. When that is full the other one takes over, while a thread
//! of its own writes what the full one holds into the redb file. Opening reads the file, then what the journals hold
//! beyond it. Only the writer thread commits.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::base::Base;
use super::disk::Disk;
use super::journal::{self, CAPACITY, Frame, Journal, Written};
use super::{Change, ChangeKind, Index, StoreError};

/// What is to be written into the redb file, up to a version.
struct Batch {
    written: Vec<Written>,
    version: u64,
}

pub(super) struct Log {
    active: Journal,
    other: Journal,
    /// False while the active journal still holds what the redb file does not.
    usable: bool,
    /// What the active journal holds, and up to which version.
    pending: Vec<Written>,
    version: u64,
    /// What the other journal holds that the redb file does not yet.
    outstanding: Option<Arc<Batch>>,
    /// Whether the thread is at it.
    in_flight: bool,
    keeper: Keeper,
    broken: Option<String>,
}

impl Log {
    /// Opens or creates the store's files, and reads them into an index.
    pub(super) fn open(disk: &dyn Disk, path: &Path) -> Result<(Self, Index), StoreError> {
        let journals = ["journal-0", "journal-1"].map(|extension| path.with_extension(extension));
        // The journals are made once the base is whole.
        let [first, second] = &journals;
        let was_used = || Ok(Journal::is_made(disk, first)? || Journal::is_made(disk, second)?);
        let mut base = Base::open(disk, path, was_used)?;
        let mut index = base.load()?;
        let (active, mut contents) = Journal::open(disk, first)?;
        let (other, more) = Journal::open(disk, second)?;
        contents.frames.extend(more.frames);
        let replayed = replay(&mut index, contents.frames, path)?;
        let version = index.version();
        for (journal, stray) in [(&active, contents.stray), (&other, more.stray)] {
            if stray > version {
                return Err(journal.damaged(&format!("the writes between versions {version} and {stray} are damaged")));
            }
        }

        let batch = (!replayed.is_empty()).then(|| Arc::new(Batch { written: replayed, version }));
        let outstanding = match batch {
            None => None,
            Some(batch) => match base.commit(&batch.written, version) {
                Ok(()) => None,
                // What is stored can be read; writes have to wait for space.
                Err(error) if error.is_no_space() => Some(batch),
                Err(error) => return Err(error),
            },
        };
        let log = Self {
            active,
            other,
            usable: outstanding.is_none(),
            pending: Vec::new(),
            version,
            outstanding,
            in_flight: false,
            keeper: Keeper::start(base)?,
            broken: None,
        };
        Ok((log, index))
    }

    /// Makes `changes` durable: on return they survive a power cut. On an error none of them does.
    pub(super) fn commit(&mut self, changes: &[Arc<Change>]) -> Result<(), StoreError> {
        if let Some(why) = &self.broken {
            return Err(StoreError::Broken(why.clone()));
        }
        let done = self.try_commit(changes);
        if let Err(StoreError::Broken(why)) = &done {
            self.broken = Some(why.clone());
        }
        done
    }

    fn try_commit(&mut self, changes: &[Arc<Change>]) -> Result<(), StoreError> {
        let frame = journal::encode(changes);
        if frame.len() as u64 > CAPACITY / 2 {
            return self.commit_directly(changes);
        }
        if !self.usable || !self.active.has_room(frame.len()) {
            self.switch()?;
        }
        self.active.append(&frame)?;
        self.pending.extend(changes.iter().map(written));
        self.version = last_version(changes);
        Ok(())
    }

    /// A commit too large for a journal goes into the redb file at once, after all that the journals hold.
    fn commit_directly(&mut self, changes: &[Arc<Change>]) -> Result<(), StoreError> {
        self.settle()?;
        let mut all = self.pending.clone();
        all.extend(changes.iter().map(written));
        let version = last_version(changes);
        self.keeper.begin(Arc::new(Batch { written: newest(all), version }))?;
        self.keeper.wait()?;
        self.pending.clear();
        self.version = version;
        self.active.restart();
        Ok(())
    }

    /// Takes the other journal into use, and has what this one holds written into the redb file.
    fn switch(&mut self) -> Result<(), StoreError> {
        self.settle()?;
        if !self.pending.is_empty() {
            let batch = Arc::new(Batch { written: newest(std::mem::take(&mut self.pending)), version: self.version });
            self.outstanding = Some(Arc::clone(&batch));
            self.keeper.begin(batch)?;
            self.in_flight = true;
        }
        std::mem::swap(&mut self.active, &mut self.other);
        self.active.restart();
        self.usable = true;
        Ok(())
    }

    /// Returns once the redb file has all that the other journal holds; tries anew when that failed before.
    fn settle(&mut self) -> Result<(), StoreError> {
        let Some(batch) = &self.outstanding else { return Ok(()) };
        if !self.in_flight {
            self.keeper.begin(Arc::clone(batch))?;
        }
        self.in_flight = false;
        self.keeper.wait()?;
        self.outstanding = None;
        Ok(())
    }
}

fn written(change: &Arc<Change>) -> Written {
    (change.key.clone(), (change.kind != ChangeKind::Deleted).then(|| Arc::clone(&change.record)))
}

fn last_version(changes: &[Arc<Change>]) -> u64 {
    changes.last().map_or(0, |change| change.version)
}

/// The last state of each object.
fn newest(written: Vec<Written>) -> Vec<Written> {
    written.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect()
}

/// Brings the index up to date from the journals; answers what the redb file lacks.
fn replay(index: &mut Index, mut frames: Vec<Frame>, path: &Path) -> Result<Vec<Written>, StoreError> {
    frames.sort_by_key(|frame| frame.first);
    let mut replayed = Vec::new();
    for frame in frames.into_iter().filter(|frame| !frame.written.is_empty()) {
        let (version, last) = (index.version(), frame.last());
        if last <= version {
            continue;
        }
        if frame.first != version + 1 {
            let what = format!("the writes between versions {version} and {} are missing in its journals", frame.first);
            return Err(StoreError::Journal { path: path.to_owned(), what });
        }
        for (key, record) in &frame.written {
            let damaged = || StoreError::Record { path: path.to_owned(), key: key.encode().escape_debug().to_string() };
            index.restore(key.clone(), record.clone()).ok_or_else(damaged)?;
        }
        index.advance(last);
        replayed.extend(frame.written);
    }
    Ok(newest(replayed))
}

/// The thread that writes into the redb file.
struct Keeper {
    jobs: Option<SyncSender<Arc<Batch>>>,
    results: Receiver<Result<(), StoreError>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    fn start(mut base: Base) -> Result<Self, StoreError> {
        let (jobs, queue) = sync_channel::<Arc<Batch>>(1);
        let (answer, results) = sync_channel(1);
        let run = move || {
            while let Ok(batch) = queue.recv() {
                if answer.send(base.commit(&batch.written, batch.version)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("apiserver-keeper".to_owned()).spawn(run);
        Ok(Self { jobs: Some(jobs), results, thread: Some(thread.map_err(StoreError::Thread)?) })
    }

    fn begin(&self, batch: Arc<Batch>) -> Result<(), StoreError> {
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(batch).is_ok());
        if sent { Ok(()) } else { Err(gone()) }
    }

    fn wait(&self) -> Result<(), StoreError> {
        self.results.recv().unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> StoreError {
    StoreError::Broken("the thread that keeps the store's file has ended".to_owned())
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that keeps the store's file ended by a panic");
        }
    }
}
