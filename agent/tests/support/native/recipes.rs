//! Bootstrap data as Cluster API's kubeadm provider writes it, for hosts in namespaces.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose, PublicKeyData};
use ring::digest::{SHA256, digest};

/// What current kubelets need where the machine has cgroup v1 and lets nobody lower an OOM score.
const KUBELET: &str = "kubeletExtraArgs:
        - {name: fail-cgroupv1, value: \"false\"}
        - {name: oom-score-adj, value: \"0\"}
        - {name: cgroup-driver, value: cgroupfs}
        - {name: eviction-hard, value: \"memory.available<10Mi\"}";

/// A cluster whose CA was made by its management cluster, as Cluster API does it.
pub struct Cluster {
    endpoint: &'static str,
    ca: String,
    ca_key: String,
    hash: String,
}

impl Cluster {
    pub fn new(endpoint: &'static str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "kubernetes");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let ca = params.self_signed(&key).unwrap().pem();
        let sum = digest(&SHA256, &key.subject_public_key_info());
        let hash = sum.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Self { endpoint, ca, ca_key: key.serialize_pem(), hash: format!("sha256:{hash}") }
    }

    /// For its first control plane.
    pub fn cloud_config(&self, name: &str, version: &str) -> String {
        let (ca, key) = (STANDARD.encode(&self.ca), STANDARD.encode(&self.ca_key));
        let endpoint = self.endpoint;
        format!(
            r#"#cloud-config
write_files:
- path: /etc/kubernetes/pki/ca.crt
  encoding: b64
  owner: root:root
  permissions: '0640'
  content: {ca}
- path: /etc/kubernetes/pki/ca.key
  encoding: b64
  owner: root:root
  permissions: '0600'
  content: {key}
- path: /run/kubeadm/kubeadm.yaml
  owner: root:root
  permissions: '0640'
  content: |
    ---
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: ClusterConfiguration
    kubernetesVersion: {version}
    controlPlaneEndpoint: {endpoint}
    networking: {{podSubnet: 10.244.0.0/16}}
    ---
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: InitConfiguration
    bootstrapTokens:
    - {{token: abcdef.0123456789abcdef, ttl: 1h0m0s}}
    skipPhases: [addon/coredns]
    nodeRegistration:
      name: {name}
      imagePullPolicy: Never
      ignorePreflightErrors: [SystemVerification]
      {KUBELET}
    timeouts: {{controlPlaneComponentHealthCheck: 3m0s, kubeletHealthCheck: 3m0s}}
    ---
    apiVersion: kubeproxy.config.k8s.io/v1alpha1
    kind: KubeProxyConfiguration
    conntrack: {{maxPerCore: 0, min: 0}}
- path: /run/cluster-api/placeholder
  content: placeholder
runcmd:
- kubeadm init --config /run/kubeadm/kubeadm.yaml  && echo success > /run/cluster-api/bootstrap-success.complete
"#
        )
    }
}

/// How a worker joins.
#[derive(Clone, Copy)]
pub struct Join<'a> {
    pub endpoint: &'a str,
    pub token: &'a str,
    pub hash: &'a str,
    /// How long to look for the cluster.
    pub discovery: &'a str,
}

impl<'a> Join<'a> {
    pub fn of(cluster: &'a Cluster) -> Self {
        Self { endpoint: cluster.endpoint, token: "abcdef.0123456789abcdef", hash: &cluster.hash, discovery: "2m0s" }
    }

    pub fn cloud_config(self, name: &str) -> String {
        let Self { endpoint, token, hash, discovery } = self;
        format!(
            r#"#cloud-config
write_files:
- path: /run/kubeadm/kubeadm-join-config.yaml
  owner: root:root
  permissions: '0640'
  content: |
    ---
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: JoinConfiguration
    discovery:
      bootstrapToken:
        apiServerEndpoint: {endpoint}
        token: {token}
        caCertHashes: ["{hash}"]
    nodeRegistration:
      name: {name}
      imagePullPolicy: Never
      ignorePreflightErrors: [SystemVerification]
      {KUBELET}
    timeouts: {{discovery: {discovery}, kubeletHealthCheck: 3m0s, tlsBootstrap: 3m0s}}
- path: /run/cluster-api/placeholder
  content: placeholder
runcmd:
- kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > /run/cluster-api/bootstrap-success.complete
"#
        )
    }
}
