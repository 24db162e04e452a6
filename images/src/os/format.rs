//! Last stage: the disk in the form in which it is served, and its digests.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256, Sha512};

use super::OsImage;
use super::error::OsImageError;
use super::layout::Sector;
use crate::cache::hex;
use crate::file::FileError;
use crate::tool::Tool;

const FACTS: &str = "image.json";
const LIMIT: Duration = Duration::from_secs(900);

/// Forms of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The disk as it is, with holes.
    Raw,
    /// QEMU's, its clusters compressed.
    Qcow2,
    /// The disk compressed with zstd: the quickest to write.
    Zst,
    /// The disk compressed with xz: the smallest, and slow to unpack.
    Xz,
}

impl Format {
    /// Name of the file after `NAME.`.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Qcow2 => "qcow2",
            Self::Zst => "raw.zst",
            Self::Xz => "raw.xz",
        }
    }

    /// The program that makes it, with its package.
    pub(super) fn tools(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Raw => &[],
            Self::Qcow2 => &[("qemu-img", "qemu-utils")],
            Self::Zst => &[("zstd", "zstd")],
            Self::Xz => &[("xz", "xz-utils")],
        }
    }
}

/// Turns `raw`, which is used up, into `format` in the folder `partial`.
pub(super) fn build(raw: &Path, format: Format, partial: &Path) -> Result<(), OsImageError> {
    let image = partial.join(format!("image.{}", format.extension()));
    let raw_size = fs::metadata(raw).map_err(FileError::io("measure", raw))?.len();
    match format {
        Format::Raw => {}
        Format::Qcow2 => {
            Tool::new("qemu-img", LIMIT)
                .args(["convert", "-f", "raw", "-O", "qcow2", "-c"])
                .arg(raw)
                .arg(&image)
                .run()?;
        }
        Format::Zst => {
            Tool::new("zstd", LIMIT).args(["-q", "-3", "-T0", "--no-sparse"]).arg(raw).arg("-o").arg(&image).run()?;
        }
        Format::Xz => {
            // It puts its output beside its input.
            Tool::new("xz", LIMIT).args(["-3", "-T0", "--keep"]).arg(raw).run()?;
            let made = raw.with_extension("raw.xz");
            fs::rename(&made, &image).map_err(FileError::io("move", &made))?;
        }
    }
    if format == Format::Raw {
        fs::rename(raw, &image).map_err(FileError::io("move", raw))?;
    } else {
        fs::remove_file(raw).map_err(FileError::io("remove", raw))?;
    }
    let (sha256, sha512, size) = digests(&image).map_err(FileError::io("read", &image))?;
    let facts = partial.join(FACTS);
    let content = serde_json::to_vec(&Facts { sha256, sha512, size, raw_size }).unwrap_or_default();
    fs::write(&facts, content).map_err(FileError::io("write", &facts))?;
    Ok(())
}

/// What a cache entry knows of its image.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    sha256: String,
    sha512: String,
    size: u64,
    raw_size: u64,
}

fn digests(path: &Path) -> io::Result<(String, String, u64)> {
    let mut file = File::open(path)?;
    let (mut sha256, mut sha512) = (Sha256::new(), Sha512::new());
    let mut size = 0;
    let mut block = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut block)?;
        if count == 0 {
            return Ok((hex(&sha256.finalize()), hex(&sha512.finalize()), size));
        }
        let bytes = block.get(..count).unwrap_or_default();
        sha256.update(bytes);
        sha512.update(bytes);
        size += count as u64;
    }
}

/// The image in the finished cache entry `entry`.
pub(super) fn read(entry: &Path, format: Format, sector: Sector) -> Result<OsImage, OsImageError> {
    let facts = entry.join(FACTS);
    let content = fs::read(&facts).map_err(FileError::io("read", &facts))?;
    let facts: Facts = serde_json::from_slice(&content).map_err(|error| FileError::io("read", &facts)(error.into()))?;
    Ok(OsImage {
        path: entry.join(format!("image.{}", format.extension())),
        format,
        sector,
        sha256: facts.sha256,
        sha512: facts.sha512,
        size: facts.size,
        raw_size: facts.raw_size,
    })
}
