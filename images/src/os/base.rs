//! What every image has beyond Debian's packages: a network that finds itself, our agent's unit, nothing that runs by itself.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use super::OsImageSpec;
use super::error::OsImageError;
use crate::cache::Fingerprint;
use crate::file::FileError;
use crate::tool::Tool;

/// Settings and units.
const FILES: [(&str, &str); 4] = [
    ("etc/systemd/network/80-dhcp.network", include_str!("files/80-dhcp.network")),
    (
        "etc/systemd/system/systemd-networkd-wait-online.service.d/any.conf",
        "# A server has more ports than cables.\n[Service]\nExecStart=\n\
         ExecStart=/lib/systemd/systemd-networkd-wait-online --any\n",
    ),
    ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("etc/fstab", "# the root is named on the kernel's command line\n"),
];

const AGENT_UNIT: (&str, &str) =
    ("etc/systemd/system/bessemer-agent.service", include_str!("files/bessemer-agent.service"));

/// Timers that have nothing to do on a host that is replaced rather than upgraded.
const MASKED: [&str; 5] =
    ["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "e2scrub_reap.service"];

const LIMIT: Duration = Duration::from_secs(60);

/// Adds what this is made from.
pub(super) fn add_to(spec: &OsImageSpec, fingerprint: &mut Fingerprint) {
    for (path, content) in files(spec) {
        fingerprint.add(path, content);
    }
    for file in &spec.files {
        fingerprint.add(&file.path, &file.content).add("mode", file.mode.to_string());
    }
    fingerprint.add("units", spec.units.join(" ")).add("masked", MASKED.join(" "));
}

fn files(spec: &OsImageSpec) -> Vec<(&'static str, &'static str)> {
    FILES.into_iter().chain(spec.agent.as_ref().map(|_| AGENT_UNIT)).collect()
}

/// Installs it, and what whoever ordered the image adds.
pub(super) fn install(spec: &OsImageSpec, root: &Path) -> Result<(), OsImageError> {
    for (path, content) in files(spec) {
        write(&root.join(path), content, 0o644)?;
    }
    for file in &spec.files {
        write(&root.join(file.path.trim_start_matches('/')), &file.content, file.mode)?;
    }
    let mut units: Vec<&str> = vec!["systemd-networkd"];
    units.extend(spec.agent.as_ref().map(|_| "bessemer-agent"));
    units.extend(spec.units.iter().map(String::as_str));
    systemctl(root, "enable", &units)?;
    systemctl(root, "mask", &MASKED)
}

/// Enables or masks units of the root.
pub(super) fn systemctl(root: &Path, verb: &str, units: &[&str]) -> Result<(), OsImageError> {
    Tool::new("chroot", LIMIT).arg(root).args(["systemctl", verb]).args(units).run()?;
    Ok(())
}

/// Writes a file of the root, with its folders.
pub(super) fn write(path: &Path, content: &str, mode: u32) -> Result<(), FileError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(FileError::io("create", folder))?;
    }
    fs::write(path, content).map_err(FileError::io("write", path))?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(FileError::io("set the mode of", path))
}
