//! From the two levels of tables to a list of what lies where, in the order of the file.

use super::{Header, Qcow2Error};

/// What all that is known of an image may take in memory, in bytes: whoever writes it may have 512 MiB for everything. Enough for 70 GB in
/// compressed or scattered clusters of the usual 64 KiB, and for any disk in clusters that follow each other.
const MOST_BYTES: u64 = 64 << 20;

/// One extent, the range of zeroes before it, and a quarter of both in reserve.
const EXTENT_BYTES: u64 = (size_of::<Extent>() + size_of::<(u64, u64)>()) as u64 * 5 / 4;

/// One table of the second level: its place here and among those that are still to be read, and what a reader keeps of it, which is the place again
/// and a digest of 32 bytes, once in each order.
const TABLE_BYTES: u64 = 2 * size_of::<(u64, u64)>() as u64 + 8 + 2 * 32;

/// Bits of an entry that hold an offset into the file.
const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
const COPIED: u64 = 1 << 63;
const COMPRESSED: u64 = 1 << 62;
const ZERO: u64 = 1;
const SECTOR: u64 = 512;

/// How an extent is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stored {
    /// As it is, any number of clusters.
    Plain,
    /// One cluster, compressed, with up to a sector of something else behind it.
    Compressed,
}

/// Bytes of the file that hold bytes of the guest's disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    /// Where in the file.
    pub host: u64,
    /// Bytes in the file.
    pub length: u64,
    /// Where on the guest's disk.
    pub guest: u64,
    /// In which form.
    pub stored: Stored,
}

impl Extent {
    fn end(&self) -> u64 {
        self.host + self.length
    }
}

/// Takes the tables and checks them.
#[derive(Debug)]
pub struct MapBuilder {
    header: Header,
    file: u64,
    extents: Vec<Extent>,
    tables: Vec<(u64, u64)>,
    /// Bytes that all of it takes.
    held: u64,
}

/// The whole of an image, by place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map {
    /// What holds data, in the order of the file. Compressed ones may share a sector.
    pub extents: Vec<Extent>,
    /// Offset and length of the header and every table: these bytes decided all the rest.
    pub tables: Vec<(u64, u64)>,
    /// Ranges of the guest's disk that read as zeroes, offset and length, in order.
    pub zeroes: Vec<(u64, u64)>,
}

impl MapBuilder {
    /// For a file of `file` bytes that starts with `header`.
    ///
    /// # Errors
    /// The first level is not inside the file, or more than can be kept in mind.
    pub fn new(header: Header, file: u64) -> Result<Self, Qcow2Error> {
        let first = header.cluster().min(super::MOST_HEADER_BYTES as u64).min(file);
        let mut builder = Self { header, file, extents: Vec::new(), tables: vec![(0, first)], held: 0 };
        builder.hold(builder.header.l1_bytes())?;
        builder.table("the first level", builder.header.l1_offset, builder.header.l1_bytes())?;
        Ok(builder)
    }

    fn table(&mut self, what: &'static str, offset: u64, length: u64) -> Result<(), Qcow2Error> {
        if offset.checked_add(length).is_none_or(|end| end > self.file) {
            return Err(Qcow2Error::Beyond { what, offset });
        }
        self.tables.push((offset, length));
        Ok(())
    }

    /// Counts what is about to be kept.
    fn hold(&mut self, bytes: u64) -> Result<(), Qcow2Error> {
        self.held = self.held.saturating_add(bytes);
        if self.held > MOST_BYTES {
            let what = "more tables and scattered clusters than go into bytes of memory:";
            return Err(Qcow2Error::Claim { what, value: MOST_BYTES });
        }
        Ok(())
    }

    /// Takes the first level and says where the tables of the second are: index and offset of each that is there. Each is one cluster.
    ///
    /// # Errors
    /// Reserved bits, an offset that no table can have, or more tables than can be kept in mind.
    pub fn add_l1(&mut self, bytes: &[u8]) -> Result<Vec<(u64, u64)>, Qcow2Error> {
        let there = |(_, entry): &(u64, u64)| entry & !COPIED != 0;
        let count = (0..self.header.l1_entries).zip(entries(bytes)).filter(there).count();
        self.hold((count as u64).saturating_mul(TABLE_BYTES))?;
        let mut found = Vec::with_capacity(count);
        self.tables.reserve_exact(count);
        for (index, entry) in (0..self.header.l1_entries).zip(entries(bytes)).filter(there) {
            let offset = self.aligned(entry & !COPIED, "a second level at byte")?;
            self.table("a second level", offset, self.header.cluster())?;
            found.push((index, offset));
        }
        Ok(found)
    }

    /// Takes the table of the second level that stands at `index` of the first.
    ///
    /// # Errors
    /// Entries that point outside the file or use reserved bits, or more of them than can be kept in mind.
    pub fn add_l2(&mut self, index: u64, bytes: &[u8]) -> Result<(), Qcow2Error> {
        let cluster = self.header.cluster();
        let start = index * (cluster / 8) * cluster;
        for (number, entry) in (0..cluster / 8).zip(entries(bytes)) {
            let guest = start + number * cluster;
            let Some(extent) = self.extent(guest, entry)? else { continue };
            if guest >= self.header.size {
                // QEMU keeps such clusters after a disk was made smaller; nobody reads them.
                continue;
            }
            match self.extents.last_mut() {
                Some(last) if continues(last, &extent) => last.length += extent.length,
                _ => {
                    self.hold(EXTENT_BYTES)?;
                    if self.extents.len() == self.extents.capacity() {
                        // By a quarter: doubled, most of the memory could be one that holds nothing.
                        self.extents.reserve_exact((self.extents.len() / 4).max(64));
                    }
                    self.extents.push(extent);
                }
            }
        }
        Ok(())
    }

