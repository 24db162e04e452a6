//! Static pods of the control plane.

use bessemer_api_macros::api;

use super::EnvVar;

/// One flag; order counts, and a name may not come twice.
#[api]
#[derive(Eq)]
pub struct Arg {
    /// Without dashes.
    #[text(1..=256)]
    pub name: String,
    /// Value.
    #[text(0..=1024)]
    pub value: String,
}

/// The API server.
#[api(some)]
pub struct ApiServer {
    /// More flags.
    #[list(map(name, value), 1..=100)]
    #[rule("self.all(x, self.exists_one(y, x.name == y.name))", "extraArgs name must be unique")]
    pub extra_args: Vec<Arg>,
    /// More volumes.
    #[list(atomic, 1..=100)]
    pub extra_volumes: Vec<HostPathMount>,
    /// More environment variables.
    #[list(atomic, 1..=100)]
    pub extra_envs: Vec<EnvVar>,
    /// More names for its certificate.
    #[serde(rename = "certSANs")]
    #[list(atomic, 1..=100, each(1..=253))]
    pub cert_sans: Vec<String>,
}

/// The controller manager or the scheduler.
#[api(some)]
pub struct ControlPlaneComponent {
    /// More flags.
    #[list(map(name, value), 1..=100)]
    #[rule("self.all(x, self.exists_one(y, x.name == y.name))", "extraArgs name must be unique")]
    pub extra_args: Vec<Arg>,
    /// More volumes.
    #[list(atomic, 1..=100)]
    pub extra_volumes: Vec<HostPathMount>,
    /// More environment variables.
    #[list(atomic, 1..=100)]
    pub extra_envs: Vec<EnvVar>,
}

/// A path of the host inside a static pod.
#[api]
#[derive(Eq)]
pub struct HostPathMount {
    /// Name of the volume.
    #[text(1..=512)]
    pub name: String,
    /// Path on the host.
    #[text(1..=512)]
    pub host_path: String,
    /// Path in the pod.
    #[text(1..=512)]
    pub mount_path: String,
    /// The pod may not write there.
    pub read_only: Option<bool>,
    /// What the path on the host must be.
    pub path_type: Option<String>,
}

/// etcd: one of the two.
#[api(some)]
pub struct Etcd {
    /// On the control plane's machines.
    pub local: Option<LocalEtcd>,
    /// Elsewhere.
    pub external: Option<ExternalEtcd>,
}

/// etcd on the control plane's machines.
#[api(some)]
pub struct LocalEtcd {
    /// Repository of its image.
    #[text(1..=512)]
    pub image_repository: Option<String>,
    /// Tag of its image.
    #[text(1..=256)]
    pub image_tag: Option<String>,
    /// Directory of its data; `/var/lib/etcd` unless given.
    #[text(1..=512)]
    pub data_dir: Option<String>,
    /// More flags.
    #[list(map(name, value), 1..=100)]
    #[rule("self.all(x, self.exists_one(y, x.name == y.name))", "extraArgs name must be unique")]
    pub extra_args: Vec<Arg>,
    /// More environment variables.
    #[list(atomic, 1..=100)]
    pub extra_envs: Vec<EnvVar>,
    /// More names for its server certificate.
    #[serde(rename = "serverCertSANs")]
    #[list(atomic, 1..=100, each(1..=253))]
    pub server_cert_sans: Vec<String>,
    /// More names for its peer certificate.
    #[serde(rename = "peerCertSANs")]
    #[list(atomic, 1..=100, each(1..=253))]
    pub peer_cert_sans: Vec<String>,
}

/// etcd elsewhere.
#[api]
#[derive(Eq)]
pub struct ExternalEtcd {
    /// Its members' URLs.
    #[required]
    #[list(atomic, 1..=50, each(1..=512))]
    pub endpoints: Vec<String>,
    /// File with its CA.
    #[text(1..=512)]
    pub ca_file: String,
    /// File with the client certificate.
    #[text(1..=512)]
    pub cert_file: String,
    /// File with the client's key.
    #[text(1..=512)]
    pub key_file: String,
}

/// CoreDNS.
#[api(some)]
#[derive(Eq)]
pub struct Dns {
    /// Repository of its image.
    #[text(1..=512)]
    pub image_repository: Option<String>,
    /// Tag of its image.
    #[text(1..=256)]
    pub image_tag: Option<String>,
}
