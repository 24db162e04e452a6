//! Keys that may log in: of single users, and those at the top of the cloud-config and in the meta data, which are the default user's and, with a
//! note that sends people there, root's.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use serde_json::{Map, Value};

use super::{ConfigError, sections};
use crate::yaml::Node;
use crate::{ApplyError, System};

pub(super) const KEYS: [&str; 6] = [
    "ssh_authorized_keys",
    "disable_root",
    "disable_root_opts",
    "allow_public_ssh_keys",
    // cloud-init makes new host keys in place of the image's; here the image's own service makes those that are not there
    "ssh_deletekeys",
    "ssh_genkeytypes",
];

/// What root's keys are bound to, cloud-init's words: whoever logs in is told whom to log in as.
const SENT_AWAY: &str = "no-port-forwarding,no-agent-forwarding,no-X11-forwarding,command=\"echo 'Please login as the user \\\"$USER\\\" rather than the user \\\"$DISABLE_USER\\\".';echo;sleep 10;exit 142\"";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RootKeys {
    keys: Vec<String>,
    root_options: Option<String>,
}

impl RootKeys {
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// A list, one text, or a mapping of names to keys.
pub(super) fn key_list(item: &Node, place: &str, key: &str) -> Result<Vec<String>, ConfigError> {
    let keys = match item.get(key) {
        Some(node @ Node::Map(_)) => node.entries().filter_map(|(_, value)| value.text().map(str::to_owned)).collect(),
        _ => sections::words(item, place, key)?,
    };
    let keys: Vec<String> = keys.iter().map(|key| key.trim_end_matches(['\r', '\n']).to_owned()).collect();
    keys.iter().try_for_each(|line| sections::one_line(line, format!("{place}.{key}")))?;
    Ok(keys)
}

pub(super) fn read(
    config: &Node,
    meta_data: &Map<String, Value>,
    warnings: &mut Vec<String>,
) -> Result<RootKeys, ConfigError> {
    let place = "ssh_authorized_keys";
    let mut keys = key_list(config, place, place)?;
    if sections::flag(config, "", "allow_public_ssh_keys", true)? {
        let public = meta_data.get("public_keys").or_else(|| meta_data.get("public-keys"));
        match public {
            Some(Value::Object(named)) => {
                keys.extend(named.values().filter_map(Value::as_str).flat_map(str::lines).map(str::to_owned))
            }
            Some(Value::Array(list)) => keys.extend(list.iter().filter_map(Value::as_str).map(str::to_owned)),
            Some(Value::String(text)) => keys.extend(text.lines().map(str::to_owned)),
            _ => {}
        }
    }
    keys.retain(|key| !key.trim().is_empty());
    let sent_away = sections::flag(config, "", "disable_root", true)?;
    let options = sections::text(config, "", "disable_root_opts")?.unwrap_or_else(|| SENT_AWAY.to_owned());
    sections::one_line(&options, "disable_root_opts")?;
    if config.get("ssh_genkeytypes").is_some() {
        warnings.push("cloud-config key \"ssh_genkeytypes\": host keys are left to the image's own service".to_owned());
    }
    Ok(RootKeys { keys, root_options: sent_away.then_some(options) })
}

pub(super) fn apply(keys: &RootKeys, default_user: Option<&str>, system: &mut System<'_>) -> Result<(), ApplyError> {
    if let Some(user) = default_user {
        authorize(user, &keys.keys, "", system)?;
    }
    let options = keys
        .root_options
        .as_ref()
        .map(|options| options.replace("$USER", default_user.unwrap_or("NONE")).replace("$DISABLE_USER", "root"));
    authorize("root", &keys.keys, options.as_deref().unwrap_or_default(), system)
}

/// Adds `keys` to those of `user`. A key that is there already gets its new line.
pub(super) fn authorize(user: &str, keys: &[String], options: &str, system: &System<'_>) -> Result<(), ApplyError> {
    let table = system.read("/etc/passwd");
    let entry =
        table.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields.first() == Some(&user));
    let known = entry.and_then(|fields| {
        Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?, (*fields.get(5)?).to_owned()))
    });
    let (uid, gid, home): (u32, u32, String) =
        known.ok_or_else(|| ApplyError(format!("ssh keys: user {user} is not in /etc/passwd")))?;
    let (folder, file) = (format!("{home}/.ssh"), format!("{home}/.ssh/authorized_keys"));
    let failed = |path: &str| {
        let path = path.to_owned();
        move |error: std::io::Error| ApplyError::io(Path::new(&path), &error)
    };
    // a link would let its owner choose a file of root's
    for path in [&folder, &file] {
        if fs::symlink_metadata(system.path(path)).is_ok_and(|there| there.file_type().is_symlink()) {
            return Err(ApplyError(format!("{path}: is a link, keys are not written through it")));
        }
    }
    let at = system.path(&folder);
    if !at.is_dir() {
        fs::create_dir_all(&at).map_err(failed(&folder))?;
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700)).map_err(failed(&folder))?;
        chown(&at, Some(uid), Some(gid)).map_err(failed(&folder))?;
    }
    let there = system.path(&file).is_file();
    let mut lines: Vec<String> = system.read(&file).lines().map(str::to_owned).collect();
    for key in keys {
        let Some((digits, line)) = line_of(key, options) else { continue };
        match lines.iter_mut().find(|known| line_of(known, "").is_some_and(|(other, _)| other == digits)) {
            Some(known) => *known = line,
            None => lines.push(line),
        }
    }
    if there {
        return fs::write(system.path(&file), lines.join("\n") + "\n").map_err(failed(&file));
    }
    system.write(&file, &(lines.join("\n") + "\n"), 0o600)?;
    chown(system.path(&file), Some(uid), Some(gid)).map_err(failed(&file))
}

