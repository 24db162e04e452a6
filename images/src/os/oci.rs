//! Writes container images as one archive in the OCI image layout, which containerd imports. Each
//! image is one uncompressed layer of files from this machine; owners, times and order are fixed,
//! so the same files give the same digests.
//!
//! Source: OCI image-spec v1.1, image-layout.md, manifest.md and config.md.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

use crate::cache::hex;
use crate::file::FileError;

/// One file or link in an image.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    path: String,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    File(PathBuf),
    Link(String),
}

impl Entry {
    /// The program or library `source` at `path` of the image.
    pub(super) fn file(path: &str, source: &Path) -> Self {
        Self { path: path.to_owned(), content: Content::File(source.to_owned()) }
    }

    /// A symbolic link at `path` of the image.
    pub(super) fn link(path: &str, target: &str) -> Self {
        Self { path: path.to_owned(), content: Content::Link(target.to_owned()) }
    }
}

/// One image.
#[derive(Debug, Clone)]
pub(super) struct Image {
    /// Full name with tag, by which pods ask for it.
    pub(super) name: String,
    /// What it holds; folders are made as needed.
    pub(super) entries: Vec<Entry>,
    /// The program that runs when a pod names none.
    pub(super) entrypoint: String,
}

const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// Writes `images` as an OCI layout archive to `archive`, with temporary files beside it.
pub(super) fn write(archive: &Path, images: &[Image]) -> Result<(), FileError> {
    let failed = || FileError::io("write", archive);
    let file = File::create(archive).map_err(failed())?;
    let mut layout = Layout { tar: tar::Builder::new(io::BufWriter::new(file)), written: BTreeSet::new() };
    let mut manifests = Vec::new();
    for image in images {
        manifests.push(layout.image(image, archive).map_err(failed())?);
    }
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
    layout.file("index.json", index.to_string().as_bytes()).map_err(failed())?;
    layout.file("oci-layout", json!({ "imageLayoutVersion": "1.0.0" }).to_string().as_bytes()).map_err(failed())?;
    layout.tar.into_inner().and_then(|mut buffer| buffer.flush()).map_err(failed())
}

struct Layout<W: Write> {
    tar: tar::Builder<W>,
    written: BTreeSet<String>,
}

impl<W: Write> Layout<W> {
    /// Adds the image's three blobs; returns its descriptor for the index.
    fn image(&mut self, image: &Image, archive: &Path) -> io::Result<Value> {
        let folder = archive.parent().unwrap_or(Path::new("."));
        let mut layer = Hashing { inner: tempfile::tempfile_in(folder)?, hash: Sha256::new(), size: 0 };
        write_layer(&mut layer, &image.entries)?;
        let Hashing { inner: mut file, hash, size } = layer;
        let digest = hex(&hash.finalize());
        file.rewind()?;
        self.blob(&digest, size, file)?;
        let diff_id = format!("sha256:{digest}");
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": { "Env": [PATH], "Entrypoint": [image.entrypoint] },
            "rootfs": { "type": "layers", "diff_ids": [diff_id] },
        });
        let config = self.json(&config, CONFIG)?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config,
            "layers": [{ "mediaType": LAYER, "digest": diff_id, "size": size }],
        });
        let mut descriptor = self.json(&manifest, MANIFEST)?;
        if let Some(fields) = descriptor.as_object_mut() {
            fields.insert("annotations".into(), json!({ "io.containerd.image.name": image.name }));
            fields.insert("platform".into(), json!({ "architecture": "amd64", "os": "linux" }));
        }
        Ok(descriptor)
    }

    fn json(&mut self, value: &Value, media_type: &str) -> io::Result<Value> {
        let text = value.to_string();
        let digest = hex(&Sha256::digest(text.as_bytes()));
        self.blob(&digest, text.len() as u64, text.as_bytes())?;
        Ok(json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": text.len() }))
    }

    fn blob(&mut self, digest: &str, size: u64, content: impl Read) -> io::Result<()> {
        if !self.written.insert(digest.to_owned()) {
            return Ok(());
        }
        append(&mut self.tar, &format!("blobs/sha256/{digest}"), 0o644, size, content)
    }

    fn file(&mut self, path: &str, content: &[u8]) -> io::Result<()> {
        append(&mut self.tar, path, 0o644, content.len() as u64, content)
    }
}

