//! Every Kubernetes type that Bessemer defines or reads, one module per API group, and the CRDs made from them.
//!
//! Upstream kinds keep their upstream shapes. Fields that no reconciler reads yet are not typed but kept: each struct
//! that upstream may fill further ends in an [`Extra`] map, so that an unmodified manifest is accepted and comes back
//! whole. This room does no I/O and must not know what reconcilers do with the objects.

pub mod addons;
pub mod bessemer;
pub mod bootstrap;
pub mod cluster;
pub mod clusterctl;
pub mod conditions;
pub mod controlplane;
mod crds;
mod extra;
pub mod infrastructure;
pub mod ipam;
pub mod metal3;
mod patterns;
mod references;
pub mod runtime;
mod schema;
pub mod well_known;

pub use crds::crds;
pub use extra::Extra;
pub use references::{ContractReference, NameReference, SecretKeyReference, TemplateReference};

/// A condition as all our kinds carry it.
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
/// A point in time as the API writes it.
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
