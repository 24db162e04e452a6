//! What an agent may say: one message a line, with every text in it cut to a length and freed of control characters, as
//! it ends up in conditions, events and terminals.

use bessemer_protocol::{LineError, Up, decode_line};
use serde_json::Value;

/// Longest text kept, in characters.
const MAX_TEXT: usize = 4096;

/// The message of one line.
pub(super) fn read(line: &[u8]) -> Result<Up, LineError> {
    let mut value: Value = decode_line(line)?;
    clean(&mut value);
    Ok(serde_json::from_value(value)?)
}

/// One text, fit to be shown.
pub(super) fn clean_text(text: &str) -> String {
    text.chars().take(MAX_TEXT).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

// serde_json refuses more than 128 levels, which bounds the recursion.
fn clean(value: &mut Value) {
    match value {
        Value::String(text) => {
            if text.chars().any(char::is_control) || text.chars().nth(MAX_TEXT).is_some() {
                *text = clean_text(text);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(fields) => fields.values_mut().for_each(clean),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use bessemer_protocol::{NodePhase, NodeReport, WorkId, encode_line};

    use super::*;

    #[test]
    fn control_characters_and_endless_texts_do_not_get_in() {
        let report = NodeReport {
            hostname: "a\u{1b}[31mb".into(),
            addresses: vec![],
            provider_id: None,
            phase: NodePhase::Failed {
                step: "preflight".into(),
                cause: "x".repeat(MAX_TEXT * 2),
                tail: vec!["one\r".into(), "two".into()],
            },
        };
        let Up::Node(read) = read(&encode_line(&Up::Node(report)).unwrap()).unwrap() else { panic!("another message") };
        assert_eq!(read.hostname, "a [31mb");
        let NodePhase::Failed { cause, tail, .. } = read.phase else { panic!("another phase") };
        assert_eq!(cause.len(), MAX_TEXT);
        assert_eq!(tail, ["one ", "two"]);
    }

    #[test]
    fn what_is_clean_stays_as_it_is() {
        let up = Up::Progress { work_id: WorkId::random(), phase: "writing ü".into(), done: u64::MAX, total: Some(0) };
        assert_eq!(read(&encode_line(&up).unwrap()).unwrap(), up);
    }

    #[test]
    fn nesting_is_bounded() {
        assert!(read(&vec![b'['; 100_000]).is_err());
    }
}
