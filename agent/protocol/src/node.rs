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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "phase")]
pub enum NodePhase {
    /// Waits for bootstrap data.
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
    },
}
