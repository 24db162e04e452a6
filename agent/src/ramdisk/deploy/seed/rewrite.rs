//! A new seed beside an image that stays: `WriteSeed`.

use std::os::unix::fs::FileExt;

use bessemer_protocol::{NodeIdentity, Seed};

use super::super::disk::Target;
use super::super::{DeployError, disk_error, table};

/// Replaces the seed on `disk`. The identity that is on it is kept if there is one and the claim is the same.
pub(in crate::ramdisk) fn rewrite(disk: &str, seed: &Seed, claim: Option<&str>) -> Result<(), DeployError> {
    let failed = |action| move |error: std::io::Error| disk_error(disk, action, &error);
    super::check(seed).map_err(DeployError::BadSeed)?;
    let target = Target::open(disk).map_err(failed("open"))?;
    let mut head = vec![0; 1 << 20];
    target.buffered().read_exact_at(&mut head, 0).map_err(failed("read"))?;
    let place = table::seed_place(&head, target.sector(), super::label(seed.layout))
        .map_err(|why| disk_error(disk, "find the seed partition", &why))?;
    let identity = identity(&target, place).filter(|identity| Some(identity.claim.as_str()) == claim);
    let identity =
        identity.map(|identity| NodeIdentity { hostname: seed.hostname.clone(), delivery: seed.delivery, ..identity });
    super::write(target.buffered(), (place.0, place.1, target.sector()), seed, identity.as_ref())
        .map_err(failed("write the seed"))?;
    target.sync().map_err(failed("flush"))?;
    target.forget_cached().map_err(failed("read back"))?;
    super::verify(target.buffered(), place, seed, identity.as_ref()).map_err(failed("read back the seed"))
}

/// A seed that cannot be read holds nothing worth keeping.
fn identity(target: &Target, (start, size): (u64, u64)) -> Option<NodeIdentity> {
    let window = super::Window::new(target.buffered(), start, size);
    let volume = fatfs::FileSystem::new(window, fatfs::FsOptions::new()).ok()?;
    super::read_identity(&volume).ok()?
}
