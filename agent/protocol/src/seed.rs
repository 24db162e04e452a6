//! What the ramdisk role leaves on the disk for the installed system and its node role.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::HostId;

/// Label of a seed in OpenStack's layout: its partition and its FAT.
pub const SEED_LABEL: &str = "config-2";

/// Label of a seed in `NoCloud`'s layout.
pub const NOCLOUD_LABEL: &str = "cidata";

/// Path of [`NodeIdentity`] on the seed partition, as JSON; the files for cloud-init lie beside it.
pub const IDENTITY_PATH: &str = "bessemer/identity.json";

/// Who carries out the bootstrap data. Never both: each would run kubeadm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootstrapDelivery {
    /// The agent fetches and applies it; the seed holds none.
    #[default]
    Agent,
    /// cloud-init or Ignition finds it on the seed; the agent, if there is one, only reports.
    CloudInit,
}

/// In which form the seed lies on its partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeedLayout {
    /// `openstack/latest/…` under [`SEED_LABEL`]; Ignition reads it, too.
    #[default]
    ConfigDrive,
    /// `meta-data`, `user-data` and so on under [`NOCLOUD_LABEL`].
    NoCloud,
}

/// What the installed system finds on its seed partition.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seed {
    /// Host name of the installed system, also the Node's name.
    pub hostname: String,
    /// `instance-id` of the meta data; changes with each claim.
    pub instance_id: String,
    /// Who carries out the bootstrap data.
    #[serde(default)]
    pub delivery: BootstrapDelivery,
    /// Where cloud-init looks for what follows.
    #[serde(default)]
    pub layout: SeedLayout,
    /// The bootstrap data: cloud-config, Ignition's JSON or whatever else the image reads. Secret: a control plane's holds the cluster's CA keys.
    /// Must be absent when [`BootstrapDelivery::Agent`] delivers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<String>,
    /// Meta data. The host's name (`name`, `hostname`, `local-hostname`) and, in a config drive, the instance's id (`uuid`) are added
    /// where it has none.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta_data: Map<String, Value>,
    /// How the installed system reaches its networks: OpenStack's `network_data.json`, or cloud-init's network configuration of version 1 or 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_data: Option<String>,
    /// For cloud-init, below the user data in rank. May hold secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor_data: Option<String>,
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = |text: &Option<String>| text.as_ref().map(|text| format!("{} bytes", text.len()));
        f.debug_struct("Seed")
            .field("hostname", &self.hostname)
            .field("instance_id", &self.instance_id)
            .field("delivery", &self.delivery)
            .field("layout", &self.layout)
            .field("user_data", &length(&self.user_data))
            .field("meta_data", &self.meta_data.keys().collect::<Vec<_>>())
            .field("network_data", &length(&self.network_data))
            .field("vendor_data", &length(&self.vendor_data))
            .finish()
    }
}

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
    /// Whether the bootstrap data is this agent's to carry out.
    #[serde(default)]
    pub delivery: BootstrapDelivery,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret_and_old_items_are_read() {
        let mut seed: Seed = serde_json::from_str(r#"{"hostname":"n","instanceId":"i"}"#).unwrap();
        assert_eq!((seed.delivery, seed.layout), (BootstrapDelivery::Agent, SeedLayout::ConfigDrive));
        seed.user_data = Some("s3cr3t".into());
        seed.vendor_data = Some("s3cr3t".into());
        seed.meta_data.insert("password".into(), "s3cr3t".into());
        let shown = format!("{seed:?}");
        assert!(!shown.contains("s3cr3t") && shown.contains("6 bytes"), "{shown}");
    }
}
