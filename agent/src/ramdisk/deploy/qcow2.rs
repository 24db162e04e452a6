//! qcow2 images, whose clusters are in no order that a disk would like: the tables are read by range requests first, then the file comes
//! once from its start to its end, is hashed, and each cluster goes to its place. The tables are compared when they come by again.

use std::io::{self, BufRead};
use std::sync::Arc;

use bessemer_image_formats::qcow2::{ClusterDecoder, Extent, Header, MOST_HEADER_BYTES, Map, MapBuilder, Stored};
use bytes::Bytes;
use ring::digest::{Context, SHA256};

use super::chunks::Chunks;
use super::clusters::Pool;
use super::decode::{CopyError, Stopped, stopped};
use super::disk::Target;
use super::error::DeployError;
use super::region::EDGE;
use super::source::{Body, Location, SourceError};
use super::write::{DiskWriter, Gate, HeldImage};

/// Neighbouring tables are fetched together up to so many bytes.
const LARGEST_PART: u64 = 4 << 20;

/// Parts are asked for again this often.
const ATTEMPTS: u32 = 3;

/// An image whose tables are known.
#[derive(Debug)]
pub(super) struct Plan {
    header: Header,
    map: Map,
    /// SHA-256 of each of the map's tables as it was when the map was made.
    sums: Vec<[u8; 32]>,
    /// The first MiB of the guest's disk.
    head: Vec<u8>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlanError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Image(#[from] bessemer_image_formats::qcow2::Qcow2Error),
    #[error("{0}")]
    TooLarge(String),
}

impl Plan {
    /// Reads the tables of the file behind `body`, of which `start` was read already. Fails when it would not fit into `capacity`.
    pub(super) async fn make(
        location: &Location,
        body: &Body,
        start: &Bytes,
        capacity: u64,
    ) -> Result<Self, PlanError> {
        let reader = Parts { location, body };
        let header = Header::parse(start.get(..MOST_HEADER_BYTES.min(start.len())).unwrap_or_default())?;
        if header.size > capacity {
            return Err(PlanError::TooLarge(format!(
                "its disk has {} bytes, longer than this one with {capacity}",
                header.size
            )));
        }
        let file = body.about.total.ok_or(SourceError::NoRanges)?;
        let mut builder = MapBuilder::new(header.clone(), file)?;
        let first = usize::try_from(header.cluster()).unwrap_or(usize::MAX).min(MOST_HEADER_BYTES).min(start.len());
        let l1 = reader.part(header.l1_offset, header.l1_bytes()).await?;
        let mut tables = builder.add_l1(&l1)?;
        // The builder has counted them, and one vector that grows would take twice as much.
        let mut sums = Vec::with_capacity(tables.len() + 2);
        sums.push((0, sum(start.get(..first).unwrap_or_default())));
        sums.push((header.l1_offset, sum(&l1)));
        drop(l1);
        tables.sort_unstable_by_key(|(_, offset)| *offset);
        let cluster = header.cluster();
        for neighbours in tables.chunk_by(|(_, left), (_, right)| left + cluster == *right) {
            for some in neighbours.chunks(usize::try_from((LARGEST_PART / cluster).max(1)).unwrap_or(1)) {
                let Some((_, offset)) = some.first() else { continue };
                let bytes = reader.part(*offset, cluster * some.len() as u64).await?;
                let tables = bytes.chunks(usize::try_from(cluster).unwrap_or(usize::MAX));
                for ((index, offset), table) in some.iter().zip(tables) {
                    sums.push((*offset, sum(table)));
                    builder.add_l2(*index, table)?;
                }
            }
        }
        drop(tables);
        let map = builder.finish()?;
        sums.sort_unstable_by_key(|(offset, _)| *offset);
        let sums = sums.into_iter().map(|(_, sum)| sum).collect();
        let head = head(&reader, &header, &map).await?;
        Ok(Self { header, map, sums, head })
    }
}

struct Parts<'a> {
    location: &'a Location,
    body: &'a Body,
}

