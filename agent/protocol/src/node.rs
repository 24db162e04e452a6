//! The node role: how an installed host gets its bootstrap data and what it reports.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::WorkId;

/// `POST /v1/node-certificate`, made in the ramdisk so that the installed host starts with its own identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCertificateRequest {
    /// The open `Deploy` item; its claim goes into the certificate.
    pub work_id: WorkId,
    /// PKCS#10 request, PEM.
    pub csr: String,
}

/// Answer to [`NodeCertificateRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeCertificateResponse {
    /// Client certificate, PEM.
    pub certificate: String,
}

/// `POST /v1/renew`: an installed host's next certificate, for the key of its last one. Asked for at half of the
/// certificate's life, and still granted when it has expired, for as long as the host is provisioned to the same claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenewRequest {
    /// The last certificate, PEM; may have expired.
    pub certificate: String,
    /// PKCS#10 request of the same key, PEM: its signature proves that the asker holds the key. Whoever replays it gets a
    /// certificate that is of no use without that key.
    pub csr: String,
}

/// Answer to [`RenewRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenewResponse {
    /// Client certificate, PEM.
    pub certificate: String,
    /// Every CA that controllers of this site may be certified by, PEM: the old and the new one while it is replaced.
    pub ca: String,
}

/// `GET /v1/bootstrap`: what makes an installed host a Kubernetes node.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// `<namespace>/<metal3machine>`; the journal of done steps is keyed by it.
    pub claim: String,
    /// `cloud-config`, CAPI's `format`.
    pub format: String,
    /// The bootstrap data. Secret: a control plane's holds the cluster's CA keys.
    pub data: String,
    /// To be the Node's `spec.providerID` unless the data names one.
    pub provider_id: String,
}

impl fmt::Debug for Bootstrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bootstrap")
            .field("claim", &self.claim)
            .field("format", &self.format)
            .field("provider_id", &self.provider_id)
            .finish_non_exhaustive()
    }
}

/// State of the node role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeReport {
    /// As the OS has it.
    pub hostname: String,
    /// As the OS sees them.
    pub addresses: Vec<NodeAddress>,
    /// As handed to the kubelet; none before it is known.
    pub provider_id: Option<String>,
    /// How far it is.
    pub phase: NodePhase,
    /// Parts of the bootstrap data that were left out or done in another way, each in a sentence that names it.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Linux's own id of this boot: another one means that the host was restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// What the kubelet's health endpoint says; none before there is a kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<Kubelet>,
    /// How long each finished step and kubeadm phase took, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub durations: Vec<PhaseDuration>,
}

/// How the kubelet is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kubelet {
    /// Whether its health endpoint answers `ok`.
    pub healthy: bool,
    /// What it says otherwise, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// One finished part of the bootstrap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseDuration {
    /// A step such as `write_files`, or `kubeadm init certs`.
    pub phase: String,
    /// In milliseconds.
    pub milliseconds: u64,
}

/// One address, in the words of the Kubernetes Node API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAddress {
    /// `InternalIP` or `Hostname`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The address.
    pub address: String,
}

/// Stages of bootstrapping.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "phase")]
pub enum NodePhase {
    /// Waits for bootstrap data.
    #[default]
    Waiting,
    /// Applies files, users and commands.
    Applying {
        /// What just now, such as `write_files`.
        step: String,
    },
    /// `kubeadm` runs.
    #[serde(rename_all = "camelCase")]
    Kubeadm {
        /// `init` or `join`.
        command: String,
        /// kubeadm's own phase, such as `control-plane`.
        kubeadm_phase: String,
    },
    /// All commands ended well.
    Done,
    /// A command ended badly.
    Failed {
        /// Step or kubeadm phase.
        step: String,
        /// One sentence.
        cause: String,
        /// Last lines of output, secrets masked.
        tail: Vec<String>,
        /// Path on the host of the whole output, when there was any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log: Option<String>,
    },
}
