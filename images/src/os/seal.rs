//! Last stage: puts the agent on a copy of the disk and compresses it. The agent is what changes
//! from build to build, so this is what a developer waits for.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::error::OsImageError;
use super::{OsImage, disk, text};
use crate::cache::hex;
use crate::tool::Tool;

/// Changes when this code makes another image from the same disk and agent.
pub(super) const RECIPE: &str = "1";

const IMAGE: &str = "image.raw.zst";
const FACTS: &str = "image.json";
const AGENT: &str = "/usr/local/bin/bessemer-agent";
const LIMIT: Duration = Duration::from_secs(300);

/// Makes the image in `partial` from the stage `disk_entry` and the program `agent`.
pub(super) fn build(disk_entry: &Path, agent: &Path, partial: &Path) -> Result<(), OsImageError> {
    let offset = disk_entry.join(disk::ROOT_OFFSET);
    let offset = fs::read_to_string(&offset).map_err(OsImageError::io("read", &offset))?;
    let raw = partial.join("disk.raw");
    Tool::new("cp", LIMIT)
        .args(["--sparse=always", "--reflink=auto"])
        .arg(disk_entry.join(disk::DISK))
        .arg(&raw)
        .run()?;
    install(agent, &raw, &offset, partial)?;
    let image = partial.join(IMAGE);
    Tool::new("zstd", LIMIT).args(["-q", "-3", "-T0", "--no-sparse"]).arg(&raw).arg("-o").arg(&image).run()?;
    let raw_size = fs::metadata(&raw).map_err(OsImageError::io("measure", &raw))?.len();
    fs::remove_file(&raw).map_err(OsImageError::io("remove", &raw))?;
    let (sha256, size) = digest(&image).map_err(OsImageError::io("read", &image))?;
    let facts = partial.join(FACTS);
    let content = json!({ "sha256": sha256, "size": size, "rawSize": raw_size });
    fs::write(&facts, content.to_string()).map_err(OsImageError::io("write", &facts))
}

/// Writes the agent into the unmounted root file system.
fn install(agent: &Path, raw: &Path, offset: &str, scratch: &Path) -> Result<(), OsImageError> {
    let commands = scratch.join("commands");
    let content = format!(
        "write \"{}\" {AGENT}\nset_inode_field {AGENT} mode 0100755\n\
         set_inode_field {AGENT} uid 0\nset_inode_field {AGENT} gid 0\n",
        text(agent)
    );
    fs::write(&commands, content).map_err(OsImageError::io("write", &commands))?;
    let root = format!("{}?offset={offset}", text(raw));
    Tool::new("debugfs", LIMIT).arg("-w").arg("-f").arg(&commands).arg(&root).run()?;
    fs::remove_file(&commands).map_err(OsImageError::io("remove", &commands))?;
    // debugfs reports success whatever its commands did.
    let listing = Tool::new("debugfs", LIMIT).arg("-R").arg(format!("stat {AGENT}")).arg(&root).run()?;
    let size = fs::metadata(agent).map_err(OsImageError::io("measure", agent))?.len();
    let complete =
        listing.contains("Mode:  0755") && listing.lines().any(|line| line.ends_with(&format!("Size: {size}")));
    if complete { Ok(()) } else { Err(OsImageError::Absent(format!("whole {AGENT}; debugfs says:\n{listing}"))) }
}

fn digest(path: &Path) -> io::Result<(String, u64)> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut size = 0;
    let mut block = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut block)?;
        if count == 0 {
            return Ok((hex(&hash.finalize()), size));
        }
        hash.update(block.get(..count).unwrap_or_default());
        size += count as u64;
    }
}

/// The image in the finished cache entry `entry`.
pub(super) fn read(entry: &Path) -> Result<OsImage, OsImageError> {
    let facts = entry.join(FACTS);
    let content = fs::read_to_string(&facts).map_err(OsImageError::io("read", &facts))?;
    let content: Value = serde_json::from_str(&content).unwrap_or_default();
    let number = |name: &str| content.get(name).and_then(Value::as_u64);
    let parts = (content.get("sha256").and_then(Value::as_str), number("size"), number("rawSize"));
    let (Some(sha256), Some(size), Some(raw_size)) = parts else {
        return Err(OsImageError::Absent(format!("readable {}", facts.display())));
    };
    Ok(OsImage { path: entry.join(IMAGE), sha256: sha256.to_owned(), size, raw_size })
}
