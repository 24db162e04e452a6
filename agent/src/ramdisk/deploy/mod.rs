//! Writing an operating system to the root disk, in an order that never leaves a disk that boots something half-written:
//!
//! 1. choose the disk, get the node's certificate: everything that can fail without a trace fails first;
//! 2. destroy the old partition tables;
//! 3. fetch, hash, decode and write at once, holding back the first and the last MiB ([`write`]);
//! 4. length and digest must agree, then the tail, the seed and the backup table ([`gpt`], [`seed`]);
//! 5. the first MiB, last of all; then read back what is there.
//!
//! Whatever fails after step 2 zeroes both ends again.

use std::sync::Arc;

use bessemer_protocol::{
    BootConfig, BootReport, Checksum, Deploy, DeployReport, Digest, Disk, FailureCode, HostId, NodeCertificateRequest,
    NodeCertificateResponse, NodeIdentity, WorkId, WriteSeed,
};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{info, warn};

use super::hints;
use super::inspect::disks;
use crate::link::items::{Items, Progress};
use crate::link::{Controllers, LinkError, keys};

mod decode;
mod disk;
mod fetch;
mod finish;
mod gpt;
mod region;
mod seed;
mod write;

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

/// Why nothing was deployed.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeployError {
    /// See [`hints::NoRoot`].
    #[error(transparent)]
    NoRoot(#[from] hints::NoRoot),
    /// No certificate for the installed host.
    #[error("certificate for the installed host: {0}")]
    Certificate(LinkError),
    /// No source gave the whole image.
    #[error("no source gave the image: {0}")]
    Fetch(String),
    /// What came is not what was wanted.
    #[error("image digest is {algorithm}:{got}, wanted {algorithm}:{wanted}")]
    Digest {
        /// The function.
        algorithm: &'static str,
        /// Hexadecimal.
        got: String,
        /// Hexadecimal.
        wanted: String,
    },
    /// The image cannot be decoded, has no usable partition table or does not fit.
    #[error("image: {0}")]
    BadImage(String),
    /// The seed cannot be written as it was ordered.
    #[error("seed: {0}")]
    BadSeed(String),
    /// Another disk would be taken for this host's seed.
    #[error("{0}")]
    StaleSeed(String),
    /// The disk.
    #[error("{disk}: {action}: {cause}")]
    Disk {
        /// Device path.
        disk: String,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        cause: String,
    },
    /// The item's time ran out.
    #[error("deadline passed while {0}")]
    Late(&'static str),
    /// It failed after the old tables were destroyed, and both ends of the disk are zero again.
    #[error("{0}; the disk was not made bootable")]
    Scrubbed(Box<DeployError>),
    /// As `Scrubbed`, but they may not be zero.
    #[error(
        "{cause}; {disk} could not be scrubbed after that ({scrub}) and may boot what is half-written: wipe it first"
    )]
    Unscrubbed {
        /// What failed first.
        cause: Box<DeployError>,
        /// Device path.
        disk: String,
        /// Why it could not be scrubbed.
        scrub: String,
    },
    /// A thread ended without an answer.
    #[error("internal: {0}")]
    Internal(String),
}

impl DeployError {
    /// For the controller to tell situations apart.
    pub(super) fn code(&self) -> FailureCode {
        match self {
            Self::NoRoot(_) => FailureCode::NoRootDevice,
            Self::Certificate(_) | Self::Internal(_) | Self::Late(_) => FailureCode::Internal,
            Self::Fetch(_) => FailureCode::FetchFailed,
            Self::Digest { .. } => FailureCode::DigestMismatch,
            Self::BadImage(_) => FailureCode::BadImage,
            Self::BadSeed(_) => FailureCode::Refused,
            Self::Disk { .. } | Self::StaleSeed(_) => FailureCode::WriteFailed,
            Self::Scrubbed(cause) | Self::Unscrubbed { cause, .. } => cause.code(),
        }
    }
}

/// Chunks of the image on their way to the disk, or why there are no more.
type Chunk = Result<Bytes, fetch::Cut>;

/// Carries out `job`.
pub(super) async fn deploy(job: Job) -> Result<DeployReport, DeployError> {
    let found = disks::list(std::path::Path::new("/sys"));
    let chosen = hints::choose(&found, &job.order.root)?;
    info!("root disk is {} ({} bytes)", chosen.name, chosen.size_bytes);
    let Checksum::Value(wanted) = job.order.image.checksum.clone() else {
        return Err(DeployError::BadImage("only a known digest is supported yet".to_owned()));
    };
    seed::check(&job.order.seed).map_err(DeployError::BadSeed)?;
    let identity = match &job.claim {
        Some(claim) => Some(node_identity(&job, claim).await?),
        None => None,
    };
    // Up to here the disk is as it was, and stays so.
    in_time(&job, "preparing")?;
    let target = disk::Target::open(&chosen.name).map_err(|error| disk_error(&chosen.name, "open", &error))?;
    let target = Arc::new(target);
    let root = chosen.name.clone();
    blocking(move || remove_stale_seeds(&root)).await?;
    let result = Box::pin(onto(&job, &wanted, &target, identity)).await;
    match result {
        Ok(written) => Ok(DeployReport {
            disk: Box::new(chosen),
            fetched_bytes: written.fetched,
            image_bytes: written.image,
            digest: wanted,
            format: "raw".to_owned(),
            partitions: written.partitions,
            boot: BootReport::default(),
            notes: Vec::new(),
        }),
        Err(error) => Err(scrubbed(target, error).await),
    }
}

