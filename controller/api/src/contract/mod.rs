//! Cluster API's contracts with foreign kinds: which version of a kind keeps which contract, by the labels of its CRD,
//! and where each contract has its fields.
//!
//! Only labels and JSON are looked at: this room does no I/O, and knows no provider's types.

mod bootstrap;
mod conditions;
mod control_plane;
mod foreign;
mod infra_cluster;
mod infra_machine;
mod labels;
mod machine_template;
mod names;
mod semver;

pub use bootstrap::BootstrapConfig;
pub use control_plane::ControlPlane;
pub use foreign::{FieldError, Foreign};
pub use infra_cluster::InfraCluster;
pub use infra_machine::InfraMachine;
pub use labels::{ContractError, Resolved, resolve};
pub use machine_template::ControlPlaneMachines;
pub use names::{crd_name, plural};

/// A contract that foreign kinds may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contract {
    /// The older one, with `status.ready` and Go's durations.
    V1Beta1,
    /// The one of Cluster API 1.11 and later.
    V1Beta2,
}

impl Contract {
    /// As it stands in labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1Beta1 => "v1beta1",
            Self::V1Beta2 => "v1beta2",
        }
    }

    /// One of two fields.
    fn pick<T>(self, v1beta1: T, v1beta2: T) -> T {
        match self {
            Self::V1Beta1 => v1beta1,
            Self::V1Beta2 => v1beta2,
        }
    }
}

#[cfg(test)]
mod tests;
