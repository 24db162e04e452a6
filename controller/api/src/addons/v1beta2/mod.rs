//! Version v1beta2, one concept per file.

mod cluster_resource_set;
mod cluster_resource_set_binding;

pub use cluster_resource_set::*;
pub use cluster_resource_set_binding::*;
