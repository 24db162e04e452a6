//! Reconcilers of the kinds we serve: observe → decide → act, one folder per API group, one per kind inside it.
//!
//! They see the outside (BMCs, agents, workload clusters) through the traits in [`outside`], and answer the agents'
//! endpoint and the boot server about hosts ([`Hosts`]). They must not know how a packet, a stream or a certificate
//! looks. [`Site::start`] fills the caches, [`Site::hosts`] answers questions, [`Site::run`] runs every controller;
//! [`Hosts::watch`] answers questions alone.

mod boot;
mod bootstrap;
mod cluster;
mod controlplane;
mod hosts;
mod infrastructure;
mod kubernetes;
mod metal3;
mod metrics;
pub mod outside;
mod settings;
mod site;
mod workload;

pub use boot::Journal;
pub use hosts::Hosts;
pub use metrics::metrics;
pub use settings::BootSettings;
pub use site::{Group, Outside, Site, StartError};
pub use workload::KubeWorkloadClusters;
