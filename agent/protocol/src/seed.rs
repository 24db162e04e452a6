//! What the ramdisk role leaves on the disk for the node role.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::HostId;

/// Label of the seed partition and of its FAT, OpenStack's word for a config drive.
pub const SEED_LABEL: &str = "config-2";

/// Path of [`NodeIdentity`] on the seed partition, as JSON; OpenStack's own files lie beside it under `openstack/`.
pub const IDENTITY_PATH: &str = "bessemer/identity.json";

/// The installed host's identity towards the controller.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeIdentity {
    /// `https://address:port` of each controller.
    pub controllers: Vec<String>,
    /// The agents' CA, PEM.
    pub ca: String,
    /// Client certificate, PEM.
    pub certificate: String,
    /// Its private key, PEM. Made on the host.
    pub key: String,
    /// Who this host is.
    pub host_id: HostId,
    /// `<namespace>/<metal3machine>`.
    pub claim: String,
    /// Host name to take.
    pub hostname: String,
}

impl fmt::Debug for NodeIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeIdentity")
            .field("controllers", &self.controllers)
            .field("host_id", &self.host_id)
            .field("claim", &self.claim)
            .finish_non_exhaustive()
    }
}
