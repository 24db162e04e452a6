//! From an image that proved right to a disk that boots: tail, seed, tables, and the first MiB last; then what is really there.

use std::os::unix::fs::FileExt;

use bessemer_protocol::{NodeIdentity, Seed};
use tracing::{info, warn};

use super::disk::Target;
use super::write::HeldImage;
use super::{DeployError, disk_error, gpt, seed};

/// Returns the partitions as read back.
pub(super) fn finish(
    target: &Target,
    mut image: HeldImage,
    seed_data: &Seed,
    identity: Option<&NodeIdentity>,
) -> Result<Vec<String>, DeployError> {
    let failed = |action| move |error: std::io::Error| disk_error(target.name(), action, &error);
    let (size, sector, disk) = (target.size(), target.sector(), target.buffered());
    let mut plan =
        gpt::plan(&mut image.head, size, sector, seed::label(seed_data.layout)).map_err(DeployError::BadImage)?;
    image.write_tail(target).map_err(failed("write the end of the image"))?;
    seed::write(disk, (plan.seed_start, gpt::SEED_BYTES, sector), seed_data, identity)
        .map_err(failed("write the seed"))?;
    plan.write(&mut image.head, disk, size).map_err(DeployError::BadImage)?;
    target.sync().map_err(failed("flush"))?;
    disk.write_all_at(&image.head, 0).map_err(failed("write the first MiB"))?;
    target.sync().map_err(failed("flush"))?;
    target.forget_cached().map_err(failed("read back"))?;
    let partitions = verify(target, plan.seed_start, seed_data, identity)?;
    if partitions != plan.partitions() {
        return Err(disk_error(target.name(), "read back", &"the partition table is not the one that was written"));
    }
    if !plan.grown {
        info!("the last partition is no Linux root and stays as it is");
    }
    if let Err(error) = target.reread_partitions() {
        warn!("{}: the kernel does not read the new partitions: {error}; the installed system will", target.name());
    }
    Ok(partitions)
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
    let partitions = gpt::partitions(&mut head, &last, target.sector()).map_err(|error| failed(&error))?;
    seed::verify(disk, (seed_start, gpt::SEED_BYTES), seed_data, identity).map_err(|error| failed(&error))?;
    Ok(partitions)
}
