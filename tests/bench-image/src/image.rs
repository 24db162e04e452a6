//! An image with the mix of an installed system: a third empty, a third that compresses like programs and text, a third that does not.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::run::must;

/// Bytes of the same kind that lie together.
const STRETCH: usize = 1 << 20;

/// Forms of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Raw,
    Zstd,
    Gzip,
    Xz,
    Qcow2,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] = [Self::Raw, Self::Zstd, Self::Gzip, Self::Xz, Self::Qcow2];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Qcow2 => "qcow2",
        }
    }

    /// Its file in the folder.
    pub(crate) fn file(self) -> String {
        format!("image.{}", self.name())
    }

    /// The program that decodes it to its output.
    pub(crate) fn decoder(self) -> Option<&'static str> {
        match self {
            Self::Zstd => Some("zstd -dc -q --long=27"),
            Self::Gzip => Some("gzip -dc"),
            Self::Xz => Some("xz -dc -T1"),
            Self::Raw | Self::Qcow2 => None,
        }
    }
}

/// Makes the image in all its forms.
pub(crate) fn make(folder: &Path, mib: u64) -> Result<()> {
    let raw = folder.join(Kind::Raw.file());
    let mut file = BufWriter::new(File::create(&raw).with_context(|| format!("cannot create {}", raw.display()))?);
    let mut state = 1u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let words: Vec<Vec<u8>> =
        (0..4096).map(|_| next().to_le_bytes().iter().take(3 + (next() % 6) as usize).copied().collect()).collect();
    for stretch in 0..mib {
        let mut bytes = Vec::with_capacity(STRETCH + 16);
        match stretch % 3 {
            0 => bytes.resize(STRETCH, 0),
            1 => {
                while bytes.len() < STRETCH {
                    // Squared, so that some words are frequent.
                    let pick = (next() % 4096) * (next() % 4096) / 4096;
                    bytes.extend(words.get(pick as usize).into_iter().flatten());
                }
            }
            _ => {
                while bytes.len() < STRETCH {
                    bytes.extend(next().to_le_bytes());
                }
            }
        }
        file.write_all(bytes.get(..STRETCH).unwrap_or_default())?;
    }
    file.flush()?;
    for command in [
        "zstd -q -f -3 -T0 image.raw -o image.zstd",
        "gzip -6 -c image.raw > image.gzip",
        "xz -1 -T0 -c image.raw > image.xz",
        "qemu-img convert -c -f raw -O qcow2 image.raw image.qcow2",
    ] {
        must(folder, command)?;
    }
    Ok(())
}
