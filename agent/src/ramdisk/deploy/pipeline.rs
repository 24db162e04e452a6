//! From a source to the disk: fetching, hashing, decoding and writing at once, each on its own thread or task, with a few megabytes between
//! them. What comes out is whole and right, and everything of it is on the disk but its first MiB.

use std::sync::Arc;

use bessemer_image_formats::compression;
use bessemer_image_formats::detect::{Kind, detect};
use bessemer_protocol::{Digest, ImageFormat};
use bytes::Bytes;
use tokio::time::Instant;
use tracing::info;

use super::chunks::Sinks;
use super::decode::{self, Stopped};
use super::disk::Target;
use super::error::DeployError;
use super::source::{Body, Http, SourceError, resolve};
use super::write::{Gate, HeldImage};
use super::{hash, qcow2, table};
use bessemer_protocol::Image;

/// What is asked for.
pub(super) struct Wanted<'a> {
    pub(super) image: &'a Image,
    /// Of the seed partition.
    pub(super) seed_label: &'static str,
    /// Whether the image must be one that can be booted and have a seed. Not so only for a copy by hand.
    pub(super) is_system: bool,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) image: HeldImage,
    pub(super) fetched: u64,
    pub(super) digest: Digest,
    /// Such as `raw in zstd`.
    pub(super) format: &'static str,
    /// How often the source was cut and went on.
    pub(super) resumed: u32,
}

/// How often a source that changed while it was read is read anew.
const RESTARTS: u32 = 2;

/// Writes the image at `source`. `report` is told bytes so far and in all.
pub(super) async fn from_source(
    http: &Http,
    source: &str,
    wanted: &Wanted<'_>,
    target: &Arc<Target>,
    report: impl Fn(u64, Option<u64>),
) -> Result<Written, DeployError> {
    let mut restarts = 0;
    loop {
        let attempt = Attempt { http, source, wanted, target };
        match Box::pin(attempt.run(&report)).await {
            Err(Failed::Source(SourceError::Changed)) if restarts < RESTARTS => {
                restarts += 1;
                info!("{source}: it changed while it was read; starting again");
            }
            Err(Failed::Source(SourceError::Late)) => return Err(DeployError::Late("fetching the image")),
            Err(Failed::Source(error)) => return Err(DeployError::Fetch(format!("{source}: {error}"))),
            Err(Failed::Deploy(error)) => return Err(error),
            Ok(written) => return Ok(written),
        }
    }
}

enum Failed {
    Source(SourceError),
    Deploy(DeployError),
}

impl From<SourceError> for Failed {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<DeployError> for Failed {
    fn from(error: DeployError) -> Self {
        Self::Deploy(error)
    }
}

struct Attempt<'a> {
    http: &'a Http,
    source: &'a str,
    wanted: &'a Wanted<'a>,
    target: &'a Arc<Target>,
}

