//! Who this host is towards the controller: what the seed says, or what was kept since, when that is of the same host and claim and so holds a
//! newer certificate and newer controllers; the rest may have been written anew to the seed. A host that was not deployed by us, but adopted, has the kept one only.

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
            Ok(with_kept(seed, kept))
        }
        (seed, _) => seed,
    }
}

/// The certificate with its key and the controllers may be newer than the seed; the seed may have been written anew with another name or delivery.
fn with_kept(seed: Found, kept: NodeIdentity) -> Found {
    let NodeIdentity { controllers, ca, certificate, key, .. } = kept;
    Found { identity: NodeIdentity { controllers, ca, certificate, key, ..seed.identity }, ..seed }
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
    #[test]
    fn a_seed_that_was_written_anew_counts_beside_a_kept_certificate() {
        let old = NodeIdentity {
            controllers: vec!["https://192.0.2.1:8444".into()],
            ca: "CA".into(),
            certificate: "CERT".into(),
            key: "KEY".into(),
            host_id: HostId::random(),
            claim: "metal/m0".into(),
            hostname: "old".into(),
            delivery: BootstrapDelivery::Agent,
        };
        let renewed = NodeIdentity { certificate: "CERT2".into(), key: "KEY2".into(), ..old.clone() };
        let anew = NodeIdentity { hostname: "new".into(), delivery: BootstrapDelivery::CloudInit, ..old };
        let wanted = NodeIdentity { certificate: "CERT2".into(), key: "KEY2".into(), ..anew.clone() };
        let seed = Found { identity: anew, meta_data: Map::new(), network_data: None };
        assert_eq!(with_kept(seed, renewed).identity, wanted);
    }
}
