//! Erasing disks so that the next user of a host finds nothing of the last one.
//!
//! 1. [`select`]: which disks the order means, and refusal of an order that was made for others;
//! 2. [`holders`]: what is made of them is taken apart;
//! 3. [`full`], if so ordered: all data, by the best of [`methods`] through [`controls`];
//! 4. [`metadata`]: everything by which something is found on them; or [`seeds`], if only those are to go.
//!
//! Every step is proven by reading again. A disk that fails does not keep the others from being erased, but it fails the item: a host with
//! such a disk must not go to anybody else. Doing it all again is always safe. This room must not know who wants it and why.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bessemer_protocol::{DiskIdentity, Erase, EraseMode, EraseReport, ErasedDisk, FailureCode, WorkId};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tracing::info;

use super::inspect::disks::{self, FoundDisk};
use super::root;
use crate::files;
use crate::link::items::{Items, Progress};

mod controls;
mod full;
mod holders;
mod medium;
mod metadata;
mod methods;
mod seeds;
mod select;
mod signatures;
mod tables;
#[cfg(test)]
mod tests;

/// Disks that are erased at the same time.
const AT_ONCE: usize = 16;

/// Between two looks at what a disk does by itself.
const POLL: Duration = Duration::from_secs(1);

/// One `Erase` item with what is needed to carry it out.
pub(super) struct Job {
    pub(super) id: WorkId,
    pub(super) deadline: tokio::time::Instant,
    pub(super) order: Erase,
    pub(super) items: Arc<Items>,
}