impl Attempt<'_> {
    async fn run(&self, report: impl Fn(u64, Option<u64>)) -> Result<Written, Failed> {
        let declared = self.wanted.image.format;
        let (location, digest) = resolve(self.http, self.source, &self.wanted.image.checksum, declared).await?;
        let mut body = Body::open(&location).await?;
        let start = body.peek().await?;
        let kind = detect(&start);
        let capacity = self.target.size();
        self.agree(kind, &start, body.about.total, capacity)?;
        let plan = if kind == Kind::Qcow2 {
            match qcow2::Plan::make(&location, &body, &start, capacity).await {
                Ok(plan) => Some(plan),
                Err(qcow2::PlanError::Source(error)) => return Err(error.into()),
                Err(error) => return Err(DeployError::BadImage(error.to_string()).into()),
            }
        } else {
            None
        };
        let started = Instant::now();
        let (sinks, chunks, to_hash) = Sinks::new();
        let (target, gate, algorithm) = (Arc::clone(self.target), self.gate(), digest.algorithm);
        let hashing = tokio::task::spawn_blocking(move || hash::all(to_hash, algorithm));
        let decoding = tokio::task::spawn_blocking(move || match plan {
            Some(plan) => qcow2::into_disk(chunks, plan, &target, gate),
            None => decode::into_disk(chunks, kind, &target, gate),
        });
        let fetching = feed(&mut body, sinks, report).await;
        let internal = |error: tokio::task::JoinError| DeployError::Internal(error.to_string());
        let decoded = decoding.await.map_err(internal)?;
        let got = hashing.await.map_err(internal)?;
        let fetched = match (fetching, &decoded) {
            // The decoder's reason is the first one when both failed: the fetch then only saw that nobody reads any more.
            (_, Err(Stopped::Failed(_))) => 0,
            (Err(error), _) => return Err(error.into()),
            (Ok(fetched), _) => fetched,
        };
        let image = match decoded {
            Ok(image) if got == digest => image,
            Err(Stopped::Failed(error)) => return Err(error.into()),
            Err(Stopped::Undecodable(error)) if got == digest => return Err(error.into()),
            Ok(_) | Err(Stopped::Undecodable(_)) => return Err(DeployError::Digest { got, wanted: digest }.into()),
            Err(Stopped::Cut) => return Err(SourceError::Transport("ended early".to_owned()).into()),
        };
        let seconds = started.elapsed().as_secs_f64().max(0.001);
        let rate = |bytes: u64| bytes as f64 / 1e6 / seconds;
        info!(
            "image: {fetched} bytes fetched, {} written in {seconds:.1} s ({:.1} MB/s on the wire, {:.1} MB/s of image)",
            image.length,
            rate(fetched),
            rate(image.length)
        );
        Ok(Written { image, fetched, digest: got, format: format_name(kind), resumed: body.resumed })
    }

    /// Whether the bytes are what the order says, and can fit. Nothing has been touched yet.
    fn agree(&self, kind: Kind, start: &[u8], total: Option<u64>, capacity: u64) -> Result<(), Failed> {
        let declared = self.wanted.image.format;
        let bad = |why: String| Err(DeployError::BadImage(why).into());
        match (kind, declared) {
            (Kind::WebPage | Kind::Text, _) => return Err(SourceError::NotAnImage(kind.name()).into()),
            (Kind::Qcow2, ImageFormat::Raw) => return bad("it is qcow2, although it is declared as raw".to_owned()),
            (Kind::Qcow2, _) => {}
            (_, ImageFormat::Qcow2) => return bad(format!("it is {}, although it is declared as qcow2", kind.name())),
            (Kind::Raw | Kind::Gzip | Kind::Xz | Kind::Zstd, _) => {}
            (other, declared) => agree_on_disk(other, declared).map_err(DeployError::BadImage)?,
        }
        let announced = match kind {
            Kind::Qcow2 => None,
            Kind::Gzip | Kind::Xz | Kind::Zstd => compression::announced(kind, start),
            _ => total,
        };
        match announced {
            Some(length) if length > capacity => {
                bad(format!("it has {length} bytes, longer than {}, which has {capacity} bytes", self.target.name()))
            }
            _ => Ok(()),
        }
    }

    /// Looks at the start of the disk-to-be; then the old tables go.
    fn gate(&self) -> Gate {
        let (target, declared, seed_label) =
            (Arc::clone(self.target), self.wanted.image.format, self.wanted.seed_label);
        let is_system = self.wanted.is_system;
        Box::new(move |head| {
            if is_system {
                agree_on_disk(detect(head), declared).map_err(DeployError::BadImage)?;
                table::plan(head, target.size(), target.sector(), seed_label).map_err(DeployError::BadImage)?;
            }
            let failed = |error| DeployError::disk(target.name(), "destroy the old partition tables", &error);
            target.destroy_tables().map_err(failed)
        })
    }
}

/// Whether the decoded bytes may be a disk's.
fn agree_on_disk(kind: Kind, declared: ImageFormat) -> Result<(), String> {
    match (kind, declared) {
        // Whoever says raw of a CD that is a disk, too, knows it.
        (Kind::Raw, _) | (Kind::Iso { hybrid: true }, ImageFormat::Raw) => Ok(()),
        (Kind::Iso { .. }, _) => {
            Err(format!("it is {}, not the disk of an installed system; declare it as raw if it is meant", kind.name()))
        }
        (Kind::Qcow2, _) => {
            Err("it is qcow2 inside another compression, which cannot be streamed: compress its clusters instead \
                 (`qemu-img convert -c`)"
                .to_owned())
        }
        (other, _) => Err(format!("it is {}, which is not supported", other.name())),
    }
}

fn format_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Qcow2 => "qcow2",
        Kind::Gzip => "raw in gzip",
        Kind::Xz => "raw in xz",
        Kind::Zstd => "raw in zstd",
        _ => "raw",
    }
}

/// Moves all of `body` and says how much it was.
async fn feed(body: &mut Body, sinks: Sinks, report: impl Fn(u64, Option<u64>)) -> Result<u64, SourceError> {
    let mut fetched = 0;
    report(fetched, body.about.total);
    loop {
        let chunk: Bytes = match body.next().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(fetched),
            Err(error) => {
                sinks.cut().await;
                return Err(error);
            }
        };
        fetched += chunk.len() as u64;
        if sinks.send(chunk).await.is_err() {
            return Err(SourceError::Transport("the writer stopped".to_owned()));
        }
        report(fetched, body.about.total);
    }
}
