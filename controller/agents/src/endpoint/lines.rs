//! Lines from a body that arrives in pieces, within the protocol's limit.

use bessemer_protocol::{Lines as Cutter, MAX_LINE};
use bytes::Bytes;
use futures::{Stream, StreamExt};

/// Reads one body.
pub(super) struct Lines<S> {
    body: S,
    cutter: Cutter,
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
        Self { body, cutter: Cutter::default() }
    }

    /// The next line with its newline. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Vec<u8>, NoLine> {
        loop {
            if let Some(line) = self.cutter.next_line().map_err(|_| NoLine::TooLong)? {
                return Ok(line.to_vec());
            }
            match self.body.next().await {
                Some(Ok(piece)) => self.cutter.feed(&piece),
                Some(Err(error)) => return Err(NoLine::Broken(error.to_string())),
                None if self.cutter.is_within_a_line() => {
                    return Err(NoLine::Broken("it ended within a message".into()));
                }
                None => return Err(NoLine::End),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

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
    async fn a_body_ends_between_two_lines_or_breaks() {
        assert!(matches!(lines(vec![b"abc".to_vec()]).next().await, Err(NoLine::Broken(_))));
        let mut whole = lines(vec![b"ab".to_vec(), b"c\nd\n".to_vec()]);
        assert_eq!(whole.next().await.unwrap(), b"abc\n");
        assert_eq!(whole.next().await.unwrap(), b"d\n");
        assert!(matches!(whole.next().await, Err(NoLine::End)));
    }
}
