//! A representation made of pieces in memory and parts of files, sent without joining them.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

/// Octets to send.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// In memory.
    Made(Bytes),
    /// A part of a file.
    Stored(Arc<File>, Range<u64>),
}

impl Piece {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Made(octets) => octets.len() as u64,
            Self::Stored(_, part) => part.end.saturating_sub(part.start),
        }
    }

    /// `part` is of this piece's own octets and lies within them.
    fn part(self, part: Range<u64>) -> Self {
        match self {
            Self::Made(octets) => {
                let at = |place: u64| usize::try_from(place).unwrap_or(octets.len());
                Self::Made(octets.slice(at(part.start)..at(part.end)))
            }
            Self::Stored(file, whole) => Self::Stored(file, whole.start + part.start..whole.start + part.end),
        }
    }
}

/// One representation.
#[derive(Debug, Clone)]
pub(super) struct Content {
    pub(super) content_type: &'static str,
    /// Tells it from any other that was or will be at the same place.
    pub(super) etag: String,
    pieces: Vec<Piece>,
}

impl Content {
    /// Of pieces that are all in memory; `etag` is of the first ones, which are too large to look through each time.
    pub(super) fn made(content_type: &'static str, known: &Tagged, pieces: impl IntoIterator<Item = Bytes>) -> Self {
        let more: Vec<Bytes> = pieces.into_iter().collect();
        let etag = etag(known.tag, &more);
        let pieces = [known.octets.clone()].into_iter().chain(more).map(Piece::Made).collect();
        Self { content_type, etag, pieces }
    }

    pub(super) fn new(content_type: &'static str, etag: String, pieces: Vec<Piece>) -> Self {
        Self { content_type, etag, pieces }
    }

    pub(super) fn len(&self) -> u64 {
        self.pieces.iter().map(Piece::len).sum()
    }

    /// The pieces of a part of it.
    pub(super) fn cut(self, range: &Range<u64>) -> Vec<Piece> {
        let mut start = 0;
        let mut kept = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            let end = start + piece.len();
            let within = |at: u64| at.clamp(start, end) - start;
            let part = within(range.start)..within(range.end);
            if !part.is_empty() {
                kept.push(piece.part(part));
            }
            start = end;
        }
        kept
    }
}

/// The entity tag of something known by its tag and of what is added to it.
pub(super) fn etag<'a>(tag: u64, more: impl IntoIterator<Item = &'a Bytes>) -> String {
    let mut hasher = DefaultHasher::new();
    tag.hash(&mut hasher);
    more.into_iter().for_each(|piece| piece.hash(&mut hasher));
    format!("\"{:016x}\"", hasher.finish())
}

/// Octets with their hash, taken once. It tells versions apart and is no protection against forgery.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tagged {
    octets: Bytes,
    tag: u64,
}

impl From<Bytes> for Tagged {
    fn from(octets: Bytes) -> Self {
        let mut hasher = DefaultHasher::new();
        octets.hash(&mut hasher);
        Self { octets, tag: hasher.finish() }
    }
}

impl Tagged {
    pub(crate) fn len(&self) -> usize {
        self.octets.len()
    }

    /// The hash.
    pub(crate) fn tag(&self) -> u64 {
        self.tag
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    use proptest::prelude::*;

    use super::*;

    fn joined(pieces: Vec<Piece>) -> Vec<u8> {
        let mut all = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Made(octets) => all.extend_from_slice(&octets),
                Piece::Stored(file, part) => {
                    let mut octets = vec![0; usize::try_from(part.end - part.start).unwrap()];
                    file.read_exact_at(&mut octets, part.start).unwrap();
                    all.extend(octets);
                }
            }
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn cutting_pieces_is_cutting_the_whole(
            pieces in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..9)), 0..5),
            a in 0usize..40, b in 0usize..40,
        ) {
            let mut file = tempfile::tempfile().unwrap();
            let whole: Vec<u8> = pieces.iter().flat_map(|(_, octets)| octets.clone()).collect();
            file.write_all(&whole).unwrap();
            let file = Arc::new(file);
            let mut start = 0;
            let pieces = pieces.into_iter().map(|(stored, octets)| {
                let part = start..start + octets.len() as u64;
                start = part.end;
                if stored { Piece::Stored(file.clone(), part) } else { Piece::Made(octets.into()) }
            });
            let content = Content::new("", String::new(), pieces.collect());
            prop_assert_eq!(content.len(), whole.len() as u64);
            let (a, b) = (a.min(whole.len()), b.min(whole.len()));
            let (a, b) = (a.min(b), a.max(b));
            prop_assert_eq!(joined(content.cut(&(a as u64..b as u64))), &whole[a..b]);
        }
    }

    #[test]
    fn other_octets_have_another_tag() {
        let tag = |known: &'static str, pieces: &[&'static str]| {
            let pieces: Vec<Bytes> = pieces.iter().map(|piece| Bytes::from_static(piece.as_bytes())).collect();
            Content::made("", &Bytes::from_static(known.as_bytes()).into(), pieces).etag
        };
        assert_eq!(tag("a", &["b"]), tag("a", &["b"]));
        assert_ne!(tag("a", &["b"]), tag("a", &["c"]));
        assert_ne!(tag("a", &["b"]), tag("b", &["b"]));
    }
}
