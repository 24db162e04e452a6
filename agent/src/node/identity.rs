//! Who this host is towards the controller: what the seed says, or what was kept since, when that is of the same host and claim and so holds a
//! newer certificate. A host that was not deployed by us, but adopted, has the kept one only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bessemer_protocol::NodeIdentity;
use serde_json::Map;
use tracing::warn;

use super::seed::{self, Found, SeedError};

/// The file beside the journal.
const FILE: &str = "identity.json";

/// The identity to use, and what lies beside it on the seed. `state` is where the journal is.
pub(super) fn read(state: &Path, sys: &Path, dev: &Path) -> Result<Found, SeedError> {
    let kept = kept(&state.join(FILE));
    match (seed::read(sys, dev), kept) {
        (Err(SeedError::Missing), Some(identity)) => Ok(Found { identity, meta_data: Map::new(), network_data: None }),
        (Ok(seed), Some(kept)) if (kept.host_id, &kept.claim) == (seed.identity.host_id, &seed.identity.claim) => {
            Ok(Found { identity: kept, ..seed })
        }
        (seed, _) => seed,
    }
}

fn kept(path: &PathBuf) -> Option<NodeIdentity> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            warn!("{}: {error}", path.display());
            return None;
        }
    };
    match serde_json::from_slice(&bytes) {
        Ok(identity) => Some(identity),
        // Half a file cannot be, as it is renamed into place; somebody wrote it by hand.
        Err(error) => {
            warn!("{} is no identity and is left out: {error}", path.display());
            None
        }
    }
}

/// Keeps it for the next start: whole or not at all, on the disk before this returns, and for root alone.
pub(super) fn keep(state: &Path, identity: &NodeIdentity) -> io::Result<()> {
    fs::create_dir_all(state)?;
    let (new, path) = (state.join("identity.new"), state.join(FILE));
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&serde_json::to_vec(identity)?)?;
    file.sync_all()?;
    fs::rename(&new, &path)?;
    File::open(state)?.sync_all()
}

#[cfg(test)]
mod tests {
    use bessemer_protocol::{BootstrapDelivery, HostId};

    use super::*;

    #[test]
    fn a_host_without_a_seed_is_who_was_kept() {
        let folder = tempfile::tempdir().unwrap();
        let read = || read(folder.path(), Path::new("/nowhere"), Path::new("/nowhere"));
        assert!(matches!(read(), Err(SeedError::Missing)));
        let identity = NodeIdentity {
            controllers: vec!["https://192.0.2.1:8444".into()],
            ca: "CA".into(),
            certificate: "CERT".into(),
            key: "KEY".into(),
            host_id: HostId::random(),
            claim: "metal/m0".into(),
            hostname: "r1-u1".into(),
            delivery: BootstrapDelivery::Agent,
        };
        keep(folder.path(), &identity).unwrap();
        assert_eq!(read().unwrap(), Found { identity, meta_data: Map::new(), network_data: None });
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(folder.path().join(FILE)).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(matches!(read(), Err(SeedError::Missing)), "nonsense is nobody");
    }
}
