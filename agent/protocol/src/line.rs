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

#[cfg(test)]
mod tests {
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
}