fn write_layer(out: &mut impl Write, entries: &[Entry]) -> io::Result<()> {
    let mut tar = tar::Builder::new(out);
    let mut folders = BTreeSet::new();
    for entry in entries {
        let path = entry.path.trim_start_matches('/');
        for (end, _) in path.match_indices('/') {
            let folder = path.get(..end).unwrap_or_default();
            if folders.insert(folder.to_owned()) {
                let mut header = header(EntryType::Directory, 0o755, 0);
                tar.append_data(&mut header, format!("{folder}/"), io::empty())?;
            }
        }
        match &entry.content {
            Content::Link(target) => tar.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, target)?,
            Content::File(source) => {
                let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", source.display()));
                let file = File::open(source).map_err(named)?;
                let size = file.metadata().map_err(named)?.len();
                append(&mut tar, path, 0o755, size, file)?;
            }
        }
    }
    tar.finish()
}

fn append(tar: &mut tar::Builder<impl Write>, path: &str, mode: u32, size: u64, content: impl Read) -> io::Result<()> {
    tar.append_data(&mut header(EntryType::Regular, mode, size), path, content)
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

/// Counts and hashes what is written through it.
struct Hashing<W> {
    inner: W,
    hash: Sha256,
    size: u64,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hash.update(bytes.get(..count).unwrap_or_default());
        self.size += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    fn read_tar(content: &[u8]) -> BTreeMap<String, (EntryType, Vec<u8>)> {
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(content).entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().to_string_lossy().into_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            if let Some(target) = entry.link_name().unwrap() {
                bytes = target.to_string_lossy().as_bytes().to_vec();
            }
            files.insert(name, (entry.header().entry_type(), bytes));
        }
        files
    }

    #[test]
    fn every_digest_leads_to_a_blob_and_the_layer_holds_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, b"#!content").unwrap();
        let image = |name: &str| Image {
            name: name.into(),
            entries: vec![Entry::link("/bin", "usr/bin"), Entry::file("/usr/bin/program", &program)],
            entrypoint: "/usr/bin/program".into(),
        };
        let archive = folder.path().join("images.tar");
        write(&archive, &[image("registry.example/a:v1"), image("registry.example/b:v1")]).unwrap();

        let files = read_tar(&fs::read(&archive).unwrap());
        let blob = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap().to_owned();
            let bytes = files[&format!("blobs/sha256/{digest}")].1.clone();
            assert_eq!(hex(&Sha256::digest(&bytes)), digest);
            assert_eq!(descriptor["size"], bytes.len());
            bytes
        };
        let index: Value = serde_json::from_slice(&files["index.json"].1).unwrap();
        assert_eq!(index["manifests"].as_array().unwrap().len(), 2);
        assert_eq!(index["manifests"][1]["annotations"]["io.containerd.image.name"], "registry.example/b:v1");
        let manifest: Value = serde_json::from_slice(&blob(&index["manifests"][0])).unwrap();
        let config: Value = serde_json::from_slice(&blob(&manifest["config"])).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"]);
        assert_eq!(config["config"]["Entrypoint"][0], "/usr/bin/program");
        let layer = read_tar(&blob(&manifest["layers"][0]));
        assert_eq!(layer["bin"], (EntryType::Symlink, b"usr/bin".to_vec()));
        assert_eq!(layer["usr/bin/"].0, EntryType::Directory);
        assert_eq!(layer["usr/bin/program"], (EntryType::Regular, b"#!content".to_vec()));
    }
}
