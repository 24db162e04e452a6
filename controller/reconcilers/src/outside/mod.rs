//! What reconcilers need of the world outside the Kubernetes API, as traits, and what that world may ask of them.
//!
//! The first half ([`AgentHub`], [`WorkloadClusters`], and the BMCs' own `BmcConnector`) is implemented elsewhere and
//! handed to [`crate::Site::run`]; a test can be the outside. The second half ([`HostAuthority`], [`BootDirectory`]) is
//! what the agents' endpoint and the boot server ask about hosts; [`crate::Hosts`] answers from the API. Nothing here
//! may know how a stream, a packet or a certificate looks.

mod agent_hub;
mod boot_directory;
mod host_authority;
mod workload;

pub use agent_hub::{AgentHub, AgentHubError, AgentView, ItemView, Progress};
pub use boot_directory::{
    AddressPool, BootDirectory, BootFilesView, BootTargetView, BootView, DirectoryError, NoAddress, WhoseView,
};
pub use host_authority::{AgentIdentity, HostAuthority, Refused, RoleIdentity};
pub use workload::{ClusterKey, NodeAddressView, NodeView, WorkloadClusters, WorkloadError};
