//! Looks at the host just before kubeadm runs, so that what cannot work is said in a sentence with a remedy, and not found out after minutes
//! by whoever reads kubeadm's output.
//!
//! What is repaired is what kubeadm's own documents tell everybody to do on every host and what takes nothing away: the modules `overlay` and
//! `br_netfilter`, and the sysctls of forwarding, for the running system. What is somebody's decision (swap, a port, the clock, a disk that is full)
//! is named and left alone: users of Cluster API put `swapoff -a` into `preKubeadmCommands`, which have run by now.
//! Checks that the configuration tells kubeadm to ignore are ignored here as well.

mod disk;
mod kernel;
mod ports;
mod runtime;
mod versions;

use std::path::Path;

use crate::node::kubeadm::config::Config;

/// What came of looking.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Why kubeadm cannot work, each a sentence with its remedy.
    pub(super) fatal: Vec<String>,
    /// What was repaired, or may cause trouble later.
    pub(super) warnings: Vec<String>,
}

/// Looks, and repairs what is to be repaired. `join` is kubeadm's command, `init` or `join`.
pub(super) async fn check(config: &Config) -> Findings {
    let mut findings = Findings::default();
    let root = Path::new("/");
    kernel::load_modules(root, &mut findings).await;
    kernel::set_forwarding(root, &mut findings);
    kernel::check_swap(root, config, &mut findings);
    kernel::check_clock(&mut findings);
    disk::check(root, config, &mut findings);
    ports::check(root, config, &mut findings);
    let (runtime, versions) = tokio::join!(runtime::check(config), versions::check(config));
    findings.fatal.extend(runtime.into_iter().chain(versions));
    if let Some(warning) = unresolved().await {
        findings.warnings.push(warning);
    }
    findings
}

/// kubeadm warns about this one, too; what fails by it is subtle.
async fn unresolved() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    match tokio::net::lookup_host((name.as_str(), 0)).await {
        Ok(_) => None,
        Err(_) => {
            Some(format!("the host's own name {name} does not resolve: add it to /etc/hosts or to the site's DNS"))
        }
    }
}
