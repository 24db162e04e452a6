//! How a joining node finds the cluster, and knows that it is the right one.

use std::collections::BTreeMap;

use bessemer_api_macros::api;

/// How a joining node finds the cluster.
#[api(some)]
#[derive(Eq)]
pub struct Discovery {
    /// By a bootstrap token.
    pub bootstrap_token: Option<BootstrapTokenDiscovery>,
    /// By a kubeconfig.
    pub file: Option<FileDiscovery>,
    /// Token of the kubelet's TLS bootstrap; the bootstrap token unless given.
    #[text(1..=512)]
    pub tls_bootstrap_token: Option<String>,
}

/// By a bootstrap token.
#[api(some)]
#[derive(Eq)]
pub struct BootstrapTokenDiscovery {
    /// The token.
    #[text(1..=512)]
    pub token: Option<String>,
    /// `host:port` of an API server.
    #[text(1..=512)]
    pub api_server_endpoint: Option<String>,
    /// Hashes of the CA's public key, `sha256:<hex>`.
    #[list(atomic, 1..=100, each(1..=512))]
    pub ca_cert_hashes: Vec<String>,
    /// Whoever answers is believed.
    #[serde(rename = "unsafeSkipCAVerification")]
    pub unsafe_skip_ca_verification: Option<bool>,
}

/// By a kubeconfig.
#[api]
#[derive(Eq)]
pub struct FileDiscovery {
    /// Where it lies on the machine.
    #[text(1..=512)]
    pub kube_config_path: String,
    /// What is written there, if anything.
    pub kube_config: Option<FileDiscoveryKubeConfig>,
}

/// A kubeconfig to write.
#[api]
#[derive(Eq)]
pub struct FileDiscoveryKubeConfig {
    /// The cluster; made from the Cluster unless given.
    pub cluster: Option<KubeConfigCluster>,
    /// The user.
    pub user: KubeConfigUser,
}

/// A kubeconfig's cluster.
#[api(some)]
#[derive(Eq)]
pub struct KubeConfigCluster {
    /// URL of an API server.
    #[text(1..=512)]
    pub server: Option<String>,
    /// Name that its certificate must have.
    #[text(1..=512)]
    pub tls_server_name: Option<String>,
    /// Its certificate is not checked.
    #[serde(rename = "insecureSkipTLSVerify")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// CA certificates, in base64.
    #[text(1..=51200)]
    #[schemars(extend("format" = "byte"))]
    pub certificate_authority_data: Option<String>,
    /// Proxy to it.
    #[serde(rename = "proxyURL")]
    #[text(1..=512)]
    pub proxy_url: Option<String>,
}

/// A kubeconfig's user: one of the two.
#[api(some)]
#[derive(Eq)]
pub struct KubeConfigUser {
    /// A provider that kubectl knows.
    pub auth_provider: Option<KubeConfigAuthProvider>,
    /// A program that gives credentials.
    pub exec: Option<KubeConfigExec>,
}

/// A provider of credentials.
#[api]
#[derive(Eq)]
pub struct KubeConfigAuthProvider {
    /// Its name.
    #[text(1..=256)]
    pub name: String,
    /// What it wants to know.
    pub config: BTreeMap<String, String>,
}

/// A program that gives credentials.
#[api]
#[derive(Eq)]
pub struct KubeConfigExec {
    /// The program.
    #[text(1..=1024)]
    pub command: String,
    /// Its arguments.
    #[list(atomic, 1..=100, each(1..=512))]
    pub args: Vec<String>,
    /// Its environment, added to that of its caller.
    #[list(atomic, 1..=100)]
    pub env: Vec<KubeConfigExecEnv>,
    /// Version of what it reads and writes; `client.authentication.k8s.io/v1` unless given.
    #[text(1..=512)]
    pub api_version: Option<String>,
    /// It is told of the cluster.
    pub provide_cluster_info: Option<bool>,
}

/// One environment variable.
#[api]
#[derive(Eq)]
pub struct KubeConfigExecEnv {
    /// Name.
    #[text(1..=512)]
    pub name: String,
    /// Value.
    #[text(1..=512)]
    pub value: String,
}
