//! Version v1beta2, one concept per file.

mod components;
mod discovery;
mod disks;
mod env;
mod files;
mod kubeadm;
mod kubeadm_config;
mod kubeadm_config_template;
mod node_registration;

pub use components::*;
pub use discovery::*;
pub use disks::*;
pub use env::*;
pub use files::*;
pub use kubeadm::*;
pub use kubeadm_config::*;
pub use kubeadm_config_template::*;
pub use node_registration::*;