/// Why the host is not erased.
#[derive(Debug, thiserror::Error)]
pub(super) enum EraseError {
    /// Nothing was touched.
    #[error("nothing was erased: {0}")]
    Refused(#[from] select::Refusal),
    /// Each disk that failed with the reason, then those that did not.
    #[error("not erased: {failed}{}{erased}", if erased.is_empty() { "" } else { "; erased: " })]
    Failed { failed: String, erased: String },
    #[error("internal: {0}")]
    Internal(String),
}

impl EraseError {
    /// For the controller to tell situations apart.
    pub(super) fn code(&self) -> FailureCode {
        match self {
            Self::Refused(select::Refusal::CannotErase(..)) | Self::Failed { .. } => FailureCode::EraseFailed,
            Self::Refused(_) => FailureCode::WrongDisk,
            Self::Internal(_) => FailureCode::Internal,
        }
    }
}

/// Carries out `job`.
pub(super) async fn erase(job: Job) -> Result<EraseReport, EraseError> {
    let found = tokio::task::spawn_blocking(|| disks::list(Path::new("/sys")))
        .await
        .map_err(|error| EraseError::Internal(error.to_string()))?;
    let selection = select::select(&found, &job.order)?;
    let total = selection.targets.iter().map(|disk| disk.inventory.size_bytes).sum();
    let done: Arc<Vec<AtomicU64>> = Arc::new(selection.targets.iter().map(|_| AtomicU64::new(0)).collect());
    let order = Arc::new(job.order);
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for group in subsystems_together(&selection.targets, &found, Path::new("/sys")) {
        let (order, done, items, slots) =
            (Arc::clone(&order), Arc::clone(&done), Arc::clone(&job.items), Arc::clone(&slots));
        let (id, deadline) = (job.id, job.deadline.into_std());
        running.spawn(async move {
            let _slot = slots.acquire_owned().await;
            let work = move || {
                let each = |Target { number, disk, alone }: Target| {
                    let progress = |bytes: u64| {
                        if let Some(count) = done.get(number) {
                            count.store(bytes, Ordering::Relaxed);
                        }
                        let done = done.iter().map(|count| count.load(Ordering::Relaxed)).sum();
                        items.progress(id, Progress { phase: "erasing".into(), done, total: Some(total) });
                    };
                    let watch = full::Watch { deadline, progress: &progress, poll: POLL };
                    let result = one(&disk, order.mode, alone, &watch);
                    progress(disk.inventory.size_bytes);
                    (number, disk, result)
                };
                group.into_iter().map(each).collect::<Vec<_>>()
            };
            tokio::task::spawn_blocking(work).await
        });
    }
    let mut ended = Vec::new();
    while let Some(group) = running.join_next().await {
        let group = group.and_then(|group| group).map_err(|error| EraseError::Internal(error.to_string()))?;
        ended.extend(group);
    }
    ended.sort_by_key(|(number, ..)| *number);
    let mut report = EraseReport { erased: Vec::new(), skipped: selection.skipped };
    let mut failed = Vec::new();
    for (_, disk, result) in ended {
        match result {
            Ok(erased) => report.erased.push(erased),
            Err(why) => failed.push(format!("{}: {why}", disk.inventory.name)),
        }
    }
    if failed.is_empty() {
        return Ok(report);
    }
    let erased: Vec<&str> = report.erased.iter().map(|disk| disk.disk.name.as_str()).collect();
    Err(EraseError::Failed { failed: failed.join("; "), erased: erased.join(", ") })
}

/// A disk to be erased.
struct Target {
    /// Among all of them.
    number: usize,
    disk: FoundDisk,
    /// Every other namespace of its NVM subsystem is to be erased too, or there is none.
    alone: bool,
}

/// Namespaces of one NVM subsystem one after the other: some commands are for all of them, whichever controller they come through.
fn subsystems_together(targets: &[FoundDisk], found: &[FoundDisk], sys: &Path) -> Vec<Vec<Target>> {
    let mut groups: Vec<(String, Vec<Target>)> = Vec::new();
    let meant: Vec<String> = targets.iter().flat_map(|target| root::paths(&target.inventory.name, found)).collect();
    for (number, disk) in targets.iter().enumerate() {
        let subsystem = subsystem(sys, &disk.inventory.name);
        let alone = siblings(sys, &subsystem).iter().all(|sibling| meant.contains(&format!("/dev/{sibling}")));
        let target = Target { number, disk: disk.clone(), alone };
        match groups.iter_mut().find(|(name, _)| *name == subsystem) {
            Some((_, group)) => group.push(target),
            None => groups.push((subsystem, vec![target])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The qualified name of the NVM subsystem that a disk is of, else its controller, such as `nvme0` of `/dev/nvme0n1`; the disk's own name for others.
fn subsystem(sys: &Path, disk: &str) -> String {
    let name = disk.trim_start_matches("/dev/");
    let Some((number, _)) = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n')) else {
        return name.to_owned();
    };
    files::line(sys.join("block").join(name).join("device/subsysnqn")).unwrap_or_else(|| format!("nvme{number}"))
}

/// Names of all namespaces of an NVM subsystem; of the disk itself for others. Paths that the kernel hides behind a disk are none.
fn siblings(sys: &Path, subsystem: &str) -> Vec<String> {
    let names = files::entries(sys.join("block")).into_iter().map(|path| files::name(&path));
    names.filter(|name| self::subsystem(sys, name) == subsystem && !name.contains('c')).collect()
}

/// Erases one disk.
fn one(disk: &FoundDisk, mode: EraseMode, alone: bool, watch: &full::Watch<'_>) -> Result<ErasedDisk, String> {
    let started = Instant::now();
    let name = disk.inventory.name.as_str();
    let folder = Path::new("/sys/block").join(name.trim_start_matches("/dev/"));
    if started >= watch.deadline {
        return Err("deadline passed before its turn came".to_owned());
    }
    let mut steps = holders::stop(&folder, &holders::remove_mapping).map_err(|error| error.to_string())?;
    let medium = medium::Medium::open(name).map_err(|error| format!("open: {error}"))?.until(watch.deadline);
    // Its turn may come hours after the order was looked at, and names are given anew.
    if medium.size() != disk.inventory.size_bytes || !root::is_still(&disk.inventory, &disks::list(Path::new("/sys"))) {
        return Err("another disk has its name by now: inspect the host again".to_owned());
    }
    let mut proofs = Vec::new();
    if mode == EraseMode::Full {
        let mut hardware = controls::Hardware {
            namespace: files::number(folder.join("nsid")),
            is_ata: disk.inventory.transport == "sata",
            discard: disk.can_discard,
            rotational: disk.inventory.rotational,
            alone,
        };
        let erased = full::erase(&medium, &mut hardware, watch).map_err(|error| error.to_string())?;
        steps.extend(erased.steps);
        proofs.push(erased.proof);
    }
    let (wiped, places) = match mode {
        EraseMode::Seeds => (seeds::wipe(&medium), "seeds"),
        EraseMode::Metadata | EraseMode::Full => (metadata::wipe(&medium), "metadata places"),
    };
    let wiped = wiped.map_err(|error| error.to_string())?;
    proofs.push(format!("{} bytes of {places} read as zero", wiped.bytes));
    steps.extend(wiped.found.into_iter().map(|found| format!("erased {found}")));
    // A disk of many stale partitions must not flood the report.
    const MOST_STEPS: usize = 64;
    if let Some(more) = steps.len().checked_sub(MOST_STEPS).filter(|more| *more > 0) {
        steps.truncate(MOST_STEPS);
        steps.push(format!("and {more} more"));
    }
    info!("{name}: erased: {}", steps.join("; "));
    let seconds = started.elapsed().as_secs();
    Ok(ErasedDisk { disk: DiskIdentity::of(&disk.inventory), steps, proof: proofs.join("; "), seconds })
}
