//! What is in a datagram (§13.6): RMCP, then ASF, an IPMI 1.5 session or an RMCP+ session.

/// A datagram from a console.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Datagram<'a> {
    /// ASF presence ping, by its tag.
    Ping { tag: u8 },
    /// A message in IPMI 1.5's envelope, without authentication: what consoles ask before they log in.
    Plain { session: u32, message: &'a [u8] },
    /// RMCP+.
    Plus(Packet<'a>),
}

/// An RMCP+ packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Packet<'a> {
    pub(super) kind: u8,
    pub(super) encrypted: bool,
    pub(super) authenticated: bool,
    pub(super) session: u32,
    pub(super) sequence: u32,
    pub(super) payload: &'a [u8],
    /// From the session header on: what an authentication code covers, and the code.
    pub(super) whole: &'a [u8],
}

const IPMI: [u8; 4] = [0x06, 0x00, 0xff, 0x07];

/// Reads a datagram; `None` for what is to be dropped.
pub(super) fn read(datagram: &[u8]) -> Option<Datagram<'_>> {
    let ([version, _, _, class], rest) = datagram.split_first_chunk::<4>()?;
    if *version != 6 {
        return None;
    }
    if class & 0x1f == 6 {
        let ([iana @ .., kind, tag, _, _], _) = rest.split_first_chunk::<8>()?;
        return (iana == &[0, 0, 0x11, 0xbe] && *kind == 0x80).then_some(Datagram::Ping { tag: *tag });
    }
    match rest.first()? {
        0 => {
            let (header, rest) = rest.split_first_chunk::<10>()?;
            let [_, _, _, _, _, s0, s1, s2, s3, length] = *header;
            let session = u32::from_le_bytes([s0, s1, s2, s3]);
            Some(Datagram::Plain { session, message: rest.get(..usize::from(length))? })
        }
        6 => {
            let (header, body) = rest.split_first_chunk::<12>()?;
            let [_, kind, i0, i1, i2, i3, s0, s1, s2, s3, l0, l1] = *header;
            Some(Datagram::Plus(Packet {
                kind: kind & 0x3f,
                encrypted: kind & 0x80 != 0,
                authenticated: kind & 0x40 != 0,
                session: u32::from_le_bytes([i0, i1, i2, i3]),
                sequence: u32::from_le_bytes([s0, s1, s2, s3]),
                payload: body.get(..usize::from(u16::from_le_bytes([l0, l1])))?,
                whole: rest,
            }))
        }
        _ => None,
    }
}

/// The answer to a ping: IPMI is supported.
pub(super) fn pong(tag: u8) -> Vec<u8> {
    let mut pong = vec![0x06, 0x00, 0xff, 0x06, 0, 0, 0x11, 0xbe, 0x40, tag, 0, 16];
    pong.extend([0, 0, 0x11, 0xbe, 0, 0, 0, 0, 0x81, 0, 0, 0, 0, 0, 0, 0]);
    pong
}

/// A message in IPMI 1.5's envelope, outside a session.
pub(super) fn plain(message: &[u8]) -> Vec<u8> {
    let length = u8::try_from(message.len()).unwrap_or(u8::MAX);
    [&IPMI[..], &[0; 9], &[length], message].concat()
}

/// An RMCP+ packet without authentication.
pub(super) fn open(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&IPMI[..], &header(kind, 0, 0, payload.len()), payload].concat()
}

/// An RMCP+ packet that `sign` puts its code to.
pub(super) fn sealed(
    kind: u8,
    session: u32,
    sequence: u32,
    encrypted: &[u8],
    sign: impl FnOnce(&[u8]) -> Vec<u8>,
) -> Vec<u8> {
    let mut covered = header(kind | 0xc0, session, sequence, encrypted.len());
    covered.extend_from_slice(encrypted);
    let pad = (4 - (covered.len() + 2) % 4) % 4;
    covered.resize(covered.len() + pad, 0xff);
    covered.push(u8::try_from(pad).unwrap_or_default());
    covered.push(0x07);
    let code = sign(&covered);
    [&IPMI[..], &covered, &code].concat()
}

fn header(kind: u8, session: u32, sequence: u32, length: usize) -> Vec<u8> {
    let length = u16::try_from(length).unwrap_or(u16::MAX);
    [&[0x06, kind][..], &session.to_le_bytes(), &sequence.to_le_bytes(), &length.to_le_bytes()].concat()
}
