//! Addresses and prefixes as they are written: with a length, with a netmask beside them, or alone.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::NetworkError;

/// An address and the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// In bits.
    pub length: u8,
}

impl Address {
    /// Whether `ip` is in its network.
    pub(super) fn holds(&self, ip: IpAddr) -> bool {
        let masked = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => u128::from(u32::from(ip)) & high_bits(self.length, 32),
            IpAddr::V6(ip) => u128::from(ip) & high_bits(self.length, 128),
        };
        self.ip.is_ipv4() == ip.is_ipv4() && masked(self.ip) == masked(ip)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.length)
    }
}

/// A network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// Its first address.
    pub network: IpAddr,
    /// In bits; 0 is everything.
    pub length: u8,
}

impl Prefix {
    /// Everything of one family.
    pub(super) fn default_of(ip: IpAddr) -> Self {
        let network = if ip.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
        Self { network, length: 0 }
    }

    /// Whether a route to it is a default route.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.length == 0
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.length)
    }
}

/// Words from the data in an error: short, without control characters.
pub(super) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}

pub(super) fn ip(text: &str, place: &str) -> Result<IpAddr, NetworkError> {
    text.trim().parse().map_err(|_| NetworkError::bad(place, format!("{:?} is no address", shown(text))))
}

/// `a/24`, or `a` with a mask of `24`, `255.255.255.0` or `ffff::`, or `a` alone, which is a host's.
pub(super) fn address(text: &str, mask: Option<&str>, place: &str) -> Result<Address, NetworkError> {
    let (host, length) = text.split_once('/').map_or((text, mask), |(host, length)| (host, Some(length)));
    let ip = ip(host, place)?;
    let length = match length {
        None => full(ip),
        Some(mask) => length_of(ip, mask.trim())
            .ok_or_else(|| NetworkError::bad(place, format!("{:?} is no netmask", shown(mask))))?,
    };
    Ok(Address { ip, length })
}

/// The same of a network, whose bits behind the prefix do not count. `default` needs the family of the next hop.
pub(super) fn prefix(text: &str, mask: Option<&str>, via: Option<IpAddr>, place: &str) -> Result<Prefix, NetworkError> {
    if text == "default" {
        return Ok(Prefix::default_of(via.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))));
    }
    let unspecified = mask.is_none() && !text.contains('/') && ip(text, place)?.is_unspecified();
    let Address { ip, length } = address(text, if unspecified { Some("0") } else { mask }, place)?;
    let network = match ip {
        IpAddr::V4(ip) => IpAddr::V4((u32::from(ip) & u32::try_from(high_bits(length, 32)).unwrap_or(0)).into()),
        IpAddr::V6(ip) => IpAddr::V6((u128::from(ip) & high_bits(length, 128)).into()),
    };
    Ok(Prefix { network, length })
}

fn full(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

fn high_bits(length: u8, width: u32) -> u128 {
    let all = if width == 128 { u128::MAX } else { (1 << width) - 1 };
    all & all.checked_shl(width - u32::from(length).min(width)).unwrap_or(0)
}

fn length_of(ip: IpAddr, mask: &str) -> Option<u8> {
    if let Ok(length) = mask.parse::<u8>() {
        return (length <= full(ip)).then_some(length);
    }
    let (bits, ones) = match (ip, mask.parse().ok()?) {
        (IpAddr::V4(_), IpAddr::V4(mask)) => (u128::from(u32::from(mask)) << 96, u32::from(mask).leading_ones()),
        (IpAddr::V6(_), IpAddr::V6(mask)) => (u128::from(mask), u128::from(mask).leading_ones()),
        _ => return None,
    };
    (bits.count_ones() == ones).then_some(u8::try_from(ones).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_lengths_mean_the_same() {
        let table = [
            ("192.0.2.5/24", None, "192.0.2.5/24"),
            ("192.0.2.5", Some("255.255.255.128"), "192.0.2.5/25"),
            ("192.0.2.5", Some("24"), "192.0.2.5/24"),
            ("192.0.2.5", None, "192.0.2.5/32"),
            ("2001:db8::5", Some("ffff:ffff:ffff:ffff::"), "2001:db8::5/64"),
            ("2001:db8::5/64", Some("48"), "2001:db8::5/64"),
            ("0.0.0.0", Some("0.0.0.0"), "0.0.0.0/0"),
        ];
        for (text, mask, expected) in table {
            assert_eq!(address(text, mask, "x").unwrap().to_string(), expected, "{text} {mask:?}");
        }
        for (text, mask) in
            [("192.0.2.5/33", None), ("x", None), ("192.0.2.5", Some("255.0.255.0")), ("::1", Some("255.0.0.0"))]
        {
            assert!(address(text, mask, "x").is_err(), "{text} {mask:?}");
        }
    }

    #[test]
    fn networks_lose_what_is_behind_the_prefix() {
        assert_eq!(prefix("192.0.2.77/24", None, None, "x").unwrap().to_string(), "192.0.2.0/24");
        assert_eq!(prefix("0.0.0.0", None, None, "x").unwrap().to_string(), "0.0.0.0/0");
        assert_eq!(prefix("2001:db8::1", Some("32"), None, "x").unwrap().to_string(), "2001:db8::/32");
        assert_eq!(prefix("default", None, Some("fe80::1".parse().unwrap()), "x").unwrap().to_string(), "::/0");
    }
}
