//! `mounts`, `mount_default_fields` and `swap`, in `/etc/fstab`.

use std::fs;
use std::path::Path;

use super::{ConfigError, sections, warn_unknown};
use crate::yaml::Node;
use crate::{ApplyError, Program, System};

pub(super) const KEYS: [&str; 3] = ["mounts", "mount_default_fields", "swap"];

/// What marks lines that are ours to replace; cloud-init's, so that either replaces those of the other.
const MARK: &str = "comment=cloudconfig";

/// The options of a line that names none. cloud-init's, but for the service that is waited for, which is not on these hosts.
const OPTIONS: &str = "defaults,nofail,_netdev";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mounts {
    /// Six fields of each line.
    lines: Vec<[String; 6]>,
    /// File and MiB.
    swap: Option<(String, u64)>,
}

impl Mounts {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.swap.is_none()
    }
}

pub(super) fn read(config: &Node, warnings: &mut Vec<String>) -> Result<Mounts, ConfigError> {
    let given = config.get("mount_default_fields").map(Node::items).unwrap_or_default();
    let built_in = [None, None, Some("auto"), Some(OPTIONS), Some("0"), Some("2")];
    let default = |index: usize| match given.get(index) {
        Some(value) => value.text().map(str::to_owned),
        None => built_in.get(index).copied().flatten().map(str::to_owned),
    };
    let mut mounts = Mounts::default();
    // devices whose earlier lines a later one took away
    for (index, item) in config.get("mounts").map(Node::items).unwrap_or_default().iter().enumerate() {
        let place = format!("mounts[{index}]");
        let Node::List(fields) = item else { return Err(ConfigError::new(place, "is no list")) };
        let field = |at: usize| match fields.get(at) {
            Some(value) if !value.is_null() => match value.text() {
                Some(text) if !text.contains(char::is_whitespace) => Ok(Some(text.to_owned())),
                _ => Err(ConfigError::new(format!("{place}[{at}]"), "is no word without blanks")),
            },
            _ => Ok(default(at)),
        };
        let device = field(0)?.ok_or_else(|| ConfigError::new(&place, "has no device"))?;
        let device = if is_short(&device) { format!("/dev/{device}") } else { device };
        let Some(target) = field(1)? else {
            mounts.lines.retain(|[known, ..]| *known != device);
            continue;
        };
        let rest = |at: usize| field(at).map(Option::unwrap_or_default);
        mounts.lines.push([device, target, rest(2)?, rest(3)?, rest(4)?, rest(5)?]);
    }
    if let Some(swap) = config.get("swap") {
        warn_unknown(swap, "swap", &["filename", "size", "maxsize"], warnings);
        let name = sections::text(swap, "swap", "filename")?.unwrap_or_else(|| "/swap.img".to_owned());
        let size = sections::text(swap, "swap", "size")?;
        match size.as_deref() {
            None | Some("0") => {}
            Some("auto") => warnings.push("cloud-config swap: a size of auto is not carried out".to_owned()),
            Some(text) => {
                let bytes = bytes(text).ok_or_else(|| ConfigError::new("swap.size", "is no number of bytes"))?;
                if !name.starts_with('/') || name.contains(char::is_whitespace) {
                    return Err(ConfigError::new("swap.filename", "is no absolute path"));
                }
                mounts.swap = Some((name, bytes >> 20));
            }
        }
    }
    Ok(mounts)
}

/// `sda1` for `/dev/sda1`.
fn is_short(device: &str) -> bool {
    ["sd", "hd", "vd", "xvd", "nvme"].iter().any(|start| device.starts_with(start)) && !device.contains(['/', ':', '='])
}

/// `512M`, `2GB`, `1048576`.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches(['B', 'b']);
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

