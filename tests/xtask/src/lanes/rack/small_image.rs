//! A disk image that is quick to make and slow enough to be interrupted: a partition table and a partition of noise.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

/// An emulated host writes this in ten to twenty seconds.
const MIB: u64 = 192;

/// Where the partition begins.
const START_MIB: u64 = 1;

/// GPT's copy at the end.
const END_MIB: u64 = 1;

/// Makes it at `path` and gives its SHA-256 in hexadecimal.
pub(super) fn make(path: &Path) -> Result<String> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    file.set_len(MIB << 20)?;
    let mut writer = BufWriter::with_capacity(1 << 20, &file);
    writer.seek(SeekFrom::Start(START_MIB << 20))?;
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    for _ in 0..(MIB - START_MIB - END_MIB) << 17 {
        writer.write_all(&noise.next().to_le_bytes())?;
    }
    writer.flush()?;
    drop(writer);
    partition(path)?;
    let mut hash = Sha256::new();
    std::io::copy(&mut File::open(path)?, &mut HashWriter(&mut hash))?;
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn partition(path: &Path) -> Result<()> {
    let mut sfdisk = Command::new("sfdisk")
        .arg("--quiet")
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot run sfdisk: install fdisk")?;
    let size = MIB - START_MIB - END_MIB;
    if let Some(mut stdin) = sfdisk.stdin.take() {
        write!(stdin, "label: gpt\nstart={START_MIB}MiB, size={size}MiB, type=L, name=root\n")?;
    }
    ensure!(sfdisk.wait()?.success(), "sfdisk failed on {}", path.display());
    Ok(())
}

struct HashWriter<'hash>(&'hash mut Sha256);

impl Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Marsaglia's xorshift: noise that is the same each time and does not compress.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