/// The digits of the key, which tell it from others, and its line with `options` in place of its own if there are any.
fn line_of(key: &str, options: &str) -> Option<(String, String)> {
    let key = key.trim();
    let is_kind = |word: &str| ["ssh-", "ecdsa-", "sk-", "rsa-sha2-"].iter().any(|start| word.starts_with(start));
    let (own, rest) = if key.split_whitespace().next().is_some_and(is_kind) { ("", key) } else { split_options(key) };
    let mut words = rest.split_whitespace();
    words.next().filter(|kind| is_kind(kind))?;
    let digits = words.next()?.to_owned();
    let options = if options.is_empty() { own } else { options };
    let line = if options.is_empty() { rest.to_owned() } else { format!("{options} {rest}") };
    Some((digits, line))
}

/// Options end at the first blank outside double quotes.
fn split_options(key: &str) -> (&str, &str) {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in key.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                let (options, rest) = key.split_at(at);
                return (options, rest.trim_start());
            }
            _ => {}
        }
    }
    (key, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RealPrograms;

    #[test]
    fn keys_are_added_once_and_options_replaced() {
        let root = tempfile::tempdir().unwrap();
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        fs::create_dir_all(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/passwd"), format!("root:x:{uid}:{gid}::/root:/bin/sh\n")).unwrap();
        let system = System::new(root.path(), &RealPrograms);
        let keys =
            ["ssh-ed25519 AAAA one".to_owned(), "from=\"1.2.3.4 x\" ssh-rsa BBBB".to_owned(), "# words".to_owned()];
        for _ in 0..2 {
            authorize("root", &keys, "", &system).unwrap();
        }
        let file = root.path().join("root/.ssh/authorized_keys");
        assert_eq!(fs::read_to_string(&file).unwrap(), "ssh-ed25519 AAAA one\nfrom=\"1.2.3.4 x\" ssh-rsa BBBB\n");
        authorize("root", &keys[..1], "no-pty", &system).unwrap();
        assert!(fs::read_to_string(&file).unwrap().starts_with("no-pty ssh-ed25519 AAAA one\n"));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(authorize("nobody-here", &keys, "", &system).is_err());
        fs::remove_dir_all(root.path().join("root/.ssh")).unwrap();
        std::os::unix::fs::symlink("/etc", root.path().join("root/.ssh")).unwrap();
        assert!(authorize("root", &keys, "", &system).unwrap_err().to_string().contains("is a link"));
    }
}
