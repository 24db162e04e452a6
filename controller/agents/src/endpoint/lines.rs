//! Lines from a body that arrives in pieces, within the protocol's limit.

use bessemer_protocol::MAX_LINE;
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt};

/// Reads one body.
pub(super) struct Lines<S> {
    body: S,
    buffer: BytesMut,
    /// The buffer's first bytes that are known to hold no newline.
    searched: usize,
}

/// Why there is no further line.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoLine {
    /// The body ended between two lines.
    #[error("the agent ended it")]
    End,
    /// The body broke off.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// More than [`MAX_LINE`] without a newline.
    #[error("a message is over the limit of {MAX_LINE} bytes")]
    TooLong,
}

impl<S, E> Lines<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: std::fmt::Display,
{
    pub(super) fn new(body: S) -> Self {
        Self { body, buffer: BytesMut::new(), searched: 0 }
    }

    /// The next line with its newline. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<BytesMut, NoLine> {
        loop {
            let newline = self.buffer.iter().skip(self.searched).position(|byte| *byte == b'\n');
            let length = newline.map_or(self.buffer.len(), |at| self.searched + at + 1);
            if length > MAX_LINE {
                return Err(NoLine::TooLong);
            }
            if newline.is_some() {
                self.searched = 0;
                return Ok(self.buffer.split_to(length));
            }
            self.searched = length;
            match self.body.next().await {
                Some(Ok(piece)) => self.buffer.extend_from_slice(&piece),
                Some(Err(error)) => return Err(NoLine::Broken(error.to_string())),
                None if self.buffer.is_empty() => return Err(NoLine::End),
                None => return Err(NoLine::Broken("it ended within a message".into())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn lines(pieces: Vec<Vec<u8>>) -> Lines<impl Stream<Item = Result<Bytes, Infallible>> + Unpin> {
        Lines::new(futures::stream::iter(pieces.into_iter().map(|piece| Ok(piece.into()))))
    }

    #[tokio::test]
    async fn a_line_over_the_limit_ends_the_stream_before_it_is_complete() {
        let mut lines = lines(vec![vec![b'x'; MAX_LINE - 1], vec![b'x'; 2], vec![b'\n']]);
        assert!(matches!(lines.next().await, Err(NoLine::TooLong)));
    }

    #[tokio::test]
    async fn the_longest_line_is_let_through() {
        let mut lines = lines(vec![vec![b'x'; MAX_LINE - 1], vec![b'\n']]);
        assert_eq!(lines.next().await.unwrap().len(), MAX_LINE);
        assert!(matches!(lines.next().await, Err(NoLine::End)));
    }

    #[tokio::test]
    async fn half_a_line_at_the_end_is_no_message() {
        assert!(matches!(lines(vec![b"abc".to_vec()]).next().await, Err(NoLine::Broken(_))));
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_they_arrive(text in "[a-z\n]{0,200}", cuts in prop::collection::vec(1usize..20, 0..40)) {
            let text = format!("{text}\n").into_bytes();
            let mut pieces = Vec::new();
            let mut rest = text.as_slice();
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece.to_vec());
                rest = after;
            }
            pieces.push(rest.to_vec());
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let got = runtime.block_on(async {
                let mut lines = lines(pieces);
                let mut got = Vec::new();
                while let Ok(line) = lines.next().await { got.push(line.to_vec()); }
                got
            });
            let want: Vec<Vec<u8>> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            prop_assert_eq!(got, want);
        }
    }
}
