//! Which addresses are answered at all.

use std::net::IpAddr;

/// The subnets whose machines are served, directly attached or behind a relay. Everybody else is dropped without a
/// refusal, which would go to whomever the sender's address was forged from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clients(Vec<(IpAddr, u8)>);

impl Clients {
    /// Members of these prefixes, each an address and its length. IPv6 link-local addresses are served where any IPv6
    /// prefix is.
    pub(crate) fn new(prefixes: impl IntoIterator<Item = (IpAddr, u8)>) -> Self {
        Self(prefixes.into_iter().collect())
    }

    /// Whether a machine with this address is served.
    pub(crate) fn contain(&self, peer: IpAddr) -> bool {
        self.0.iter().any(|(network, len)| match (peer, network) {
            (IpAddr::V4(peer), IpAddr::V4(network)) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub((*len).into())).unwrap_or(0);
                peer.to_bits() & mask == network.to_bits() & mask
            }
            (IpAddr::V6(peer), IpAddr::V6(network)) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub((*len).into())).unwrap_or(0);
                peer.is_unicast_link_local() || peer.to_bits() & mask == network.to_bits() & mask
            }
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_subnets_are_served() {
        let table = [
            ("10.77.0.10", "10.77.0.1", 24, true),
            ("10.77.1.10", "10.77.0.1", 24, false),
            ("10.77.1.10", "10.77.0.1", 16, true),
            ("203.0.113.9", "10.77.0.1", 0, true),
            ("10.77.0.1", "10.77.0.1", 32, true),
            ("10.77.0.2", "10.77.0.1", 32, false),
            ("::1", "10.77.0.1", 24, false),
            ("fd77::9", "fd77::1", 64, true),
            ("fd78::9", "fd77::1", 64, false),
            ("fe80::1", "fd77::1", 64, true),
            ("fe80::1", "10.77.0.1", 24, false),
            ("10.77.0.1", "fd77::1", 0, false),
        ];
        for (peer, ours, prefix, expected) in table {
            let clients = Clients::new([(ours.parse().unwrap(), prefix)]);
            assert_eq!(clients.contain(peer.parse().unwrap()), expected, "{peer} {ours}/{prefix}");
        }
    }

    #[test]
    fn any_of_several_will_do() {
        let clients = Clients::new([("10.77.0.1".parse().unwrap(), 24), ("10.78.0.0".parse().unwrap(), 16)]);
        assert!(clients.contain("10.78.3.4".parse().unwrap()));
        assert!(!Clients::default().contain("10.77.0.1".parse().unwrap()));
    }
}
