//! `write_files`.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::{Component, Path};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;

use super::{Change, ConfigError, sections, warn_unknown};
use crate::yaml::Node;
use crate::{ApplyError, System};

/// Largest file after decompression, in bytes: bootstrap data is small, a bomb is not.
const MAX_CONTENT: u64 = 64 << 20;

/// One file.
#[derive(Clone, PartialEq, Eq)]
pub struct WriteFile {
    /// Absolute, without `..`.
    pub path: String,
    /// Decoded.
    pub content: Vec<u8>,
    /// `user:group`; root's when not given.
    pub owner: Option<String>,
    /// Permissions.
    pub mode: u32,
    /// To the end of what is there.
    pub append: bool,
    /// After users were made.
    pub defer: bool,
}

impl std::fmt::Debug for WriteFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteFile")
            .field("path", &self.path)
            .field("bytes", &self.content.len())
            .finish_non_exhaustive()
    }
}

pub(super) fn read(config: &Node, warnings: &mut Vec<String>) -> Result<Vec<WriteFile>, ConfigError> {
    const KEYS: [&str; 7] = ["path", "content", "encoding", "owner", "permissions", "append", "defer"];
    let Some(list) = config.get("write_files") else { return Ok(Vec::new()) };
    let Node::List(items) = list else { return Err(ConfigError::new("write_files", "is no list")) };
    let mut files = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let place = format!("write_files[{index}]");
        if !matches!(item, Node::Map(_)) {
            return Err(ConfigError::new(place, "is no mapping"));
        }
        warn_unknown(item, &place, &KEYS, warnings);
        let path = sections::text(item, &place, "path")?.ok_or_else(|| ConfigError::new(&place, "has no path"))?;
        let path = normal(&path).ok_or_else(|| ConfigError::new(format!("{place}.path"), "is no absolute path"))?;
        files.push(WriteFile {
            content: content(item, &place)?,
            owner: sections::text(item, &place, "owner")?,
            mode: mode(item, &place)?,
            append: sections::flag(item, &place, "append", false)?,
            defer: sections::flag(item, &place, "defer", false)?,
            path,
        });
    }
    Ok(files)
}

/// The path without `.` and `..`, as cloud-init writes to it.
fn normal(path: &str) -> Option<String> {
    if !path.starts_with('/') || path.contains('\0') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part.to_str()?),
            _ => {}
        }
    }
    (!parts.is_empty()).then(|| format!("/{}", parts.join("/")))
}

/// Digits are octal whether or not they are quoted: whoever writes `644` means what `chmod` takes, not a number of YAML.
fn mode(item: &Node, place: &str) -> Result<u32, ConfigError> {
    let Some(text) = sections::text(item, place, "permissions")? else { return Ok(0o644) };
    let digits = text.strip_prefix("0o").unwrap_or(&text);
    u32::from_str_radix(digits, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777)
        .ok_or_else(|| ConfigError::new(format!("{place}.permissions"), "are no octal digits"))
}

fn content(item: &Node, place: &str) -> Result<Vec<u8>, ConfigError> {
    let bad = |what: String| ConfigError::new(place, what);
    let mut bytes = match item.get("content") {
        None => Vec::new(),
        Some(Node::Binary(bytes)) => bytes.clone(),
        Some(value) => value.text().ok_or_else(|| bad("content is no text".to_owned()))?.as_bytes().to_vec(),
    };
    let encoding = sections::text(item, place, "encoding")?.unwrap_or_default().trim().to_ascii_lowercase();
    let (gzip, base64) = match encoding.as_str() {
        "" | "text/plain" => (false, false),
        "b64" | "base64" => (false, true),
        "gz" | "gzip" => (true, false),
        "gz+b64" | "gz+base64" | "gzip+b64" | "gzip+base64" => (true, true),
        _ => return Err(bad(format!("encoding {} is not known", sections::shown(&encoding)))),
    };
    if base64 {
        bytes.retain(|byte| !byte.is_ascii_whitespace());
        bytes = STANDARD.decode(&bytes).map_err(|_| bad("content is no base64".to_owned()))?;
    }
    if gzip {
        let mut plain = Vec::new();
        MultiGzDecoder::new(bytes.as_slice())
            .take(MAX_CONTENT + 1)
            .read_to_end(&mut plain)
            .map_err(|_| bad("content is no gzip".to_owned()))?;
        bytes = plain;
    }
    if bytes.len() as u64 > MAX_CONTENT {
        return Err(bad(format!("content of more than {MAX_CONTENT} bytes")));
    }
    Ok(bytes)
}

