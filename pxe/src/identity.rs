//! The names by which a booting machine and one of its boots are known: MAC address, processor architecture, boot id.

use std::fmt;
use std::str::FromStr;

/// A text that should have been a MAC address or a boot id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidIdentity {
    /// Not six hexadecimal octets separated by `:` or `-`.
    #[error("`{0}` is not a MAC address (six octets such as 52:54:00:12:34:56)")]
    Mac(String),
    /// Not 32 lower case hexadecimal digits.
    #[error("a boot id is 32 lower case hexadecimal digits")]
    BootId,
}

/// An Ethernet hardware address. Printed and parsed as `52:54:00:12:34:56`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// Stable across releases and machines, unlike the standard library's hasher.
    pub(crate) fn hash(self) -> u64 {
        fnv(&self.0)
    }
}

/// FNV-1a.
pub(crate) fn fnv(octets: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    octets.iter().fold(0xcbf2_9ce4_8422_2325, fold)
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MacAddr {
    type Err = InvalidIdentity;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidIdentity::Mac(text.chars().take(64).collect());
        let mut octets = [0; 6];
        let mut parts = text.split([':', '-']);
        for octet in &mut octets {
            let part = parts.next().filter(|part| part.len() == 2).ok_or_else(invalid)?;
            *octet = parse_hex(part).and_then(|value| u8::try_from(value).ok()).ok_or_else(invalid)?;
        }
        if parts.next().is_some() { Err(invalid()) } else { Ok(Self(octets)) }
    }
}

/// A client's system architecture: an IANA "Processor Architecture Type" (RFC 4578, RFC 5970), DHCP option 93.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientArch(pub u16);

impl ClientArch {
    /// x86 BIOS.
    pub const BIOS: Self = Self(0);
    /// x64 UEFI; the number that x64 firmware sends in practice.
    pub const UEFI_X64: Self = Self(7);
    /// "EBC" in RFC 4578, x64 UEFI in that document's erratum and in some firmware.
    pub const UEFI_X64_EBC: Self = Self(9);
    /// 64-bit ARM UEFI.
    pub const UEFI_ARM64: Self = Self(11);
    /// x64 UEFI booting over HTTP.
    pub const UEFI_X64_HTTP: Self = Self(16);
    /// 64-bit ARM UEFI booting over HTTP.
    pub const UEFI_ARM64_HTTP: Self = Self(19);

    /// True for 64-bit ARM.
    pub fn is_arm64(self) -> bool {
        [Self::UEFI_ARM64, Self::UEFI_ARM64_HTTP].contains(&self)
    }

    /// True for machines that run x86-64 kernels.
    pub fn is_x86_64(self) -> bool {
        [Self::BIOS, Self::UEFI_X64, Self::UEFI_X64_EBC, Self::UEFI_X64_HTTP].contains(&self)
    }
}

impl fmt::Display for ClientArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BIOS => f.write_str("bios"),
            Self::UEFI_X64 | Self::UEFI_X64_EBC => f.write_str("uefi-x64"),
            Self::UEFI_ARM64 => f.write_str("uefi-arm64"),
            Self::UEFI_X64_HTTP => f.write_str("uefi-x64-http"),
            Self::UEFI_ARM64_HTTP => f.write_str("uefi-arm64-http"),
            Self(6) => f.write_str("uefi-ia32"),
            Self(other) => write!(f, "arch-{other}"),
        }
    }
}

/// One boot of one host: 128 random bits, made by the directory, printed as 32 lower case hexadecimal digits.
///
/// Everything that belongs to a boot is served under this id. It travels in the clear, so it names a boot and
/// authorises nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootId(pub u128);

impl fmt::Display for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for BootId {
    type Err = InvalidIdentity;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() != 32 || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(InvalidIdentity::BootId);
        }
        parse_hex(text).map(Self).ok_or(InvalidIdentity::BootId)
    }
}

/// `from_str_radix` also takes a sign, which is not a digit of any name.
fn parse_hex(text: &str) -> Option<u128> {
    text.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mac_addresses_parse_and_print() {
        let mac: MacAddr = "52-54-00-AB-cd-01".parse().unwrap();
        assert_eq!(mac.to_string(), "52:54:00:ab:cd:01");
        for bad in
            ["", "52:54:00:ab:cd", "52:54:00:ab:cd:01:02", "52:54:00:ab:cd:+1", "52:54:00:ab:cd:1", "xx:54:00:ab:cd:01"]
        {
            assert!(bad.parse::<MacAddr>().is_err(), "{bad}");
        }
    }

    #[test]
    fn boot_ids_have_one_spelling() {
        let id = BootId(0x0123_4567_89ab_cdef);
        assert_eq!(id.to_string(), "00000000000000000123456789abcdef");
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "123456789abcdef", "00000000000000000123456789ABCDEF", "+0000000000000000123456789abcdef"] {
            assert_eq!(bad.parse::<BootId>(), Err(InvalidIdentity::BootId), "{bad}");
        }
    }
}
