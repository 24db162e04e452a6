//! What each part of the work reaches alone.

use anyhow::Result;
use bessemer_bench::Rounds;

use crate::image::Kind;
use crate::run::Lab;

/// Rates of each part for one form of the image, in MB of image a second.
#[derive(Debug, Default)]
pub(crate) struct Alone {
    wire: Rounds,
    disk: Rounds,
    decoder: Rounds,
    hash: Rounds,
}

/// The slowest part.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) part: &'static str,
    /// In MB of image a second.
    pub(crate) rate: f64,
}

impl Alone {
    /// One round of all parts.
    pub(crate) fn measure(&mut self, lab: &Lab, kind: Kind) -> Result<()> {
        self.wire.push(lab.command(&format!("curl -sSf -o /dev/null {}", lab.url(kind)))?);
        self.disk.push(lab.command("dd if=image.raw of=disk bs=4M oflag=direct conv=notrunc,fsync status=none")?);
        // Only what travels is hashed.
        self.hash.push(lab.command("openssl dgst -sha256 image.raw")? / lab.travels(kind)?);
        self.decoder.push(match kind.decoder() {
            Some(decoder) => lab.command(&format!("{decoder} < {} > /dev/null", kind.file()))?,
            None if kind == Kind::Qcow2 => {
                lab.command(&format!("qemu-img convert -f qcow2 -O raw -n {} disk", kind.file()))?
            }
            None => f64::INFINITY,
        });
        Ok(())
    }

    /// The least of all parts.
    pub(crate) fn limit(&self) -> Limit {
        let parts = [("wire", &self.wire), ("disk", &self.disk), ("decoder", &self.decoder), ("hash", &self.hash)];
        let parts = parts.map(|(part, rounds)| Limit { part, rate: rounds.median() });
        let least = parts.into_iter().min_by(|left, right| left.rate.total_cmp(&right.rate));
        least.unwrap_or(Limit { part: "nothing", rate: 0.0 })
    }

    /// All parts with their spread.
    pub(crate) fn words(&self) -> String {
        format!("wire {}, disk {}, decoder {}, hash {}", self.wire, self.disk, self.decoder, self.hash)
    }
}
