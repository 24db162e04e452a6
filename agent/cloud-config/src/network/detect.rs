//! Which of the distribution's programs configures its network.

use std::path::Path;

use super::{ConfigFile, Network, keyfile, netplan, networkd};

/// Who reads the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renderer {
    /// netplan, whatever is below it.
    Netplan,
    /// NetworkManager.
    NetworkManager,
    /// systemd-networkd.
    Networkd,
}

impl Renderer {
    /// The one of the system below `root`; none when none of them is there.
    #[must_use]
    pub fn of(root: &Path) -> Option<Self> {
        let there = |paths: &[&str]| paths.iter().any(|path| root.join(path).is_file());
        let enabled = |unit: &str| {
            let wanted = root.join("etc/systemd/system/multi-user.target.wants").join(unit);
            std::fs::symlink_metadata(wanted).is_ok()
        };
        let networkd = there(&["lib/systemd/systemd-networkd", "usr/lib/systemd/systemd-networkd"]);
        let manager = there(&["usr/sbin/NetworkManager", "usr/bin/NetworkManager"]);
        if there(&["usr/sbin/netplan"]) {
            Some(Self::Netplan)
        } else if manager && (enabled("NetworkManager.service") || !networkd) {
            Some(Self::NetworkManager)
        } else {
            networkd.then_some(Self::Networkd)
        }
    }

    /// What it reads.
    #[must_use]
    pub fn files(self, network: &Network) -> Vec<ConfigFile> {
        match self {
            Self::Netplan => vec![netplan::file(network)],
            Self::NetworkManager => keyfile::render(network),
            Self::Networkd => networkd::render(network),
        }
    }

    /// What makes it read them, in order.
    #[must_use]
    pub fn reload(self) -> Vec<Vec<&'static str>> {
        match self {
            Self::Netplan => vec![vec!["netplan", "apply"]],
            Self::NetworkManager => vec![vec!["nmcli", "connection", "reload"]],
            Self::Networkd => {
                vec![vec!["systemctl", "enable", "--now", "systemd-networkd"], vec!["networkctl", "reload"]]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_is_in_use_is_found() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        assert_eq!(Renderer::of(root.path()), None);
        put("lib/systemd/systemd-networkd");
        assert_eq!(Renderer::of(root.path()), Some(Renderer::Networkd));
        put("usr/sbin/NetworkManager");
        assert_eq!(Renderer::of(root.path()), Some(Renderer::Networkd), "it is there, but does not run");
        put("etc/systemd/system/multi-user.target.wants/NetworkManager.service");
        assert_eq!(Renderer::of(root.path()), Some(Renderer::NetworkManager));
        put("usr/sbin/netplan");
        assert_eq!(Renderer::of(root.path()), Some(Renderer::Netplan));
    }
}
