//! `timezone`.

use std::fs;
use std::path::Path;

use super::{ConfigError, sections};
use crate::yaml::Node;
use crate::{ApplyError, System};

pub(super) fn read(config: &Node) -> Result<Option<String>, ConfigError> {
    let zone = sections::text(config, "timezone", "timezone")?;
    match &zone {
        Some(zone) if zone.split('/').any(|part| part == ".." || part.is_empty()) => {
            Err(ConfigError::new("timezone", "is no name of a time zone"))
        }
        _ => Ok(zone),
    }
}

pub(super) fn apply(zone: &str, system: &System<'_>) -> Result<(), ApplyError> {
    let file = format!("/usr/share/zoneinfo/{zone}");
    if !system.path(&file).is_file() {
        return Err(ApplyError(format!("timezone: there is no {file}")));
    }
    system.write("/etc/timezone", &format!("{zone}\n"), 0o644)?;
    let link = system.path("/etc/localtime");
    let failed = |error: std::io::Error| ApplyError::io(Path::new("/etc/localtime"), &error);
    match fs::remove_file(&link) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    std::os::unix::fs::symlink(&file, &link).map_err(failed)
}
