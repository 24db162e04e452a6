//! Writing an operating system to the root disk, in an order that never leaves a disk that boots something half-written:
//!
//! 1. choose the disk, get the node's certificate, look at the first MiB of the image: everything that can fail without a trace fails first;
//! 2. destroy the old partition tables;
//! 3. fetch, hash, decode and write at once, holding back the first MiB ([`pipeline`], [`write`]);
//! 4. length and digest must agree, then seeds of other disks go, then come the seed and the backup table ([`table`], [`seed`]);
//! 5. the first MiB, last of all; then read back what is there, grow the root and tell the firmware ([`finish`], [`grow`], [`firmware`]).
//!
//! Whatever fails from step 2 to the end of step 5 zeroes both ends again.

use std::sync::Arc;

use bessemer_protocol::{
    BootConfig, BootReport, BootstrapDelivery, Deploy, DeployReport, Disk, HostId, NodeCertificateRequest,
    NodeCertificateResponse, NodeIdentity, SetBootEntry, WorkId, WriteSeed,
};
use tokio::time::Instant;
use tracing::{info, warn};

use super::inspect::disks;
use super::root;
use crate::link::items::{Items, Progress};
use crate::link::{Controllers, keys};

mod by_hand;
mod chunks;
mod clusters;
mod decode;
mod disk;
mod error;
mod finish;
mod firmware;
mod grow;
mod hash;
mod native;
pub(super) mod partitions;
mod pipeline;
mod qcow2;
mod region;
mod seed;
mod source;
mod table;
mod write;

pub(crate) use by_hand::write_by_hand;
pub(super) use error::DeployError;
pub(super) use region::Window;
pub(super) use seed::stale::seed_label;
use source::{Http, SourceError};

/// One `Deploy` item with what is needed to carry it out.
pub(super) struct Job {
    pub(super) id: WorkId,
    pub(super) host: HostId,
    /// Whom it is for; none when somebody gave the host an image by hand.
    pub(super) claim: Option<String>,
    pub(super) deadline: Instant,
    pub(super) order: Deploy,
    pub(super) config: Arc<BootConfig>,
    pub(super) controllers: Arc<Controllers>,
    pub(super) items: Arc<Items>,
}

/// Carries out `job`.
pub(super) async fn deploy(job: Job) -> Result<DeployReport, DeployError> {
    deploy_among(job, || disks::list(std::path::Path::new("/sys"))).await
}

/// Carries out `job` on one of the disks that `list` finds.
async fn deploy_among(job: Job, list: impl Fn() -> Vec<disks::FoundDisk>) -> Result<DeployReport, DeployError> {
    let found = list();
    let order = &job.order;
    let chosen = root::choose(&found, &order.root, order.disk.as_ref(), &order.keep)?;
    let others = seed::stale::Others::than(&chosen, &found);
    let chosen = chosen.disk;
    others.check().map_err(|error| DeployError::Untouched(Box::new(error)))?;
    info!("root disk is {} ({} bytes)", chosen.name, chosen.size_bytes);
    seed::check(&job.order.seed).map_err(DeployError::BadSeed)?;
    let identity = match &job.claim {
        Some(claim) => Some(node_identity(&job, claim).await?),
        None => None,
    };
    // Up to here the disk is as it was, and stays so.
    in_time(&job, "preparing")?;
    let target = disk::Target::open(&chosen.name).map_err(|error| disk_error(&chosen.name, "open", &error))?;
    if !root::is_still(&chosen, &list()) {
        return Err(root::NoRoot::Exchanged(chosen.name).into());
    }
    let target = Arc::new(target);
    match Box::pin(onto(&job, &target, identity, others)).await {
        Ok(done) => {
            // The kernel mounts no partition of a disk that is held.
            drop(target);
            let delivery = job.claim.as_ref().map(|_| job.order.seed.delivery);
            let done = blocking(move || Ok(settle(done, &chosen.name, delivery)?.report(chosen)));
            done.await
        }
        Err(error) => Err(scrubbed(target, error).await),
    }
}

