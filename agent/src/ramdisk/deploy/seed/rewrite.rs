//! A new seed beside an image that stays: `WriteSeed`.

use std::io;
use std::os::unix::fs::FileExt;

use bessemer_protocol::{NodeIdentity, Seed};

use super::super::disk::Target;
use super::super::{DeployError, disk_error, table};

/// Replaces the seed on `disk`. For a claim, the identity that is on it is kept; when there is none of that claim, the disk stays as it is.
pub(in crate::ramdisk) fn rewrite(disk: &str, seed: &Seed, claim: Option<&str>) -> Result<(), DeployError> {
    let failed = |action| move |error: io::Error| disk_error(disk, action, &error);
    super::check(seed).map_err(DeployError::BadSeed)?;
    let target = Target::open(disk).map_err(failed("open"))?;
    let mut head = vec![0; 1 << 20];
    target.buffered().read_exact_at(&mut head, 0).map_err(failed("read"))?;
    let place = table::seed_place(&head, target.sector(), super::label(seed.layout))
        .map_err(|why| disk_error(disk, "find the seed partition", &why))?;
    // Without it the installed host would never be heard of again, and this would still count as done.
    let identity = match claim {
        Some(claim) => Some(identity(&target, place, claim).map_err(|why| no_identity(disk, claim, &why))?),
        None => None,
    };
    let identity =
        identity.map(|identity| NodeIdentity { hostname: seed.hostname.clone(), delivery: seed.delivery, ..identity });
    super::write(target.buffered(), (place.0, place.1, target.sector()), seed, identity.as_ref())
        .map_err(failed("write the seed"))?;
    target.sync().map_err(failed("flush"))?;
    target.forget_cached().map_err(failed("read back"))?;
    super::verify(target.buffered(), place, seed, identity.as_ref()).map_err(failed("read back the seed"))
}

/// The identity for `claim` that is there.
fn identity(target: &Target, (start, size): (u64, u64), claim: &str) -> io::Result<NodeIdentity> {
    let window = super::Window::new(target.buffered(), start, size);
    let volume = fatfs::FileSystem::new(window, fatfs::FsOptions::new())?;
    match super::read_identity(&volume)? {
        Some(identity) if identity.claim == claim => Ok(identity),
        Some(identity) => Err(io::Error::other(format!("it is of {}", identity.claim))),
        None => Err(io::Error::other("there is none")),
    }
}

fn no_identity(disk: &str, claim: &str, why: &io::Error) -> DeployError {
    DeployError::NoIdentity { disk: disk.to_owned(), claim: claim.to_owned(), why: why.to_string() }
}
