//! IPMI messages as they travel inside a session (§13.8): addresses, network function, two checksums.

use crate::bytes::Reader;
use crate::{CompletionCode, Malformed};

const BMC_ADDRESS: u8 = 0x20;
/// The remote console's software id (§5.5).
const CONSOLE_ADDRESS: u8 = 0x81;

/// A request's sequence number, 6 bits: an answer bears that of its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSequence(u8);

impl RequestSequence {
    /// The number's low six bits.
    #[must_use]
    pub const fn new(number: u8) -> Self {
        Self(number & 0x3f)
    }

    /// The number after this one, coming round to 0 after 63.
    #[must_use]
    pub const fn next(self) -> Self {
        Self::new(self.0.wrapping_add(1))
    }
}

/// An answer's parts.
#[derive(Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// The request's network function (the response's is one more).
    pub network_function: u8,
    /// The request's command number.
    pub command: u8,
    /// The request's sequence number.
    pub sequence: RequestSequence,
    /// The BMC's verdict.
    pub completion: CompletionCode,
    /// What follows the verdict.
    pub data: &'a [u8],
}

/// A request from the console to the BMC itself.
#[must_use]
pub fn encode_request(network_function: u8, command: u8, sequence: RequestSequence, data: &[u8]) -> Vec<u8> {
    encode_request_to_lun(0, network_function, command, sequence, data)
}

/// A request to one of the BMC's logical units, of which there are four.
#[must_use]
pub fn encode_request_to_lun(
    lun: u8,
    network_function: u8,
    command: u8,
    sequence: RequestSequence,
    data: &[u8],
) -> Vec<u8> {
    let head = [BMC_ADDRESS, network_function << 2 | lun & 0x03];
    let mut body = vec![CONSOLE_ADDRESS, sequence.0 << 2, command];
    body.extend_from_slice(data);
    let mut message = head.to_vec();
    message.push(checksum(&head));
    message.extend_from_slice(&body);
    message.push(checksum(&body));
    message
}

/// Reads a response.
///
/// # Errors
/// When it is too short, a request, or fails a checksum.
pub fn decode_response(message: &[u8]) -> Result<Response<'_>, Malformed> {
    let mut reader = Reader::new("ipmi response", message);
    let [_to, function_and_lun, _head_checksum] = reader.array()?;
    let [_from, sequence_and_lun, command, completion] = reader.array()?;
    let Some((_, data)) = reader.rest().split_last() else { return reader.fail("is too short") };
    let (head, body) = message.split_at(3);
    // Two's complement: a field and its checksum sum up to zero.
    if sum(head) != 0 || sum(body) != 0 {
        return reader.fail("has a wrong checksum");
    }
    let function = function_and_lun >> 2;
    if function & 1 == 0 {
        return reader.fail("is a request");
    }
    Ok(Response {
        network_function: function & !1,
        command,
        sequence: RequestSequence::new(sequence_and_lun >> 2),
        completion: CompletionCode(completion),
        data,
    })
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte))
}

fn checksum(bytes: &[u8]) -> u8 {
    sum(bytes).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn respond(function: u8, command: u8, sequence: u8, completion: u8, data: &[u8]) -> Vec<u8> {
        let head = [CONSOLE_ADDRESS, (function | 1) << 2];
        let mut body = vec![BMC_ADDRESS, sequence << 2, command, completion];
        body.extend_from_slice(data);
        [&head[..], &[checksum(&head)], &body, &[checksum(&body)]].concat()
    }

    proptest::proptest! {
        #[test]
        fn decoding_anything_never_panics(message: Vec<u8>) {
            let _ = decode_response(&message);
        }

        #[test]
        fn responses_round_trip(function in 0u8..32, command: u8, sequence in 0u8..64, completion: u8, data: Vec<u8>) {
            let function = function * 2;
            let message = respond(function, command, sequence, completion, &data);
            proptest::prop_assert_eq!(decode_response(&message).unwrap(), Response {
                network_function: function,
                command,
                sequence: RequestSequence::new(sequence),
                completion: CompletionCode(completion),
                data: &data,
            });
        }

        #[test]
        fn one_flipped_bit_is_noticed(data: Vec<u8>, bit in 0usize..64) {
            let mut message = respond(6, 1, 5, 0, &data);
            message[bit / 8 % 8] ^= 1 << (bit % 8);
            proptest::prop_assert!(decode_response(&message).is_err());
        }
    }
}
