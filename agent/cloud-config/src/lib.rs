//! What cloud-init does with user data and network data, for hosts that have none of it: parsing ([`user_data`], [`yaml`], [`jinja`]), the modules
//! that Cluster API's bootstrap providers and Metal3's users write ([`CloudConfig`], [`modules`]) and the network's configuration in the
//! distribution's own files ([`network`]).
//!
//! Whatever is not done is a warning that names it. Text that cannot be meant is an error; errors and warnings quote no content, which is secret.
//! This crate must not know the controller, how commands are watched, or what a Kubernetes node is.

mod device;
pub mod jinja;
pub mod modules;
pub mod network;
mod system;
pub mod user_data;
pub mod yaml;

pub use modules::{CloudConfig, Module};
pub use system::{Program, RealPrograms, Run, System};

/// Why something was not done: the step's own words, with the names of files and programs and without their contents.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ApplyError(pub String);

impl ApplyError {
    fn io(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self(format!("{}: {error}", path.display()))
    }
}
