//! Requests and responses inside a session (§13.8).

/// The controller's own address.
const CONTROLLER: u8 = 0x20;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    pub(super) function: u8,
    pub(super) lun: u8,
    pub(super) from: u8,
    /// Sequence number and the asker's unit, as they go back.
    pub(super) sequence: u8,
    pub(super) command: u8,
    pub(super) data: &'a [u8],
}

/// A command's outcome: data, or why there are none.
pub(super) type Outcome = Result<Vec<u8>, u8>;

/// Reads a request; `None` when a checksum is wrong, or it is for somebody else.
pub(super) fn read(message: &[u8]) -> Option<Request<'_>> {
    let (head, body) = message.split_first_chunk::<3>()?;
    let [to, function, _] = *head;
    let (fixed, rest) = body.split_first_chunk::<3>()?;
    let (_, data) = rest.split_last()?;
    if to != CONTROLLER || sum(head) != 0 || sum(body) != 0 {
        return None;
    }
    let [from, sequence, command] = *fixed;
    Some(Request { function: function >> 2, lun: function & 3, from, sequence, command, data })
}

/// The response to a request.
pub(super) fn respond(request: &Request<'_>, outcome: &Outcome) -> Vec<u8> {
    let (code, data) = match outcome {
        Ok(data) => (0, data.as_slice()),
        Err(code) => (*code, &[][..]),
    };
    let mut message = vec![request.from, (request.function | 1) << 2 | request.sequence & 3];
    message.push(sum(&message).wrapping_neg());
    let mut body = vec![CONTROLLER, request.sequence & 0xfc | request.lun, request.command, code];
    body.extend_from_slice(data);
    body.push(sum(&body).wrapping_neg());
    message.extend(body);
    message
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte))
}
