//! kubeadm's configuration, in Cluster API's v1beta2 words.

use std::collections::BTreeMap;

use bessemer_api_macros::api;

use super::{
    ApiServer, ControlPlaneComponent, Discovery, Dns, Etcd, LocalApiEndpoint, NodeRegistration, Patches, Timeouts,
};
use crate::Time;

/// For the whole cluster. Names, addresses and the version come from Cluster and Machine.
#[api(some)]
pub struct ClusterConfiguration {
    /// etcd.
    pub etcd: Option<Etcd>,
    /// `host:port`, if it shall be another than the Cluster's.
    #[text(1..=512)]
    pub control_plane_endpoint: Option<String>,
    /// The API server.
    pub api_server: Option<ApiServer>,
    /// The controller manager.
    pub controller_manager: Option<ControlPlaneComponent>,
    /// The scheduler.
    pub scheduler: Option<ControlPlaneComponent>,
    /// CoreDNS.
    pub dns: Option<Dns>,
    /// Where certificates lie; `/etc/kubernetes/pki` unless given.
    #[text(1..=512)]
    pub certificates_dir: Option<String>,
    /// Repository of all images; `registry.k8s.io` unless given.
    #[text(1..=512)]
    pub image_repository: Option<String>,
    /// kubeadm's feature gates.
    pub feature_gates: BTreeMap<String, bool>,
    /// Validity of certificates in days; 365 unless given.
    #[number(1..=1095)]
    pub certificate_validity_period_days: Option<i32>,
    /// Validity of CAs in days; 3650 unless given.
    #[number(1..=36500)]
    pub ca_certificate_validity_period_days: Option<i32>,
    /// Kind of the keys; `RSA-2048` unless given.
    pub encryption_algorithm: Option<EncryptionAlgorithm>,
}

/// Kind of a key.
#[api]
pub enum EncryptionAlgorithm {
    /// ECDSA on P-256.
    #[serde(rename = "ECDSA-P256")]
    EcdsaP256,
    /// ECDSA on P-384.
    #[serde(rename = "ECDSA-P384")]
    EcdsaP384,
    /// RSA of 2048 bits.
    #[serde(rename = "RSA-2048")]
    Rsa2048,
    /// RSA of 3072 bits.
    #[serde(rename = "RSA-3072")]
    Rsa3072,
    /// RSA of 4096 bits.
    #[serde(rename = "RSA-4096")]
    Rsa4096,
}

/// For the first control plane node.
#[api(some)]
pub struct InitConfiguration {
    /// Tokens to make.
    #[list(atomic, 1..=100)]
    pub bootstrap_tokens: Vec<BootstrapToken>,
    /// The node.
    pub node_registration: Option<NodeRegistration>,
    /// Where its API server listens.
    #[serde(rename = "localAPIEndpoint")]
    pub local_api_endpoint: Option<LocalApiEndpoint>,
    /// kubeadm phases to leave out.
    #[list(atomic, 1..=50, each(1..=256))]
    pub skip_phases: Vec<String>,
    /// Patches of static pods.
    pub patches: Option<Patches>,
    /// How long to wait for what.
    pub timeouts: Option<Timeouts>,
}

/// One bootstrap token.
#[api]
pub struct BootstrapToken {
    /// `<id>.<secret>`.
    #[text(1..=23)]
    pub token: String,
    /// What it is for.
    #[text(1..=512)]
    pub description: Option<String>,
    /// How long it lives, in seconds; 86400 unless given, and 0 is for ever. Not with `expires`.
    #[number(0..)]
    pub ttl_seconds: Option<i32>,
    /// When it ends.
    pub expires: Option<Time>,
    /// What it may be used for; signing and authentication unless given.
    #[list(atomic, 1..=100, each(1..=256))]
    pub usages: Vec<String>,
    /// Groups of whoever shows it.
    #[list(atomic, 1..=100, each(1..=256))]
    pub groups: Vec<String>,
}

/// For every other node.
#[api(some)]
pub struct JoinConfiguration {
    /// The node.
    pub node_registration: Option<NodeRegistration>,
    /// Where the CA's certificate lies; `/etc/kubernetes/pki/ca.crt` unless given.
    #[text(1..=512)]
    pub ca_cert_path: Option<String>,
    /// How it finds the cluster; by a fresh bootstrap token unless given.
    pub discovery: Option<Discovery>,
    /// It becomes a control plane node.
    pub control_plane: Option<JoinControlPlane>,
    /// kubeadm phases to leave out.
    #[list(atomic, 1..=50, each(1..=256))]
    pub skip_phases: Vec<String>,
    /// Patches of static pods.
    pub patches: Option<Patches>,
    /// How long to wait for what.
    pub timeouts: Option<Timeouts>,
}

/// For a control plane node that joins.
#[api]
#[derive(Eq)]
pub struct JoinControlPlane {
    /// Where its API server listens.
    #[serde(rename = "localAPIEndpoint")]
    pub local_api_endpoint: Option<LocalApiEndpoint>,
}
