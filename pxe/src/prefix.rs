//! An IPv4 network in CIDR form.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// A text or a pair of values that is no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no IPv4 network in CIDR form, such as 10.77.0.0/24")]
pub struct InvalidPrefix(String);

/// An IPv4 network: an address whose host bits are zero, and a length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    network: u32,
    len: u8,
}

impl Prefix {
    /// The network of `len` bits that `address` lies in.
    ///
    /// # Errors
    /// [`InvalidPrefix`] if `len` is over 32.
    pub fn of(address: Ipv4Addr, len: u8) -> Result<Self, InvalidPrefix> {
        if len > 32 {
            return Err(InvalidPrefix(format!("{address}/{len}")));
        }
        Ok(Self { network: address.to_bits() & mask(len), len })
    }

    /// The network's own address.
    pub fn network(self) -> Ipv4Addr {
        self.network.into()
    }

    /// Length in bits.
    #[expect(clippy::len_without_is_empty, reason = "a length of bits, not of a collection")]
    pub fn len(self) -> u8 {
        self.len
    }

    /// As a mask.
    pub fn netmask(self) -> Ipv4Addr {
        mask(self.len).into()
    }

    /// The address that all its machines listen to.
    pub fn broadcast(self) -> Ipv4Addr {
        (self.network | !mask(self.len)).into()
    }

    /// True if `address` lies in it.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        address.to_bits() & mask(self.len) == self.network
    }

    /// True if a machine can have `address`: inside, and neither the network's own nor its broadcast address.
    pub fn is_host(self, address: Ipv4Addr) -> bool {
        self.contains(address) && (self.len >= 31 || (address != self.network() && address != self.broadcast()))
    }

    /// True if some address lies in both.
    pub fn overlaps(self, other: Self) -> bool {
        self.contains(other.network()) || other.contains(self.network())
    }
}

fn mask(len: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(len.min(32))).unwrap_or(0)
}

impl FromStr for Prefix {
    type Err = InvalidPrefix;

    /// Host bits that are not zero are refused: they are mostly a mistyped length.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidPrefix(text.chars().take(64).collect());
        let (address, len) = text.split_once('/').ok_or_else(invalid)?;
        let address: Ipv4Addr = address.parse().map_err(|_| invalid())?;
        let prefix = Self::of(address, len.parse().map_err(|_| invalid())?)?;
        if prefix.network() == address { Ok(prefix) } else { Err(invalid()) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network(), self.len)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_members() {
        for (prefix, netmask, broadcast) in [
            ("0.0.0.0/0", "0.0.0.0", "255.255.255.255"),
            ("10.0.0.0/8", "255.0.0.0", "10.255.255.255"),
            ("10.1.2.0/24", "255.255.255.0", "10.1.2.255"),
            ("10.1.2.3/32", "255.255.255.255", "10.1.2.3"),
        ] {
            let parsed: Prefix = prefix.parse().unwrap();
            assert_eq!(parsed.to_string(), prefix);
            assert_eq!(parsed.netmask().to_string(), netmask);
            assert_eq!(parsed.broadcast().to_string(), broadcast);
        }
        let prefix: Prefix = "10.1.2.0/24".parse().unwrap();
        for (address, inside, host) in [
            ("10.1.2.0", true, false),
            ("10.1.2.1", true, true),
            ("10.1.2.255", true, false),
            ("10.1.3.1", false, false),
        ] {
            let address = address.parse().unwrap();
            assert_eq!((prefix.contains(address), prefix.is_host(address)), (inside, host), "{address}");
        }
        assert!(prefix.overlaps("10.0.0.0/8".parse().unwrap()));
        assert!(!prefix.overlaps("10.1.3.0/24".parse().unwrap()));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["", "10.0.0.0", "10.0.0.1/24", "10.0.0.0/33", "10.0.0/8", "fd00::/8", "10.0.0.0/x"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }
}
