//! The networks that the seed names, for an image without cloud-init: written in the form that the distribution's own program reads, which is then told.
//! Nothing is done where the configuration is there already, so that a restart of the agent disturbs no connection.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use bessemer_cloud_config::network::detect::Renderer;
use bessemer_cloud_config::network::{self, ConfigFile, Network, Nic, iproute};
use bessemer_cloud_config::{Program, Run};
use tracing::info;

use crate::files;

/// Brings `data` into force below `root` (`/` outside tests). Sentences about what was left out, or why nothing was done.
pub(super) fn configure(data: &str, root: &Path, sys: &Path, programs: &dyn Run) -> Vec<String> {
    if has_cloud_init(root) {
        info!("network data: cloud-init is installed, which reads the seed by itself");
        return Vec::new();
    }
    let read = network::parse(data).and_then(|network| network.on_host(&nics(sys)));
    let network = match read {
        Ok(network) => network,
        Err(error) => return vec![format!("network data: {error}: the image's own network stays")],
    };
    let mut said: Vec<String> = network.warnings.iter().map(|warning| format!("network data: {warning}")).collect();
    if network.links.is_empty() {
        return said;
    }
    let Some(renderer) = Renderer::of(root) else {
        said.extend(straight(&network, sys, programs));
        return said;
    };
    let files = renderer.files(&network);
    let changed: Vec<&ConfigFile> = files.iter().filter(|file| !is_there(root, file)).collect();
    if changed.is_empty() {
        return said;
    }
    for file in changed {
        if let Err(error) = write(root, file) {
            said.push(format!("network data: {}: {error}", file.path));
            return said;
        }
        info!("network data: wrote {}", file.path);
    }
    for words in renderer.reload() {
        said.extend(programs.run(&Program::new(words)).err().map(|error| format!("network data: {error}")));
    }
    said
}

/// For an image with none of the programs whose files are known: the running system only, at every start anew.
fn straight(network: &Network, sys: &Path, programs: &dyn Run) -> Vec<String> {
    const NOBODY: &str = "network data: the image has none of netplan, NetworkManager and systemd-networkd";
    if !programs.has("ip") {
        return vec![format!("{NOBODY}, and no ip: its own network stays")];
    }
    let (commands, mut said) = iproute::commands(network, sys);
    said.iter_mut().for_each(|line| *line = format!("network data: {line}"));
    said.insert(0, format!("{NOBODY}: what runs is set by ip, at every start of the agent"));
    said.extend(commands.into_iter().filter_map(|words| programs.run(&Program::new(words)).err()));
    said
}

/// Installed, and not switched off.
fn has_cloud_init(root: &Path) -> bool {
    root.join("usr/bin/cloud-init").is_file() && !root.join("etc/cloud/cloud-init.disabled").exists()
}

/// Interfaces with a device behind them; a bond's or bridge's address is one of theirs.
fn nics(sys: &Path) -> Vec<Nic> {
    let nic = |path: std::path::PathBuf| {
        path.join("device").exists().then_some(())?;
        // a member of a bond has the bond's address, and keeps its own here
        let mac = files::line(path.join("bonding_slave/perm_hwaddr")).or_else(|| files::line(path.join("address")))?;
        Some(Nic { name: files::name(&path), mac: mac.to_ascii_lowercase() })
    };
    files::entries(sys.join("class/net")).into_iter().filter_map(nic).collect()
}

fn is_there(root: &Path, file: &ConfigFile) -> bool {
    fs::read(root.join(file.path.trim_start_matches('/'))).is_ok_and(|there| there == file.content.as_bytes())
}

fn write(root: &Path, file: &ConfigFile) -> std::io::Result<()> {
    let path = root.join(file.path.trim_start_matches('/'));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut open = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(file.mode).open(&path)?;
    open.set_permissions(fs::Permissions::from_mode(file.mode))?;
    std::io::Write::write_all(&mut open, file.content.as_bytes())?;
    open.sync_all()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl Run for Told {
        fn run(&self, program: &Program) -> Result<(), String> {
            self.0.lock().unwrap().push(program.words.join(" "));
            Ok(())
        }

        fn has(&self, _: &str) -> bool {
            true
        }
    }

    const DATA: &str = r#"{"links": [{"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}],
        "networks": [{"link": "a", "type": "ipv4", "ip_address": "192.0.2.7/24", "gateway": "192.0.2.1"}]}"#;

    #[test]
    fn files_are_written_once_for_the_program_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let (root, sys) = (folder.path().join("root"), folder.path().join("sys"));
        fs::create_dir_all(sys.join("class/net/eno1/device")).unwrap();
        fs::write(sys.join("class/net/eno1/address"), "52:54:00:00:00:01\n").unwrap();
        let told = Told::default();
        let none = configure(DATA, &root, &sys, &told);
        assert!(none.len() == 1 && none[0].contains("none of netplan"), "{none:?}");
        let straight = std::mem::take(&mut *told.0.lock().unwrap());
        assert!(straight.contains(&"ip address replace 192.0.2.7/24 dev eno1".to_owned()), "{straight:?}");
        fs::create_dir_all(root.join("lib/systemd")).unwrap();
        fs::write(root.join("lib/systemd/systemd-networkd"), "").unwrap();
        for _ in 0..2 {
            assert_eq!(configure(DATA, &root, &sys, &told), Vec::<String>::new());
        }
        let written = fs::read_to_string(root.join("etc/systemd/network/10-cloud-init-eno1.network")).unwrap();
        assert!(written.contains("Address=192.0.2.7/24") && written.contains("Gateway=192.0.2.1"), "{written}");
        assert_eq!(told.0.lock().unwrap().len(), 2, "told once");
    }

    #[test]
    fn cloud_init_and_strange_nics_leave_the_network_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let told = Told::default();
        let strange = configure(DATA, folder.path(), folder.path(), &told);
        assert!(strange[0].contains("no interface of this host has the address"), "{strange:?}");
        fs::create_dir_all(folder.path().join("usr/bin")).unwrap();
        fs::write(folder.path().join("usr/bin/cloud-init"), "").unwrap();
        assert_eq!(configure(DATA, folder.path(), folder.path(), &told), Vec::<String>::new());
        assert!(told.0.lock().unwrap().is_empty());
    }
}
