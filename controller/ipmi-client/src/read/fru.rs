//! An inventory, as much of it as is understood.

use super::Chunk;
use crate::command::{FruAreaInfo, GetFruAreaInfo, ReadFruData};
use crate::fru::{Fru, HEADER, Layout};
use crate::{Client, IpmiError, Malformed};

impl Client {
    /// Reads a FRU device's inventory; device 0 is the server's own.
    ///
    /// # Errors
    /// Any of [`IpmiError`]; without such a device, a completion code that says so.
    pub async fn read_fru(&self, device: u8) -> Result<Fru, IpmiError> {
        let info = self.execute(&GetFruAreaInfo { device }).await?;
        let mut reader = FruReader { client: self, device, info, chunk: Chunk::new(), bytes: Vec::new() };
        reader.read_to(HEADER).await?;
        let Layout(areas) = Layout::parse(&reader.bytes)?;
        // Only what is read is fetched: behind the areas there may be tens of kilobytes of the vendor's own.
        let mut starts: Vec<usize> = areas.into_iter().filter_map(|(_, offset)| offset).collect();
        starts.sort_unstable();
        for start in starts {
            reader.read_to(start + 2).await?;
            let Some(length) = reader.bytes.get(start + 1) else { continue };
            reader.read_to(start + usize::from(*length) * HEADER).await?;
        }
        Ok(Fru::parse(&reader.bytes)?)
    }
}

struct FruReader<'a> {
    client: &'a Client,
    device: u8,
    info: FruAreaInfo,
    chunk: Chunk,
    bytes: Vec<u8>,
}

impl FruReader<'_> {
    /// Reads on until there are `end` bytes, or the area ends.
    async fn read_to(&mut self, end: usize) -> Result<(), IpmiError> {
        let end = end.min(usize::from(self.info.length));
        let unit = if self.info.by_words { 2 } else { 1 };
        while self.bytes.len() < end {
            let offset = u16::try_from(self.bytes.len() / unit).unwrap_or(u16::MAX);
            let count = self.chunk.of(end - self.bytes.len()).div_ceil(if self.info.by_words { 2 } else { 1 });
            let piece = match self.client.execute(&ReadFruData { device: self.device, offset, count }).await {
                Ok(piece) => piece,
                Err(IpmiError::Completion { code, .. }) if self.chunk.shrink(code) => continue,
                Err(error) => return Err(error),
            };
            let read = piece.bytes.get(..usize::from(piece.count) * unit).unwrap_or(&piece.bytes);
            // An odd byte of a word would set all further offsets off.
            let read = read.get(..read.len() / unit * unit).unwrap_or_default();
            if read.is_empty() {
                return Err(Malformed { what: "read fru data response", why: "holds no bytes" }.into());
            }
            self.bytes.extend_from_slice(read);
        }
        Ok(())
    }
}