impl Parts<'_> {
    async fn part(&self, offset: u64, length: u64) -> Result<Bytes, SourceError> {
        let mut failures = 0;
        loop {
            match self.location.part(offset, length, &self.body.about).await {
                Err(SourceError::Transport(_) | SourceError::Silent) if failures < ATTEMPTS => failures += 1,
                other => return other,
            }
        }
    }
}

/// The first MiB of the guest's disk, before anything is decided.
async fn head(reader: &Parts<'_>, header: &Header, map: &Map) -> Result<Vec<u8>, PlanError> {
    let mut head = vec![0; usize::try_from(EDGE.min(header.size)).unwrap_or_default()];
    let mut decoder = ClusterDecoder::new(header.compression)?;
    let mut cluster = vec![0; usize::try_from(header.cluster()).unwrap_or_default()];
    for extent in map.extents.iter().filter(|extent| extent.guest < EDGE) {
        let length = match extent.stored {
            Stored::Plain => extent.length.min(EDGE - extent.guest),
            Stored::Compressed => extent.length,
        };
        let bytes = reader.part(extent.host, length).await?;
        let bytes = match extent.stored {
            Stored::Plain => &bytes[..],
            Stored::Compressed => {
                decoder.decode(&bytes, &mut cluster)?;
                &cluster
            }
        };
        let place = head.get_mut(usize::try_from(extent.guest).unwrap_or(usize::MAX)..).unwrap_or_default();
        place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    }
    Ok(head)
}

/// Runs on a thread of its own until the chunks end.
pub(super) fn into_disk(
    mut chunks: Chunks,
    plan: Plan,
    target: &Arc<Target>,
    gate: Gate,
) -> Result<HeldImage, Stopped> {
    let name = target.name().to_owned();
    let mut writer = DiskWriter::start(Arc::clone(target), gate)
        .map_err(|error| Stopped::Failed(DeployError::disk(&name, "write", &error)))?;
    let copied = copy(&mut chunks, &plan, &mut writer);
    let copied = copied.and_then(|()| writer.finish().map_err(CopyError::Writer));
    copied.map_err(|error| stopped(error, &mut chunks, &name))
}

fn copy(chunks: &mut Chunks, plan: &Plan, writer: &mut DiskWriter) -> Result<(), CopyError> {
    writer.pass_gate_with(&plan.head)?;
    for (offset, length) in &plan.map.zeroes {
        writer.zero(*offset, *length)?;
    }
    let cluster = usize::try_from(plan.header.cluster()).unwrap_or_default();
    let mut pool = Pool::start(plan.header.compression, cluster, plan.header.size).map_err(CopyError::Source)?;
    let mut file = Passing { chunks, tables: Tables::new(plan) };
    // The end of the compressed cluster before, whose last sector may hold the start of the next.
    let mut before: (u64, Vec<u8>) = (0, Vec::new());
    for extent in &plan.map.extents {
        match extent.stored {
            Stored::Plain => {
                file.skip_to(extent.host)?;
                writer.seek(extent.guest)?;
                file.pass(extent.length, |bytes| Ok(writer.write(bytes)?))?;
            }
            Stored::Compressed => {
                let stored = compressed(&mut file, extent, &before)?;
                let shared = stored.get(stored.len().saturating_sub(511)..).unwrap_or_default().to_vec();
                before = (extent.host + extent.length, shared);
                pool.decode(extent.guest, stored, writer)?;
            }
        }
    }
    pool.finish(writer)?;
    file.pass(u64::MAX, |_| Ok(()))?;
    file.tables.finish()
}