/// Writes a new seed to the disk that an image is on.
pub(super) fn write_seed(order: &WriteSeed, claim: Option<&str>) -> Result<Disk, DeployError> {
    let found = disks::list(std::path::Path::new("/sys"));
    let chosen = hints::choose(&found, &order.root)?;
    remove_stale_seeds(&chosen.name)?;
    seed::rewrite(&chosen.name, &order.seed, claim)?;
    Ok(chosen)
}

fn remove_stale_seeds(root: &str) -> Result<(), DeployError> {
    let stale = seed::stale::find(std::path::Path::new("/sys"), std::path::Path::new("/dev"), root);
    stale.iter().try_for_each(|stale| seed::stale::remove(stale).map_err(DeployError::StaleSeed))
}

/// `cause`, and what became of the disk.
async fn scrubbed(target: Arc<disk::Target>, cause: DeployError) -> DeployError {
    let (cause, disk) = (Box::new(cause), target.name().to_owned());
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

struct Written {
    fetched: u64,
    image: u64,
    partitions: Vec<String>,
}

async fn onto(
    job: &Job,
    wanted: &Digest,
    target: &Arc<disk::Target>,
    identity: Option<NodeIdentity>,
) -> Result<Written, DeployError> {
    job.items.progress(job.id, Progress { phase: "preparing".into(), done: 0, total: None });
    let (image, fetched) = fetch_and_write(job, wanted, target).await?;
    // From the deadline on the controller takes the host for failed: a disk that became bootable after that would surprise it.
    in_time(job, "writing the image")?;
    job.items.progress(job.id, Progress { phase: "finishing".into(), done: fetched, total: Some(fetched) });
    let (target, seed) = (Arc::clone(target), job.order.seed.clone());
    blocking(move || {
        let length = image.length;
        let partitions = finish::finish(&target, image, &seed, identity.as_ref())?;
        Ok(Written { fetched, image: length, partitions })
    })
    .await
}

/// The image from the first source that gives it, up to the point where it would become bootable.
async fn fetch_and_write(
    job: &Job,
    wanted: &Digest,
    target: &Arc<disk::Target>,
) -> Result<(write::HeldImage, u64), DeployError> {
    let mut problems = Vec::new();
    for source in &job.order.sources {
        if !problems.is_empty() {
            in_time(job, "fetching the image")?;
        }
        let wiping = Arc::clone(target);
        blocking(move || {
            wiping
                .destroy_tables()
                .map_err(|error| disk_error(wiping.name(), "destroy the old partition tables", &error))
        })
        .await?;
        let (chunks, incoming) = mpsc::channel::<Chunk>(64);
        let (writing, digest) = (Arc::clone(target), wanted.clone());
        let writer = tokio::task::spawn_blocking(move || decode::into_disk(incoming, &writing, &digest));
        let report = |done, total| job.items.progress(job.id, Progress { phase: "writing".into(), done, total });
        let started = Instant::now();
        let fetched = Box::pin(fetch::fetch(source, &job.config.ca, job.deadline, chunks, report)).await;
        let written = writer.await.map_err(|error| DeployError::Internal(error.to_string()))?;
        match (fetched, written) {
            // The writer's reason is the first one when both failed: the fetch then only saw that nobody reads any more.
            (_, Err(decode::Stopped::Failed(error))) => return Err(error),
            (Err(fetch::FetchError::Late), _) => return Err(DeployError::Late("fetching the image")),
            (Err(error), _) => problems.push(format!("{source}: {error}")),
            (Ok(_), Err(decode::Stopped::Cut)) => problems.push(format!("{source}: ended early")),
            (Ok(fetched), Ok(image)) => {
                let seconds = started.elapsed().as_secs_f64().max(0.001);
                let rate = |bytes: u64| bytes as f64 / 1e6 / seconds;
                info!(
                    "image: {fetched} bytes fetched, {} written in {seconds:.1} s ({:.1} MB/s on the wire, {:.1} MB/s of image)",
                    image.length,
                    rate(fetched),
                    rate(image.length)
                );
                return Ok((image, fetched));
            }
        }
        warn!("image source failed: {}", problems.last().map(String::as_str).unwrap_or_default());
    }
    if problems.is_empty() {
        problems.push("the item names none".to_owned());
    }
    Err(DeployError::Fetch(problems.join("; ")))
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
    DeployError::Disk { disk: disk.to_owned(), action, cause: cause.to_string() }
}

#[cfg(test)]
mod tests;
