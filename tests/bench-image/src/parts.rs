//! What each part of the work reaches alone.

use anyhow::Result;

use crate::image::Kind;
use crate::run::Lab;

/// Rates of what is the same for every form, in MB a second.
#[derive(Debug)]
pub(crate) struct Alone {
    pub(crate) disk: f64,
    pub(crate) hash: f64,
}

/// The slowest part.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) part: &'static str,
    /// In MB of image a second.
    pub(crate) rate: f64,
}

pub(crate) fn measure(lab: &Lab) -> Result<Alone> {
    Ok(Alone {
        disk: lab.command("dd if=image.raw of=disk bs=4M oflag=direct conv=notrunc,fsync status=none")?,
        hash: lab.command("openssl dgst -sha256 image.raw")?,
    })
}

impl Alone {
    /// The least of all parts for `kind`.
    pub(crate) fn of(&self, lab: &Lab, kind: Kind) -> Result<Limit> {
        let wire = lab.command(&format!("curl -sSf -o /dev/null {}", lab.url(kind)))?;
        let decoder = match kind.decoder() {
            Some(decoder) => lab.command(&format!("{decoder} < {} > /dev/null", kind.file()))?,
            None if kind == Kind::Qcow2 => {
                lab.command(&format!("qemu-img convert -f qcow2 -O raw -n {} disk", kind.file()))?
            }
            None => f64::INFINITY,
        };
        let parts = [
            ("wire", wire),
            ("disk", self.disk),
            ("decoder", decoder),
            // Only what travels is hashed.
            ("hash", self.hash / lab.travels(kind)?),
        ];
        let least = parts.into_iter().min_by(|left, right| left.1.total_cmp(&right.1));
        let (part, rate) = least.unwrap_or(("nothing", 0.0));
        Ok(Limit { part, rate })
    }
}