/// The bytes of a compressed cluster, of which the first may have been read with the one before.
fn compressed(file: &mut Passing<'_>, extent: &Extent, before: &(u64, Vec<u8>)) -> Result<Vec<u8>, CopyError> {
    let mut stored = Vec::with_capacity(usize::try_from(extent.length).unwrap_or_default());
    let position = file.chunks.position();
    if position > extent.host {
        let (end, tail) = before;
        let back = usize::try_from(end.saturating_sub(extent.host)).unwrap_or(usize::MAX);
        let shared = tail.get(tail.len().saturating_sub(back)..).unwrap_or_default();
        let wanted = usize::try_from(extent.length).unwrap_or(usize::MAX).min(shared.len());
        stored.extend_from_slice(shared.get(..wanted).unwrap_or_default());
        if *end != position || shared.len() != back {
            return Err(CopyError::Source(format!("clusters overlap at byte {position} of the file")));
        }
    } else {
        file.skip_to(extent.host)?;
    }
    let rest = extent.length - stored.len() as u64;
    file.pass(rest, |bytes| {
        stored.extend_from_slice(bytes);
        Ok(())
    })?;
    Ok(stored)
}

/// The file as it comes by.
struct Passing<'a> {
    chunks: &'a mut Chunks,
    tables: Tables<'a>,
}

impl Passing<'_> {
    fn skip_to(&mut self, offset: u64) -> Result<(), CopyError> {
        let position = self.chunks.position();
        self.pass(offset.saturating_sub(position), |_| Ok(()))
    }

    /// Gives out the next `length` bytes, or all up to the end when `length` is the largest number.
    fn pass(&mut self, length: u64, mut take: impl FnMut(&[u8]) -> Result<(), CopyError>) -> Result<(), CopyError> {
        let mut left = length;
        while left > 0 {
            let position = self.chunks.position();
            let bytes = self.chunks.fill_buf().map_err(|error: io::Error| CopyError::Source(error.to_string()))?;
            let bytes = bytes.get(..usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len())).unwrap_or_default();
            if bytes.is_empty() {
                return match length {
                    u64::MAX => Ok(()),
                    _ => Err(CopyError::Source(format!("it ends at byte {position}, before its last cluster"))),
                };
            }
            self.tables.see(position, bytes)?;
            take(bytes)?;
            let taken = bytes.len();
            self.chunks.consume(taken);
            left -= taken as u64;
        }
        Ok(())
    }
}

/// Compares the tables that come by with those that the map was made of.
struct Tables<'a> {
    left: std::iter::Zip<std::slice::Iter<'a, (u64, u64)>, std::slice::Iter<'a, [u8; 32]>>,
    current: Option<(u64, u64, [u8; 32], Context)>,
}

impl<'a> Tables<'a> {
    fn new(plan: &'a Plan) -> Self {
        let mut tables = Self { left: plan.map.tables.iter().zip(&plan.sums), current: None };
        tables.next();
        tables
    }

    fn next(&mut self) {
        let next = self.left.next();
        self.current = next.map(|((offset, length), sum)| (*offset, offset + length, *sum, Context::new(&SHA256)));
    }

    fn see(&mut self, position: u64, bytes: &[u8]) -> Result<(), CopyError> {
        let end = position + bytes.len() as u64;
        while let Some((start, stop, sum, hash)) = &mut self.current {
            if *start >= end {
                break;
            }
            let index = |at: u64| usize::try_from(at.saturating_sub(position)).unwrap_or(usize::MAX).min(bytes.len());
            hash.update(bytes.get(index(*start)..index(*stop)).unwrap_or_default());
            if *stop > end {
                break;
            }
            if hash.clone().finish().as_ref() != sum.as_slice() {
                return Err(CopyError::Source(format!(
                    "its table at byte {start} is not the one that was read at first"
                )));
            }
            self.next();
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), CopyError> {
        match &self.current {
            None => Ok(()),
            Some((start, ..)) => Err(CopyError::Source(format!("it ends before its table at byte {start}"))),
        }
    }
}

fn sum(bytes: &[u8]) -> [u8; 32] {
    ring::digest::digest(&SHA256, bytes).as_ref().try_into().unwrap_or_default()
}
