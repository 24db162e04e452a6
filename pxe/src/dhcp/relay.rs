//! What relay agents add to a request: `giaddr` and option 82 (RFC 3046, with the sub-options of RFC 3527 and RFC 5107).

use std::net::Ipv4Addr;

use super::options::code;
use super::packet::Packet;
use crate::client::Relay;

/// Sub-options of option 82.
mod sub {
    pub(super) const CIRCUIT_ID: u8 = 1;
    pub(super) const REMOTE_ID: u8 = 2;
    pub(super) const LINK_SELECTION: u8 = 5;
    pub(super) const SERVER_ID_OVERRIDE: u8 = 11;
}

/// What one relayed request says of its relay agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agent {
    pub(super) relay: Relay,
    /// Where answers are sent.
    pub(super) giaddr: Ipv4Addr,
    /// The agent wants to be told as the server, so that it sees renewals too (RFC 5107).
    pub(super) server_id: Option<Ipv4Addr>,
}

impl Agent {
    /// `None` for a request that no relay passed on. Option 82 without `giaddr` is of a switch that adds it in passing:
    /// it is echoed, but says nothing about the subnet.
    pub(super) fn of(request: &Packet) -> Option<Self> {
        if request.giaddr.is_unspecified() {
            return None;
        }
        let information = request.options.get(code::RELAY_AGENT).unwrap_or_default();
        let find = |wanted| sub_options(&information).find(|(code, _)| *code == wanted).map(|(_, value)| value);
        let address = |wanted| find(wanted).and_then(|value| <[u8; 4]>::try_from(value).ok()).map(Ipv4Addr::from);
        Some(Self {
            relay: Relay {
                address: request.giaddr.into(),
                circuit_id: find(sub::CIRCUIT_ID).map(Into::into),
                remote_id: find(sub::REMOTE_ID).map(Into::into),
                link_selection: address(sub::LINK_SELECTION),
            },
            giaddr: request.giaddr,
            server_id: address(sub::SERVER_ID_OVERRIDE),
        })
    }

    /// An address of the subnet that the client is in.
    pub(super) fn link(&self) -> Ipv4Addr {
        self.relay.link_selection.unwrap_or(self.giaddr)
    }
}

/// `(code, value)` of an encapsulated list, up to its end or the first that is cut off.
pub(super) fn sub_options(mut list: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&[code, len], rest) = list.split_first_chunk::<2>()?;
        let (value, rest) = rest.split_at_checked(len.into())?;
        list = rest;
        Some((code, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relayed(information: &[u8]) -> Packet {
        let mut bytes = vec![0; 240];
        bytes[24..28].copy_from_slice(&[10, 1, 0, 1]);
        bytes[236..].copy_from_slice(&[99, 130, 83, 99]);
        bytes.extend_from_slice(&[82, u8::try_from(information.len()).unwrap()]);
        bytes.extend_from_slice(information);
        Packet::decode(&bytes).unwrap()
    }

    #[test]
    fn sub_options_are_read_and_broken_ones_end_the_list() {
        let agent = Agent::of(&relayed(&[1, 2, 7, 8, 2, 1, 9, 5, 4, 10, 2, 0, 0, 11, 4, 10, 1, 0, 1])).unwrap();
        assert_eq!(agent.relay.circuit_id.as_deref(), Some(&[7, 8][..]));
        assert_eq!(agent.relay.remote_id.as_deref(), Some(&[9][..]));
        assert_eq!(agent.link(), Ipv4Addr::new(10, 2, 0, 0));
        assert_eq!(agent.server_id, Some(Ipv4Addr::new(10, 1, 0, 1)));

        for broken in [&[1][..], &[1, 9, 7], &[5, 3, 10, 2, 0], &[]] {
            let agent = Agent::of(&relayed(broken)).unwrap();
            assert_eq!(agent.relay.circuit_id, None, "{broken:?}");
            assert_eq!(agent.link(), Ipv4Addr::new(10, 1, 0, 1), "{broken:?}");
        }
    }

    #[test]
    fn a_request_from_the_link_has_no_agent() {
        let mut request = relayed(&[1, 1, 7]);
        request.giaddr = Ipv4Addr::UNSPECIFIED;
        assert_eq!(Agent::of(&request), None);
    }
}
