//! Every Kubernetes type that Bessemer defines or reads, one module per API group, and the CRDs made from them.
//!
//! Upstream kinds keep their upstream shapes, whole: an unmodified manifest is accepted and comes back as it was, and
//! each CRD says what upstream's says (`tests/conformance`). A group has one folder per version, so that another version
//! can stand beside. This room does no I/O and must not know what reconcilers do with the objects.

mod absent;
pub mod addons;
pub mod addresses;
pub mod bessemer;
pub mod bootstrap;
pub mod cluster;
pub mod clusterctl;
pub mod conditions;
pub mod contract;
pub mod controlplane;
mod crds;
pub mod infrastructure;
pub mod ipam;
pub mod ipam_metal3;
pub mod metal3;
mod patterns;
mod references;
pub mod runtime;
mod schema;
pub mod well_known;

pub use crds::crds;
pub use references::{ContractReference, NameReference, SecretKeyReference, TemplateReference};

/// A condition as all our kinds carry it.
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
/// A point in time as the API writes it.
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
