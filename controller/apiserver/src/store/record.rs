//! One version of one object, as bytes: JSON, compressed when that pays, under a checksum. The same bytes are kept in
//! memory, in the journal and in the file, so that a host with 20 KB of field ownership costs a few KB, not the
//! hundreds that a tree of values would.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

/// Objects below this are not worth compressing.
const WORTH_PACKING: usize = 1024;
const PLAIN: u8 = 1;
const PACKED: u8 = 2;
/// Tag, checksum, time of writing, version, length of the JSON.
const HEAD: usize = 1 + 4 + 8 + 8 + 4;
/// Where that which the checksum covers begins.
const COVERED: usize = 5;
/// Longest JSON believed of a record; far above what a write may be.
const LONGEST: usize = 64 * 1024 * 1024;

/// An object's bytes, and the tree read from them for as long as someone holds that.
pub(crate) struct Record {
    bytes: Box<[u8]>,
    tree: Mutex<Weak<Value>>,
}

impl Record {
    /// The record of `object` as of now.
    pub(super) fn new(object: &Arc<Value>, version: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        // Writing a tree of values into memory cannot fail.
        let json = serde_json::to_vec(&**object).unwrap_or_default();
        Self { bytes: encode(&json, version, now), tree: Mutex::new(Arc::downgrade(object)) }
    }

    /// Reads what an earlier run wrote; `None` when it is damaged.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.first() == Some(&b'{') {
            // Format 1: the JSON alone.
            let object: Value = serde_json::from_slice(bytes).ok()?;
            let version = crate::object::resource_version(&object).parse().ok()?;
            return Some(Self::new(&Arc::new(object), version));
        }
        let checksum = u32::from_le_bytes(*bytes.get(1..)?.first_chunk()?);
        let sound = bytes.len() >= HEAD
            && matches!(bytes.first(), Some(&(PLAIN | PACKED)))
            && crc32fast::hash(bytes.get(COVERED..)?) == checksum;
        let record = Self { bytes: bytes.into(), tree: Mutex::default() };
        (sound && record.json_len() <= LONGEST).then_some(record)
    }

    /// What [`Self::read`] reads.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The resource version.
    pub(crate) fn version(&self) -> u64 {
        self.number(13)
    }

    /// When it was written, in seconds since 1970.
    pub(crate) fn written(&self) -> u64 {
        self.number(5)
    }

    /// The length of the JSON.
    pub(crate) fn json_len(&self) -> usize {
        let len = self.bytes.get(21..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
        u32::from_le_bytes(len) as usize
    }

    /// The object as JSON.
    pub(crate) fn json(&self) -> Cow<'_, [u8]> {
        let body = self.bytes.get(HEAD..).unwrap_or_default();
        if self.bytes.first() == Some(&PLAIN) {
            return Cow::Borrowed(body);
        }
        Cow::Owned(lz4_flex::block::decompress(body, self.json_len()).unwrap_or_else(|error| {
            // The checksum was right, so that only a fault of the memory or of this file can be behind it.
            tracing::error!(%error, version = self.version(), "a record cannot be unpacked");
            Vec::new()
        }))
    }

    /// The object as a tree, shared with others that hold it.
    pub(crate) fn value(&self) -> Arc<Value> {
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = tree.upgrade() {
            return held;
        }
        let read = serde_json::from_slice(&self.json()).unwrap_or_else(|error| {
            tracing::error!(%error, version = self.version(), "a record cannot be read");
            Value::Null
        });
        let read = Arc::new(read);
        *tree = Arc::downgrade(&read);
        read
    }

    fn number(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default())
    }
}

fn encode(json: &[u8], version: u64, written: u64) -> Box<[u8]> {
    let packed = if json.len() < WORTH_PACKING { None } else { Some(lz4_flex::block::compress(json)) };
    let packed = packed.filter(|packed| packed.len() < json.len() / 8 * 7);
    let body = packed.as_deref().unwrap_or(json);
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.push(if packed.is_some() { PACKED } else { PLAIN });
    bytes.extend([0; 4]);
    bytes.extend(written.to_le_bytes());
    bytes.extend(version.to_le_bytes());
    bytes.extend(u32::try_from(json.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(body);
    let checksum = crc32fast::hash(bytes.get(COVERED..).unwrap_or_default());
    if let Some(place) = bytes.get_mut(1..COVERED) {
        place.copy_from_slice(&checksum.to_le_bytes());
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn survives_the_disk(text in ".{0,4000}", version in 0..u64::MAX) {
            let object = Arc::new(json!({"a": text, "b": "x".repeat(text.len())}));
            let read = Record::read(Record::new(&object, version).bytes()).unwrap();
            prop_assert_eq!(read.version(), version);
            prop_assert_eq!(read.value(), object);
        }

        #[test]
        fn a_flipped_bit_is_found(at in 0_usize..2000, bit in 0_u8..8) {
            let object = Arc::new(json!({"k": "v".repeat(3000), "n": (0..200).collect::<Vec<_>>()}));
            let mut bytes = Record::new(&object, 7).bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            prop_assert!(Record::read(&bytes).is_none());
        }

        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Record::read(&bytes);
        }
    }

    #[test]
    fn large_objects_are_packed_and_the_first_format_is_read() {
        let object = Arc::new(json!({"metadata": {"resourceVersion": "5"}, "k": "managed ".repeat(1000)}));
        let record = Record::new(&object, 5);
        assert!(record.bytes().len() < 500 && record.json_len() > 8000);
        let old = Record::read(object.to_string().as_bytes()).unwrap();
        assert_eq!((old.version(), old.value()), (5, object));
    }
}
