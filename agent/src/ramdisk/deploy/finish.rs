//! From an image that proved right to a disk that boots: seed, tables, and the first MiB last; then what is really there.

use std::os::unix::fs::FileExt;

use bessemer_protocol::{NodeIdentity, Seed};
use tracing::warn;

use super::disk::Target;
use super::error::DeployError;
use super::seed::stale::Others;
use super::table::{self, Plan};
use super::write::HeldImage;
use super::{disk_error, seed};

/// Removes the seeds of other disks, which must not be lost for an image that is none, and then makes the disk bootable, which it must
/// not be beside them. Returns the table as it was written and read back, and what was removed in words.
pub(super) fn finish(
    target: &Target,
    image: HeldImage,
    seed_data: &Seed,
    identity: Option<&NodeIdentity>,
    others: &Others,
) -> Result<(Plan, Vec<String>), DeployError> {
    let (removed, alone) = others.remove_seeds();
    match alone.and_then(|()| make_bootable(target, image, seed_data, identity)) {
        Ok(plan) => Ok((plan, removed)),
        Err(cause) => Err(DeployError::after(removed, cause)),
    }
}

fn make_bootable(
    target: &Target,
    mut image: HeldImage,
    seed_data: &Seed,
    identity: Option<&NodeIdentity>,
) -> Result<Plan, DeployError> {
    let failed = |action| move |error: std::io::Error| disk_error(target.name(), action, &error);
    let (size, sector, disk) = (target.size(), target.sector(), target.buffered());
    let plan = table::plan(&image.head, size, sector, seed::label(seed_data.layout)).map_err(DeployError::BadImage)?;
    seed::write(disk, (plan.seed_start, table::SEED_BYTES, sector), seed_data, identity)
        .map_err(failed("write the seed"))?;
    if let Some((start, backup)) = plan.backup() {
        disk.write_all_at(&backup, start).map_err(failed("write the end of the disk"))?;
    }
    target.sync().map_err(failed("flush"))?;
    plan.put_into(&mut image.head);
    disk.write_all_at(&image.head, 0).map_err(failed("write the first MiB"))?;
    target.sync().map_err(failed("flush"))?;
    target.forget_cached().map_err(failed("read back"))?;
    let partitions = verify(target, plan.seed_start, seed_data, identity)?;
    if partitions != plan.partitions() {
        return Err(disk_error(target.name(), "read back", &"the partition table is not the one that was written"));
    }
    if let Err(error) = target.reread_partitions() {
        warn!("{}: the kernel does not read the new partitions: {error}; the installed system will", target.name());
    }
    Ok(plan)
}

fn verify(
    target: &Target,
    seed_start: u64,
    seed_data: &Seed,
    identity: Option<&NodeIdentity>,
) -> Result<Vec<String>, DeployError> {
    let failed = |error: &dyn std::fmt::Display| disk_error(target.name(), "read back", error);
    let disk = target.buffered();
    let mut head = vec![0; 1 << 20];
    let mut last = vec![0; usize::try_from(target.sector()).unwrap_or(512)];
    disk.read_exact_at(&mut head, 0).map_err(|error| failed(&error))?;
    disk.read_exact_at(&mut last, target.size() - target.sector()).map_err(|error| failed(&error))?;
    let partitions = table::partitions(&head, &last, target.sector()).map_err(|error| failed(&error))?;
    seed::verify(disk, (seed_start, table::SEED_BYTES), seed_data, identity).map_err(|error| failed(&error))?;
    Ok(partitions)
}
