//! Writing the files of a cloud-config.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;

use super::cloud_config::WriteFile;

/// Largest file after decompression, in bytes: bootstrap data is small, a bomb is not.
const MAX_CONTENT: u64 = 64 << 20;

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    /// Encoding, owner or permissions make no sense. Never holds content.
    #[error("{path}: {what}")]
    Bad {
        /// Which file.
        path: String,
        /// What.
        what: String,
    },
    /// The file system.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// The decoded content.
pub(super) fn decode(file: &WriteFile) -> Result<Vec<u8>, FileError> {
    let bad = |what: String| FileError::Bad { path: file.path.clone(), what };
    let encoding = file.encoding.as_deref().unwrap_or("text/plain").trim().to_ascii_lowercase();
    let (gzip, base64) = match encoding.as_str() {
        "text/plain" | "" => (false, false),
        "b64" | "base64" => (false, true),
        "gz" | "gzip" => (true, false),
        "gz+b64" | "gz+base64" | "gzip+b64" | "gzip+base64" => (true, true),
        other => return Err(bad(format!("encoding {other:?} is not known"))),
    };
    let mut bytes = file.content.clone().into_bytes();
    if base64 {
        bytes.retain(|byte| !byte.is_ascii_whitespace());
        bytes = STANDARD.decode(&bytes).map_err(|_| bad("content is no base64".to_owned()))?;
    }
    if gzip {
        let mut content = Vec::new();
        MultiGzDecoder::new(bytes.as_slice())
            .take(MAX_CONTENT + 1)
            .read_to_end(&mut content)
            .map_err(|_| bad("content is no gzip".to_owned()))?;
        if content.len() as u64 > MAX_CONTENT {
            return Err(bad(format!("content of more than {MAX_CONTENT} bytes")));
        }
        bytes = content;
    }
    Ok(bytes)
}

/// Writes `content` where `file` says, below `root` (`/` outside tests).
pub(super) fn write(root: &Path, file: &WriteFile, content: &[u8]) -> Result<(), FileError> {
    let bad = |what: String| FileError::Bad { path: file.path.clone(), what };
    let failed = |source: io::Error| FileError::Io { path: file.path.clone(), source };
    let Some(relative) = file.path.strip_prefix('/') else { return Err(bad("is no absolute path".to_owned())) };
    let path = root.join(relative);
    let digits = file.permissions.as_deref().unwrap_or("0644");
    let mode = u32::from_str_radix(digits, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777)
        .ok_or_else(|| bad(format!("permissions {digits:?} are no octal digits")))?;
    let owner = file.owner.as_deref().map(|owner| Owner::parse(root, owner).map_err(bad)).transpose()?;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    // Nobody else may read a secret before the permissions are right.
    let mut options = OpenOptions::new();
    options.create(true).mode(mode & 0o700).append(file.append);
    if !file.append {
        options.write(true).truncate(true);
    }
    let mut open = options.open(&path).map_err(failed)?;
    if let Some(Owner { user, group }) = owner {
        chown(&path, Some(user), group).map_err(failed)?;
    }
    open.set_permissions(fs::Permissions::from_mode(mode)).map_err(failed)?;
    open.write_all(content).map_err(failed)?;
    open.sync_all().map_err(failed)
}

struct Owner {
    user: u32,
    group: Option<u32>,
}

impl Owner {
    /// `user`, `user:group`, by name or number. The files are read directly: a static program has no name service.
    fn parse(root: &Path, owner: &str) -> Result<Self, String> {
        let (user, group) = owner.split_once(':').map_or((owner, None), |(user, group)| (user, Some(group)));
        let find = |file: &str, name: &str| {
            lookup(&root.join(file), name).ok_or_else(|| format!("{name:?} is not in /{file}"))
        };
        Ok(Self { user: find("etc/passwd", user)?, group: group.map(|group| find("etc/group", group)).transpose()? })
    }
}

fn lookup(table: &Path, name: &str) -> Option<u32> {
    if name == "root" {
        return Some(0);
    }
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let text = fs::read_to_string(table).ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str, encoding: &str) -> WriteFile {
        WriteFile {
            path: path.into(),
            content: content.into(),
            encoding: Some(encoding.into()),
            ..WriteFile::default()
        }
    }

    #[test]
    fn every_encoding_of_cloud_init_is_decoded() {
        let gzip = {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(b"hello").unwrap();
            encoder.finish().unwrap()
        };
        let both = STANDARD.encode(gzip);
        for (content, encoding) in [
            ("hello", ""),
            ("hello", "text/plain"),
            ("aGVs\nbG8=", "b64"),
            ("aGVsbG8=", "base64"),
            (&both, "gz+b64"),
            (&both, "gzip+base64"),
        ] {
            assert_eq!(decode(&file("/x", content, encoding)).unwrap(), b"hello", "{encoding}");
        }
        for (content, encoding) in [("s3cr3t!", "b64"), ("s3cr3t", "gz"), ("s3cr3t", "rot13")] {
            let error = decode(&file("/x", content, encoding)).unwrap_err().to_string();
            assert!(error.starts_with("/x: ") && !error.contains("s3cr3t"), "{error}");
        }
    }

    #[test]
    fn files_get_their_place_and_permissions() {
        let root = tempfile::tempdir().unwrap();
        let mut wanted = WriteFile { permissions: Some("0600".into()), ..file("/etc/kubernetes/pki/ca.key", "", "") };
        write(root.path(), &wanted, b"one").unwrap();
        let path = root.path().join("etc/kubernetes/pki/ca.key");
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        wanted.append = true;
        wanted.permissions = Some("640".into());
        write(root.path(), &wanted, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"onetwo");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
        wanted.append = false;
        write(root.path(), &wanted, b"3").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"3");
    }

    #[test]
    fn nonsense_is_named() {
        let root = tempfile::tempdir().unwrap();
        let table = [
            (WriteFile { permissions: Some("rw".into()), ..file("/x", "", "") }, "no octal digits"),
            (WriteFile { owner: Some("nobody-here".into()), ..file("/x", "", "") }, "is not in /etc/passwd"),
            (file("relative", "", ""), "no absolute path"),
        ];
        for (wanted, expected) in table {
            let error = write(root.path(), &wanted, b"").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn owners_are_looked_up_without_a_name_service() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/passwd"), "root:x:0:0::/root:/bin/sh\netcd:x:998:997::/:/bin/false\n").unwrap();
        fs::write(root.path().join("etc/group"), "etcd:x:997:\n").unwrap();
        let owner = Owner::parse(root.path(), "etcd:etcd").unwrap();
        assert_eq!((owner.user, owner.group), (998, Some(997)));
        let owner = Owner::parse(root.path(), "12:root").unwrap();
        assert_eq!((owner.user, owner.group), (12, Some(0)));
    }
}
