//! The payloads that set up a session (§13.17–13.23), as bytes and back; what they mean is the handshake's.

use crate::bytes::Reader;
use crate::{CipherSuite, Malformed, SetupStatus};

/// A parsed setup response that carries an error carries nothing else that can be trusted.
pub(crate) enum Answer<T> {
    Accepted(T),
    Refused(SetupStatus),
}

/// Open Session Response, what is of use in it.
pub(crate) struct Opened {
    pub(crate) bmc_session_id: u32,
    /// The three algorithms the BMC settled on.
    pub(crate) algorithms: [u8; 3],
}

/// RAKP message 2, what is of use in it.
pub(crate) struct Rakp2<'a> {
    pub(crate) bmc_nonce: [u8; 16],
    pub(crate) bmc_guid: [u8; 16],
    pub(crate) code: &'a [u8],
}

pub(crate) fn open_session_request(tag: u8, privilege: u8, console_session_id: u32, suite: &CipherSuite) -> Vec<u8> {
    let mut payload = vec![tag, privilege, 0, 0];
    payload.extend_from_slice(&console_session_id.to_le_bytes());
    for (kind, algorithm) in [(0, suite.authentication), (1, suite.integrity), (2, suite.confidentiality)] {
        payload.extend_from_slice(&[kind, 0, 0, 8, algorithm, 0, 0, 0]);
    }
    payload
}

pub(crate) fn rakp1(tag: u8, bmc_session_id: u32, nonce: &[u8; 16], role: u8, name: &[u8]) -> Vec<u8> {
    let mut payload = vec![tag, 0, 0, 0];
    payload.extend_from_slice(&bmc_session_id.to_le_bytes());
    payload.extend_from_slice(nonce);
    payload.extend_from_slice(&[role, 0, 0, u8::try_from(name.len()).unwrap_or(u8::MAX)]);
    payload.extend_from_slice(name);
    payload
}

pub(crate) fn rakp3(tag: u8, status: SetupStatus, bmc_session_id: u32, code: &[u8]) -> Vec<u8> {
    let mut payload = vec![tag, status.0, 0, 0];
    payload.extend_from_slice(&bmc_session_id.to_le_bytes());
    payload.extend_from_slice(code);
    payload
}

/// `None` when the message answers another request than `tag`, or another console.
pub(crate) fn parse_open_session_response(
    payload: &[u8],
    tag: u8,
    console_session_id: u32,
) -> Result<Option<Answer<Opened>>, Malformed> {
    let mut reader = Reader::new("open session response", payload);
    let Some(status) = parse_head(&mut reader, tag, console_session_id)? else { return Ok(None) };
    if status != SetupStatus::OK {
        return Ok(Some(Answer::Refused(status)));
    }
    let bmc_session_id = reader.u32_le()?;
    let mut algorithms = [0; 3];
    for algorithm in &mut algorithms {
        let [_kind, _, _, _length, number, _, _, _] = reader.array()?;
        *algorithm = number & 0x3f;
    }
    Ok(Some(Answer::Accepted(Opened { bmc_session_id, algorithms })))
}

pub(crate) fn parse_rakp2(
    payload: &[u8],
    tag: u8,
    console_session_id: u32,
) -> Result<Option<Answer<Rakp2<'_>>>, Malformed> {
    let mut reader = Reader::new("rakp message 2", payload);
    let Some(status) = parse_head(&mut reader, tag, console_session_id)? else { return Ok(None) };
    if status != SetupStatus::OK {
        return Ok(Some(Answer::Refused(status)));
    }
    let bmc_nonce = reader.array()?;
    let bmc_guid = reader.array()?;
    Ok(Some(Answer::Accepted(Rakp2 { bmc_nonce, bmc_guid, code: reader.rest() })))
}

/// On acceptance, the integrity check value.
pub(crate) fn parse_rakp4(
    payload: &[u8],
    tag: u8,
    console_session_id: u32,
) -> Result<Option<Answer<&[u8]>>, Malformed> {
    let mut reader = Reader::new("rakp message 4", payload);
    let Some(status) = parse_head(&mut reader, tag, console_session_id)? else { return Ok(None) };
    Ok(Some(if status == SetupStatus::OK { Answer::Accepted(reader.rest()) } else { Answer::Refused(status) }))
}

/// Tag, status, two bytes that mean nothing here, console session id. Refusals come in odd lengths and without the id,
/// so there the tag alone decides.
fn parse_head(reader: &mut Reader<'_>, tag: u8, console_session_id: u32) -> Result<Option<SetupStatus>, Malformed> {
    let [their_tag, status] = reader.array()?;
    if their_tag != tag {
        return Ok(None);
    }
    let status = SetupStatus(status);
    if status != SetupStatus::OK {
        return Ok(Some(status));
    }
    reader.take(2)?;
    Ok((reader.u32_le()? == console_session_id).then_some(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn parsing_anything_never_panics(mut payload: Vec<u8>, accepted: bool) {
            if accepted {
                payload.splice(0..0, [1, 0, 0, 0, 9, 0, 0, 0]);
            }
            let _ = parse_open_session_response(&payload, 1, 9);
            let _ = parse_rakp2(&payload, 1, 9);
            let _ = parse_rakp4(&payload, 1, 9);
        }
    }
}
