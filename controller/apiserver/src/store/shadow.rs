//! A disk for tests: it keeps what was flushed; of what was not, a power cut keeps a random part, torn at sectors. It
//! can be full, and its flushes can fail.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use super::disk::{Disk, File};

#[derive(Debug)]
enum Op {
    Write(u64, Vec<u8>),
    SetLen(u64),
}

#[derive(Debug, Default)]
struct Data {
    current: Vec<u8>,
    durable: Vec<u8>,
    unflushed: Vec<Op>,
}

impl Op {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::SetLen(len) => bytes.resize(*len as usize, 0),
            Self::Write(offset, data) => {
                let (from, to) = (*offset as usize, *offset as usize + data.len());
                if bytes.len() < to {
                    bytes.resize(to, 0);
                }
                bytes[from..to].copy_from_slice(data);
            }
        }
    }
}

/// The platters and the switches; outlives power cuts.
#[derive(Debug)]
pub(super) struct ShadowDisk {
    files: Mutex<HashMap<PathBuf, Arc<Mutex<Data>>>>,
    switches: Arc<Switches>,
}

#[derive(Debug)]
pub(super) struct Switches {
    boots: AtomicU64,
    /// Operations until the power goes.
    pub(super) power: AtomicI64,
    /// Bytes that files may have together.
    pub(super) space: AtomicU64,
    used: AtomicU64,
    pub(super) failing_flushes: AtomicI64,
}

/// Small and good enough to tear writes by.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

impl ShadowDisk {
    pub(super) fn new() -> Self {
        let switches = Switches {
            boots: AtomicU64::new(0),
            power: AtomicI64::new(i64::MAX),
            space: AtomicU64::new(u64::MAX),
            used: AtomicU64::new(0),
            failing_flushes: AtomicI64::new(0),
        };
        Self { files: Mutex::default(), switches: Arc::new(switches) }
    }

    pub(super) fn switches(&self) -> &Arc<Switches> {
        &self.switches
    }

    /// The power is gone and comes back: files are what was flushed, plus a random part of what was not.
    pub(super) fn power_cycle(&self, random: &mut Random, keep_some: bool) {
        self.switches.boots.fetch_add(1, SeqCst);
        self.switches.power.store(i64::MAX, SeqCst);
        for data in self.files.lock().unwrap().values() {
            let mut data = data.lock().unwrap();
            let unflushed = std::mem::take(&mut data.unflushed);
            for op in unflushed {
                match op {
                    _ if !keep_some || random.below(3) == 0 => {}
                    Op::Write(offset, bytes) if random.below(2) == 0 && bytes.len() > 512 => {
                        let cut = random.below(bytes.len() as u64 / 512 + 1) as usize * 512;
                        let torn = if random.below(2) == 0 {
                            Op::Write(offset, bytes[..cut].to_vec())
                        } else {
                            Op::Write(offset + cut as u64, bytes[cut..].to_vec())
                        };
                        torn.apply(&mut data.durable);
                    }
                    whole => whole.apply(&mut data.durable),
                }
            }
            data.current = data.durable.clone();
        }
    }

    /// Changes a file's bytes, as a fault of the disk or a person would.
    pub(super) fn damage(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let files = self.files.lock().unwrap();
        let mut data = files[path].lock().unwrap();
        change(&mut data.durable);
        data.current = data.durable.clone();
    }
}

impl Disk for ShadowDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let data = Arc::clone(self.files.lock().unwrap().entry(path.to_owned()).or_default());
        let switches = Arc::clone(&self.switches);
        let boot = switches.boots.load(SeqCst);
        Ok(Arc::new(ShadowFile { data, switches, boot }))
    }
}

#[derive(Debug)]
struct ShadowFile {
    data: Arc<Mutex<Data>>,
    switches: Arc<Switches>,
    boot: u64,
}

impl ShadowFile {
    fn powered(&self) -> io::Result<()> {
        let off = self.switches.boots.load(SeqCst) != self.boot || self.switches.power.fetch_sub(1, SeqCst) <= 0;
        if off { Err(io::Error::other("the power is off")) } else { Ok(()) }
    }

    fn change(&self, op: Op) -> io::Result<()> {
        self.powered()?;
        let mut data = self.data.lock().unwrap();
        let len = match &op {
            Op::SetLen(len) => *len,
            Op::Write(offset, bytes) => (offset + bytes.len() as u64).max(data.current.len() as u64),
        };
        let grown = len.saturating_sub(data.current.len() as u64);
        if grown > 0 && self.switches.used.load(SeqCst) + grown > self.switches.space.load(SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.switches.used.fetch_add(grown, SeqCst);
        op.apply(&mut data.current);
        data.unflushed.push(op);
        Ok(())
    }
}

impl File for ShadowFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.data.lock().unwrap().current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let data = self.data.lock().unwrap();
        let found = data.current.get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.change(Op::Write(offset, bytes.to_vec()))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(Op::SetLen(len))
    }

    fn sync(&self) -> io::Result<()> {
        self.powered()?;
        if self.switches.failing_flushes.fetch_sub(1, SeqCst) > 0 {
            return Err(io::Error::other("input/output error"));
        }
        self.switches.failing_flushes.store(0, SeqCst);
        let mut data = self.data.lock().unwrap();
        for op in std::mem::take(&mut data.unflushed) {
            op.apply(&mut data.durable);
        }
        Ok(())
    }
}