/// What makes a good disk better. Nothing that fails here makes it worse, so that all of it is notes; but for the agent where the user data
/// wait for it: without it nobody would ever carry them out, nor say so.
fn settle(mut done: Done, disk: &str, delivery: Option<BootstrapDelivery>) -> Result<Done, DeployError> {
    match &done.plan.root {
        Some(root) => done.notes.extend(grow::grow(disk, root).err()),
        None => done.notes.push("the last partition is no Linux root and stays as it is".to_owned()),
    }
    if let Some(delivery) = delivery {
        match with_agent(native::install(disk, done.plan.root.as_ref()), delivery) {
            Ok(note) => done.notes.extend(note),
            Err(cause) => return Err(scrubbed_anew(disk, cause)),
        }
    }
    match disk::Target::open(disk) {
        Ok(target) => done.boot = firmware::set(&target, false),
        Err(error) => done.notes.push(format!("{disk}: {error}: the boot entry was not set")),
    }
    for note in done.notes.iter().chain(&done.boot.notes) {
        info!("{note}");
    }
    Ok(done)
}

/// What an image that cannot have the agent means to a host whose user data go by `delivery`.
fn with_agent(
    installed: Result<Option<String>, String>,
    delivery: BootstrapDelivery,
) -> Result<Option<String>, DeployError> {
    match (installed, delivery) {
        (Ok(note), _) => Ok(note),
        (Err(why), BootstrapDelivery::CloudInit) => {
            Ok(Some(format!("the agent was not put on the image ({why}); its cloud-init has to do without")))
        }
        (Err(why), BootstrapDelivery::Agent) => Err(DeployError::BadImage(format!(
            "it has no agent that could be seen, and none could be put on it ({why}), so that nobody would carry out the \
             bootstrap data: set the annotation bessemer.dev/bootstrap-delivery to cloud-init, or take an image with \
             the agent or with an ext4 or XFS root as its last partition"
        ))),
    }
}

/// `cause`, and what became of a disk that was bootable already.
fn scrubbed_anew(disk: &str, cause: DeployError) -> DeployError {
    let cause = Box::new(cause);
    match disk::Target::open(disk).and_then(|target| {
        target.destroy_tables()?;
        target.reread_partitions()
    }) {
        Ok(()) => DeployError::Scrubbed(cause),
        Err(error) => DeployError::Unscrubbed { cause, disk: disk.to_owned(), scrub: error.to_string() },
    }
}

/// Writes a new seed to the disk that an image is on.
pub(super) fn write_seed(order: &WriteSeed, claim: Option<&str>) -> Result<Disk, DeployError> {
    let found = disks::list(std::path::Path::new("/sys"));
    let chosen = root::choose(&found, &order.root, order.disk.as_ref(), &order.keep)?;
    let others = seed::stale::Others::than(&chosen, &found);
    let chosen = chosen.disk;
    others.check().map_err(|error| DeployError::Untouched(Box::new(error)))?;
    seed::rewrite(&chosen.name, &order.seed, claim)?;
    // Others only go for one that is there.
    let (removed, alone) = others.remove_seeds();
    alone.map_err(|cause| DeployError::after(removed, cause))?;
    Ok(chosen)
}

/// Makes the firmware boot the system that is on the root disk.
pub(super) fn set_boot_entry(order: &SetBootEntry) -> Result<BootReport, DeployError> {
    let found = disks::list(std::path::Path::new("/sys"));
    let chosen = root::choose(&found, &order.root, order.disk.as_ref(), &[])?.disk;
    let target = disk::Target::open(&chosen.name).map_err(|error| disk_error(&chosen.name, "open", &error))?;
    let report = firmware::set(&target, order.next);
    if report.entry.is_some() {
        return Ok(report);
    }
    let why = if report.uefi { report.notes.join("; ") } else { "this host was not started by UEFI".to_owned() };
    Err(DeployError::BootEntry(why))
}