pub(super) fn write(file: &WriteFile, system: &System<'_>, change: &Change<'_>) -> Result<(), ApplyError> {
    let bad = |what: String| ApplyError(format!("{}: {what}", file.path));
    let failed = |error: std::io::Error| ApplyError::io(Path::new(&file.path), &error);
    let content = change(&file.path, file.content.clone()).map_err(bad)?;
    let owner = file.owner.as_deref().map(|owner| Owner::parse(system, owner).map_err(bad)).transpose()?;
    let path = system.path(&file.path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    // Nobody else may read a secret before the permissions are right.
    let mut options = OpenOptions::new();
    options.create(true).mode(file.mode & 0o700).append(file.append);
    if !file.append {
        options.write(true).truncate(true);
    }
    let mut open = options.open(&path).map_err(failed)?;
    if let Some(Owner { user, group }) = owner {
        chown(&path, user, group).map_err(failed)?;
    }
    open.set_permissions(fs::Permissions::from_mode(file.mode)).map_err(failed)?;
    open.write_all(&content).map_err(failed)?;
    open.sync_all().map_err(failed)
}

#[derive(Debug, PartialEq, Eq)]
struct Owner {
    user: Option<u32>,
    group: Option<u32>,
}

impl Owner {
    /// `user`, `user:group`, by name or number. The files are read directly: a static program has no name service.
    fn parse(system: &System<'_>, owner: &str) -> Result<Self, String> {
        let (user, group) = owner.split_once(':').unwrap_or((owner, ""));
        let find = |file: &str, name: &str| {
            let name = name.trim();
            if name.is_empty() || name == "-1" || name.eq_ignore_ascii_case("none") {
                return Ok(None);
            }
            let found = lookup(&system.read(file), name);
            found.map(Some).ok_or_else(|| format!("owner {} is not in {file}", sections::shown(name)))
        };
        Ok(Self { user: find("/etc/passwd", user)?, group: find("/etc/group", group)? })
    }
}

fn lookup(table: &str, name: &str) -> Option<u32> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let number = table.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
    });
    number.or((name == "root").then_some(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RealPrograms, yaml};

    fn files(text: &str) -> Result<Vec<WriteFile>, ConfigError> {
        read(&yaml::parse(text).unwrap(), &mut Vec::new())
    }

    #[test]
    fn every_encoding_of_cloud_init_is_decoded() {
        let gzip = {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(b"hello").unwrap();
            STANDARD.encode(encoder.finish().unwrap())
        };
        for (content, encoding) in [
            ("hello", "''"),
            ("hello", "text/plain"),
            ("\"aGVs\\nbG8=\"", "b64"),
            ("aGVsbG8=", "base64"),
            (&format!("!!binary {gzip}"), "gz"),
            (&gzip, "gz+b64"),
            (&gzip, "' GZIP+Base64 '"),
            ("!!binary aGVsbG8=", "''"),
        ] {
            let text = format!("write_files: [{{path: /x, encoding: {encoding}, content: {content}}}]");
            assert_eq!(files(&text).unwrap()[0].content, b"hello", "{encoding}");
        }
        for (content, encoding) in [("s3cr3t!", "b64"), ("s3cr3t", "gz"), ("s3cr3t", "rot13"), ("[s3cr3t]", "b64")] {
            let text = format!("write_files: [{{path: /x, encoding: {encoding}, content: {content}}}]");
            let error = files(&text).unwrap_err();
            assert!(error.key.starts_with("write_files[0]") && !error.to_string().contains("s3cr3t"), "{error}");
        }
    }

    #[test]
    fn permissions_are_octal_with_and_without_quotes() {
        let mode =
            |text: &str| files(&format!("write_files: [{{path: /x, permissions: {text}}}]")).map(|files| files[0].mode);
        for (text, expected) in
            [("0640", 0o640), ("'0640'", 0o640), ("644", 0o644), ("0o600", 0o600), ("'1777'", 0o1777), ("~", 0o644)]
        {
            assert_eq!(mode(text).unwrap(), expected, "{text}");
        }
        for text in ["rw", "'0999'", "'77777'", "'-1'"] {
            assert!(mode(text).is_err(), "{text}");
        }
    }

    #[test]
    fn paths_stay_below_the_root() {
        let path = |text: &str| files(&format!("write_files: [{{path: '{text}'}}]")).map(|files| files[0].path.clone());
        assert_eq!(path("/a/../../../b/./c").unwrap(), "/b/c");
        for text in ["", "relative", "/", "/..", "~/x"] {
            assert!(path(text).is_err(), "{text}");
        }
    }

    #[test]
    fn files_get_their_place_owner_and_permissions() {
        let root = tempfile::tempdir().unwrap();
        let system = System::new(root.path(), &RealPrograms);
        let same = |_: &str, content: Vec<u8>| Ok(content);
        let text = "write_files:\n- {path: /etc/k/ca.key, permissions: '0600', content: one}\n- {path: /etc/k/ca.key, permissions: 640, content: two, append: true}\n- {path: /y, owner: nobody-here}\n";
        let files = files(text).unwrap();
        write(&files[0], &system, &same).unwrap();
        let path = root.path().join("etc/k/ca.key");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        write(&files[1], &system, &same).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"onetwo");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
        assert!(write(&files[2], &system, &same).unwrap_err().to_string().contains("is not in /etc/passwd"));
        assert!(!root.path().join("y").exists());
        fs::write(root.path().join("etc/passwd"), "etcd:x:998:997::/:/bin/false\n").unwrap();
        fs::write(root.path().join("etc/group"), "etcd:x:997:\n").unwrap();
        assert_eq!(Owner::parse(&system, "etcd:etcd").unwrap(), Owner { user: Some(998), group: Some(997) });
        assert_eq!(Owner::parse(&system, "12: root").unwrap(), Owner { user: Some(12), group: Some(0) });
    }
}