pub(super) fn apply(mounts: &Mounts, system: &mut System<'_>) -> Result<(), ApplyError> {
    let fstab = system.read("/etc/fstab");
    let mut lines: Vec<String> = fstab.lines().filter(|line| !line.contains(MARK)).map(str::to_owned).collect();
    let kept: Vec<String> = lines.iter().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect();
    let mut swaps = false;
    for [device, target, kind, options, dump, pass] in &mounts.lines {
        if kept.contains(device) {
            continue;
        }
        // a name that stands for a device which is not there would stop the boot of whoever forgot nofail
        if device.starts_with("/dev/") && !system.path(device).exists() {
            system.warn(format!("mounts: there is no {device}: it is not in /etc/fstab"));
            continue;
        }
        if target.starts_with('/') {
            let folder = system.path(target);
            fs::create_dir_all(&folder).map_err(|error| ApplyError::io(Path::new(target), &error))?;
        }
        swaps |= kind == "swap";
        lines.push([device, target, kind, &format!("{options},{MARK}"), dump, pass].map(String::as_str).join("\t"));
    }
    if let Some((file, mebibytes)) = &mounts.swap {
        make_swap(file, *mebibytes, system)?;
        swaps = true;
        lines.push(format!("{file}\tnone\tswap\tsw,{MARK}\t0\t0"));
    }
    let after = lines.join("\n") + "\n";
    if after == fstab {
        return Ok(());
    }
    system.write("/etc/fstab", &after, 0o644)?;
    if !system.is_running() {
        return Ok(());
    }
    let mut activate = vec![vec!["mount", "-a"]];
    if swaps {
        activate.insert(0, vec!["swapon", "-a"]);
    }
    if system.has("systemctl") {
        activate.push(vec!["systemctl", "daemon-reload"]);
    }
    for words in activate {
        if let Err(error) = system.run(&Program::new(words)) {
            system.warn(format!("mounts: {error}"));
        }
    }
    Ok(())
}

fn make_swap(file: &str, mebibytes: u64, system: &System<'_>) -> Result<(), ApplyError> {
    let path = system.path(file);
    if path.exists() {
        return Ok(());
    }
    let shown = path.to_string_lossy().into_owned();
    let length = format!("{mebibytes}M");
    let made = system
        .run(&Program::new(["fallocate", "-l", &length, &shown]))
        .and_then(|()| {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))
                .map_err(|error| ApplyError::io(Path::new(file), &error))
        })
        .and_then(|()| system.run(&Program::new(["mkswap", &shown])));
    if made.is_err() {
        let _ = fs::remove_file(&path);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RealPrograms, yaml};

    fn mounts(text: &str) -> Result<Mounts, ConfigError> {
        read(&yaml::parse(text).unwrap(), &mut Vec::new())
    }

    #[test]
    fn lines_are_filled_and_taken_away() {
        let read = mounts("mounts: [[LABEL=a, /a], [tmpfs, /b, tmpfs, 'size=1m', 0, 0], [x, /x], [x, null]]").unwrap();
        assert_eq!(read.lines.len(), 2);
        assert_eq!(read.lines[0], ["LABEL=a", "/a", "auto", OPTIONS, "0", "2"].map(str::to_owned));
        assert_eq!(read.lines[1], ["tmpfs", "/b", "tmpfs", "size=1m", "0", "0"].map(str::to_owned));
        let read = mounts("{mounts: [[a, /a]], mount_default_fields: [null, null, ext4, ro, '1', '1']}").unwrap();
        assert_eq!(read.lines[0], ["a", "/a", "ext4", "ro", "1", "1"].map(str::to_owned));
        assert!(mounts("mounts: [a]").is_err());
        assert!(mounts("mounts: [[a, '/a b']]").is_err());
        assert_eq!(mounts("swap: {size: 512M}").unwrap().swap, Some(("/swap.img".into(), 512)));
        assert!(mounts("swap: {size: lots}").is_err());
    }

    #[test]
    fn fstab_keeps_what_is_there_and_replaces_what_was_ours() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        let fstab = root.path().join("etc/fstab");
        fs::write(&fstab, "UUID=1 / ext4 defaults 0 1\nold\t/old\tauto\tro,comment=cloudconfig\t0\t2\n").unwrap();
        let mut system = System::new(root.path(), &RealPrograms);
        let read = mounts("mounts: [[UUID=1, /again], [LABEL=d, /data], [vdz, /never]]").unwrap();
        for _ in 0..2 {
            apply(&read, &mut system).unwrap();
        }
        let expected =
            format!("UUID=1 / ext4 defaults 0 1\nLABEL=d\t/data\tauto\t{OPTIONS},comment=cloudconfig\t0\t2\n");
        assert_eq!(fs::read_to_string(&fstab).unwrap(), expected);
        assert!(root.path().join("data").is_dir());
        assert!(system.warnings.iter().all(|warning| warning.contains("/dev/vdz")), "{:?}", system.warnings);
    }
}