/// `cause`, and what became of the disk.
async fn scrubbed(target: Arc<disk::Target>, cause: DeployError) -> DeployError {
    let (cause, disk) = (Box::new(cause), target.name().to_owned());
    if !target.is_touched() {
        return DeployError::Untouched(cause);
    }
    let scrub = match tokio::task::spawn_blocking(move || target.destroy_tables()).await {
        Ok(Ok(())) => return DeployError::Scrubbed(cause),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    DeployError::Unscrubbed { cause, disk, scrub }
}

fn in_time(job: &Job, doing: &'static str) -> Result<(), DeployError> {
    if Instant::now() < job.deadline { Ok(()) } else { Err(DeployError::Late(doing)) }
}

/// A deployment that succeeded.
struct Done {
    written: pipeline::Written,
    plan: table::Plan,
    boot: BootReport,
    notes: Vec<String>,
}

impl Done {
    fn report(self, disk: Disk) -> DeployReport {
        DeployReport {
            disk: Box::new(disk),
            fetched_bytes: self.written.fetched,
            image_bytes: self.written.image.length,
            digest: self.written.digest,
            format: self.written.format.to_owned(),
            partitions: self.plan.partitions(),
            boot: self.boot,
            notes: self.notes,
        }
    }
}

async fn onto(
    job: &Job,
    target: &Arc<disk::Target>,
    identity: Option<NodeIdentity>,
    others: seed::stale::Others,
) -> Result<Done, DeployError> {
    job.items.progress(job.id, Progress { phase: "preparing".into(), done: 0, total: None });
    let mut written = fetch_and_write(job, target).await?;
    // From the deadline on the controller takes the host for failed: a disk that became bootable after that would surprise it.
    in_time(job, "writing the image")?;
    let fetched = written.fetched;
    job.items.progress(job.id, Progress { phase: "finishing".into(), done: fetched, total: Some(fetched) });
    let (target, seed) = (Arc::clone(target), job.order.seed.clone());
    blocking(move || {
        let held = write::HeldImage { length: written.image.length, head: std::mem::take(&mut written.image.head) };
        let (plan, mut notes) = finish::finish(&target, held, &seed, identity.as_ref(), &others)?;
        if written.resumed > 0 {
            notes.push(format!("the source was cut {} times and went on", written.resumed));
        }
        Ok(Done { written, plan, boot: BootReport::default(), notes })
    })
    .await
}

/// The image from the first source that gives it, up to the point where it would become bootable.
async fn fetch_and_write(job: &Job, target: &Arc<disk::Target>) -> Result<pipeline::Written, DeployError> {
    let failed = |error: SourceError| DeployError::Fetch(error.to_string());
    let http = Http::new(&job.config.ca, job.deadline).map_err(failed)?;
    let seed_label = seed::label(job.order.seed.layout);
    let wanted = pipeline::Wanted { image: &job.order.image, seed_label, is_system: true };
    let report = |done, total| job.items.progress(job.id, Progress { phase: "writing".into(), done, total });
    let mut problems: Vec<DeployError> = Vec::new();
    for source in &job.order.sources {
        if !problems.is_empty() {
            in_time(job, "fetching the image")?;
        }
        match Box::pin(pipeline::from_source(&http, source, &wanted, target, report)).await {
            Ok(written) => return Ok(written),
            Err(error) if error.is_of_the_source() => {
                warn!("image source failed: {error}");
                problems.push(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(worst(problems))
}

/// Of the reasons of all sources the one that says most: bytes that came tell more than bytes that did not.
fn worst(problems: Vec<DeployError>) -> DeployError {
    let mut fetches = Vec::new();
    for problem in problems {
        match problem {
            DeployError::Fetch(why) => fetches.push(why),
            other => return other,
        }
    }
    if fetches.is_empty() {
        fetches.push("the item names none".to_owned());
    }
    DeployError::Fetch(fetches.join("; "))
}

/// A key that never leaves this host, and the controller's certificate for it.
async fn node_identity(job: &Job, claim: &str) -> Result<NodeIdentity, DeployError> {
    let fresh = keys::fresh().map_err(DeployError::Certificate)?;
    let request = NodeCertificateRequest { work_id: job.id, csr: fresh.csr };
    let mut backoff =
        crate::backoff::Backoff::new(std::time::Duration::from_millis(500), std::time::Duration::from_secs(10));
    loop {
        match job.controllers.post::<NodeCertificateResponse>("/v1/node-certificate", &request).await {
            Ok(NodeCertificateResponse { certificate }) => {
                return Ok(NodeIdentity {
                    controllers: job.config.controllers.clone(),
                    ca: job.config.ca.clone(),
                    certificate,
                    key: fresh.key,
                    host_id: job.host,
                    claim: claim.to_owned(),
                    hostname: job.order.seed.hostname.clone(),
                    delivery: job.order.seed.delivery,
                });
            }
            Err(error) if error.may_heal() && Instant::now() < job.deadline => {
                info!("certificate for the installed host: {error}; asking again");
                backoff.pause().await;
            }
            Err(error) => return Err(DeployError::Certificate(error)),
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DeployError> + Send + 'static,
) -> Result<T, DeployError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| DeployError::Internal(error.to_string()))?
}

fn disk_error(disk: &str, action: &'static str, cause: &dyn std::fmt::Display) -> DeployError {
    DeployError::disk(disk, action, cause)
}

#[cfg(test)]
mod tests;