    fn extent(&self, guest: u64, entry: u64) -> Result<Option<Extent>, Qcow2Error> {
        if entry & COMPRESSED != 0 {
            let offset_bits = 62 - (self.header.cluster_bits - 8);
            let host = entry & ((1 << offset_bits) - 1);
            let sectors = (entry & !(COPIED | COMPRESSED)) >> offset_bits;
            let length = (sectors + 1) * SECTOR - host % SECTOR;
            // The last sector may be missing in part at the end of the file.
            if host >= self.file || host == 0 {
                return Err(Qcow2Error::Beyond { what: "a compressed cluster", offset: host });
            }
            let length = length.min(self.file - host);
            return Ok(Some(Extent { host, length, guest, stored: Stored::Compressed }));
        }
        let entry = entry & !COPIED;
        let zero = self.header.version >= 3 && entry & ZERO != 0;
        let offset = if zero { entry & !ZERO } else { entry };
        if offset == 0 {
            return Ok(None);
        }
        let host = self.aligned(offset, "a cluster at byte")?;
        if host.checked_add(self.header.cluster()).is_none_or(|end| end > self.file) && !zero {
            return Err(Qcow2Error::Beyond { what: "a cluster", offset: host });
        }
        Ok((!zero).then_some(Extent { host, length: self.header.cluster(), guest, stored: Stored::Plain }))
    }

    fn aligned(&self, offset: u64, what: &'static str) -> Result<u64, Qcow2Error> {
        if offset & !OFFSET != 0 || !offset.is_multiple_of(self.header.cluster()) || offset == 0 {
            return Err(Qcow2Error::Claim { what, value: offset });
        }
        Ok(offset)
    }

    /// The whole map, when all tables were taken.
    ///
    /// # Errors
    /// Two clusters, or a cluster and a table, at the same place.
    pub fn finish(mut self) -> Result<Map, Qcow2Error> {
        let zeroes = self.zeroes();
        for extent in self.extents.iter_mut().filter(|extent| extent.stored == Stored::Plain) {
            extent.length = extent.length.min(self.header.size - extent.guest);
        }
        self.tables.sort_unstable();
        self.extents.sort_unstable();
        if let Some(at) = overlap(self.tables.iter().map(|(offset, length)| (*offset, offset + length, 0))) {
            return Err(Qcow2Error::Overlap(at));
        }
        // Neighbours of compressed clusters may share the sector in which one ends and the next starts.
        let slack = |extent: &Extent| if extent.stored == Stored::Compressed { SECTOR - 1 } else { 0 };
        if let Some(at) = overlap(self.extents.iter().map(|extent| (extent.host, extent.end(), slack(extent)))) {
            return Err(Qcow2Error::Overlap(at));
        }
        let mut tables = self.tables.iter().peekable();
        for extent in &self.extents {
            while tables.next_if(|(offset, length)| offset + length <= extent.host).is_some() {}
            if let Some((offset, _)) = tables.peek().filter(|(offset, _)| offset + slack(extent) < extent.end()) {
                return Err(Qcow2Error::Overlap(*offset));
            }
        }
        Ok(Map { extents: self.extents, tables: self.tables, zeroes })
    }

    /// What no extent covers. Leaves the extents in the guest's order.
    fn zeroes(&mut self) -> Vec<(u64, u64)> {
        self.extents.sort_unstable_by_key(|extent| extent.guest);
        let (cluster, size) = (self.header.cluster(), self.header.size);
        let ends = self.extents.iter().map(|extent| match extent.stored {
            Stored::Plain => (extent.guest, extent.length),
            Stored::Compressed => (extent.guest, cluster),
        });
        let gaps = ends.chain([(size, 0)]).scan(0, |position, (guest, length)| {
            let gap = (*position, guest.saturating_sub(*position));
            *position = guest + length;
            Some(gap)
        });
        let gaps = gaps.filter(|(_, length)| *length > 0);
        let mut zeroes = Vec::with_capacity(gaps.clone().count());
        zeroes.extend(gaps);
        zeroes
    }
}

fn entries(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|entry| entry.try_into().map_or(0, u64::from_be_bytes))
}

fn continues(last: &Extent, next: &Extent) -> bool {
    last.stored == Stored::Plain
        && next.stored == Stored::Plain
        && last.end() == next.host
        && last.guest + last.length == next.guest
}

/// The first place where two of the sorted ranges `(start, end, how much of the end does not count)` meet.
fn overlap(ranges: impl Iterator<Item = (u64, u64, u64)>) -> Option<u64> {
    let mut reached = 0;
    for (start, end, slack) in ranges {
        if start < reached {
            return Some(start);
        }
        reached = reached.max(end.saturating_sub(slack).max(start + 1));
    }
    None
}
