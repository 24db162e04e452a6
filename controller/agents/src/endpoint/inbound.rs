//! What an agent may say: one message a line, with every text in it cut to a length and freed of control characters, as
//! it ends up in conditions, events and terminals.

use bessemer_protocol::{LineError, MAX_LOG_LINE, NodePhase, NodeReport, Up, decode_line};
use serde_json::Value;

/// Longest text kept, in characters.
const MAX_TEXT: usize = 4096;

/// Most lines kept of a failed command's output, and the characters kept of each: they end up in a condition.
const MAX_TAIL_LINES: usize = 32;
const MAX_TAIL_LINE: usize = 512;

/// Most addresses and durations kept of a node's report.
const MAX_ADDRESSES: usize = 64;
const MAX_DURATIONS: usize = 256;

/// The message of one line.
pub(super) fn read(line: &[u8]) -> Result<Up, LineError> {
    let mut value: Value = decode_line(line)?;
    clean(&mut value);
    let mut message = serde_json::from_value(value)?;
    match &mut message {
        Up::Node(report) => shorten(report),
        Up::Log { lines } => lines.iter_mut().for_each(|line| cut(line, MAX_LOG_LINE)),
        _ => {}
    }
    Ok(message)
}

/// Bounds the lists of a report. Of a command's output the end is left, which tells what went wrong.
fn shorten(report: &mut NodeReport) {
    report.addresses.truncate(MAX_ADDRESSES);
    report.durations.truncate(MAX_DURATIONS);
    report.warnings.truncate(MAX_TAIL_LINES);
    report.warnings.iter_mut().for_each(|line| cut(line, MAX_TAIL_LINE));
    if let NodePhase::Failed { tail, .. } = &mut report.phase {
        tail.drain(..tail.len().saturating_sub(MAX_TAIL_LINES));
        tail.iter_mut().for_each(|line| cut(line, MAX_TAIL_LINE));
    }
}

fn cut(line: &mut String, characters: usize) {
    if let Some((end, _)) = line.char_indices().nth(characters) {
        line.truncate(end);
    }
}

/// One text, fit to be shown.
pub(super) fn clean_text(text: &str) -> String {
    text.chars().take(MAX_TEXT).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

// serde_json refuses more than 128 levels, which bounds the recursion.
pub(super) fn clean(value: &mut Value) {
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
    use bessemer_protocol::{WorkId, encode_line};

    use super::*;

    #[test]
    fn control_characters_and_endless_texts_do_not_get_in() {
        let report = NodeReport {
            hostname: "a\u{1b}[31mb".into(),
            phase: NodePhase::Failed {
                step: "preflight".into(),
                cause: "x".repeat(MAX_TEXT * 2),
                tail: vec!["one\r".into(), "two".into()],
                log: None,
            },
            ..NodeReport::default()
        };
        let Up::Node(read) = read(&encode_line(&Up::Node(report)).unwrap()).unwrap() else { panic!("another message") };
        assert_eq!(read.hostname, "a [31mb");
        let NodePhase::Failed { cause, tail, .. } = read.phase else { panic!("another phase") };
        assert_eq!(cause.len(), MAX_TEXT);
        assert_eq!(tail, ["one ", "two"]);
    }

    #[test]
    fn of_a_long_output_the_end_is_kept() {
        let tail = (0..100).map(|line| format!("{line:0>600}ü")).collect();
        let phase = NodePhase::Failed { step: "kubeadm".into(), cause: "exit 1".into(), tail, log: None };
        let report = NodeReport { hostname: "a".into(), phase, ..NodeReport::default() };
        let Up::Node(read) = read(&encode_line(&Up::Node(report)).unwrap()).unwrap() else { panic!("another message") };
        let NodePhase::Failed { tail, .. } = read.phase else { panic!("another phase") };
        assert_eq!(tail.len(), MAX_TAIL_LINES);
        assert!(tail.iter().all(|line| line.chars().count() == MAX_TAIL_LINE));
        assert_eq!(tail.last().unwrap().len(), MAX_TAIL_LINE);
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
