//! Newline-delimited JSON: one message a line, with a limit that a hostile peer cannot exceed.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest message in bytes, newline included.
pub const MAX_LINE: usize = 1 << 20;

/// Why a message cannot be sent or read.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Over [`MAX_LINE`].
    #[error("message of {0} bytes is over the limit of {MAX_LINE}")]
    TooLong(usize),
    /// Not the JSON of a known message.
    #[error("not a message of this protocol: {0}")]
    Json(#[from] serde_json::Error),
}

/// One message as a line, newline included.
pub fn encode_line<T: Serialize>(message: &T) -> Result<Vec<u8>, LineError> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    if line.len() > MAX_LINE { Err(LineError::TooLong(line.len())) } else { Ok(line) }
}

/// The message of one line; a trailing newline is optional.
pub fn decode_line<T: DeserializeOwned>(line: &[u8]) -> Result<T, LineError> {
    if line.len() > MAX_LINE {
        return Err(LineError::TooLong(line.len()));
    }
    Ok(serde_json::from_slice(line)?)
}

/// Cuts what arrives in pieces into lines. Holds one incomplete line at most, of at most [`MAX_LINE`], and looks at each
/// byte once.
#[derive(Debug, Default)]
pub struct Lines {
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were handed out.
    taken: usize,
    /// Bytes of `buffer`, from its start, that are known to hold no newline after `taken`.
    searched: usize,
}

impl Lines {
    /// Takes in a piece. Lines are to be taken with [`Self::next_line`] before the next piece, or they pile up.
    pub fn feed(&mut self, piece: &[u8]) {
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.searched = self.searched.saturating_sub(self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(piece);
    }

    /// The next whole line with its newline; none until more is fed.
    ///
    /// # Errors
    /// [`LineError::TooLong`] as soon as a line is over [`MAX_LINE`], complete or not; there is no going on after it.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, LineError> {
        let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
        let newline = unsearched.iter().position(|byte| *byte == b'\n');
        let end = newline.map_or(self.buffer.len(), |at| self.searched + at + 1);
        let length = end - self.taken;
        if length > MAX_LINE {
            return Err(LineError::TooLong(length));
        }
        self.searched = end;
        if newline.is_none() {
            return Ok(None);
        }
        let start = std::mem::replace(&mut self.taken, end);
        Ok(self.buffer.get(start..end))
    }

    /// Whether a line was begun and not ended.
    pub fn is_within_a_line(&self) -> bool {
        self.taken < self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Down, Up, WorkId};

    #[test]
    fn messages_survive_the_line_form() {
        let up = Up::Progress { work_id: WorkId::random(), phase: "writing".into(), done: 1, total: Some(2) };
        assert_eq!(decode_line::<Up>(&encode_line(&up).unwrap()).unwrap(), up);
        let down = Down::Stored { work_id: WorkId::random() };
        assert_eq!(decode_line::<Down>(&encode_line(&down).unwrap()).unwrap(), down);
    }

    #[test]
    fn a_line_has_one_newline_at_its_end() {
        let up = Up::Progress { work_id: WorkId::random(), phase: "a\nb".into(), done: 0, total: None };
        let line = encode_line(&up).unwrap();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
    }

    #[test]
    fn an_endless_line_is_refused_before_it_is_parsed() {
        assert!(matches!(decode_line::<Up>(&vec![b'['; MAX_LINE + 1]), Err(LineError::TooLong(_))));
    }

    #[test]
    fn the_longest_line_is_let_through_and_one_byte_more_is_not() {
        for (length, good) in [(MAX_LINE - 1, true), (MAX_LINE, false)] {
            let mut lines = Lines::default();
            lines.feed(&vec![b'x'; length]);
            assert!(lines.next_line().unwrap().is_none());
            lines.feed(b"\n");
            assert_eq!(lines.next_line().is_ok(), good, "{length}");
        }
        let mut endless = Lines::default();
        endless.feed(&vec![b'x'; MAX_LINE + 1]);
        assert!(matches!(endless.next_line(), Err(LineError::TooLong(_))), "before its newline came");
    }

    /// All lines of a text that arrives in these pieces, and whether something was left.
    fn cut(pieces: &[Vec<u8>]) -> (Vec<Vec<u8>>, bool) {
        let mut lines = Lines::default();
        let mut got = Vec::new();
        for piece in pieces {
            lines.feed(piece);
            while let Some(line) = lines.next_line().unwrap() {
                got.push(line.to_vec());
            }
        }
        (got, lines.is_within_a_line())
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_they_arrive(
            text in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..300),
            cuts in prop::collection::vec(1usize..20, 0..60),
        ) {
            let mut pieces = Vec::new();
            let mut rest = text.as_slice();
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece.to_vec());
                rest = after;
            }
            pieces.push(rest.to_vec());
            let (got, within) = cut(&pieces);
            let mut want: Vec<Vec<u8>> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            let unfinished = want.last().is_some_and(|line| !line.ends_with(b"\n"));
            if unfinished {
                want.pop();
            }
            prop_assert_eq!(got, want);
            prop_assert_eq!(within, unfinished);
        }

        #[test]
        fn no_line_makes_the_decoder_panic(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_line::<Up>(&line);
            let _ = decode_line::<Down>(&line);
        }
    }
}
