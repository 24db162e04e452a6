//! Version v1beta2, one concept per file.

mod kubeadm_control_plane;
mod kubeadm_control_plane_template;
mod rollout;

pub use kubeadm_control_plane::*;
pub use kubeadm_control_plane_template::*;
pub use rollout::*;
