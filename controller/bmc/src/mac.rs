//! Hardware addresses of network interfaces, compared as bytes: BMCs write them in every way there is, several ways in
//! one tree (Supermicro).

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A 48-bit hardware address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MacAddress([u8; 6]);

impl MacAddress {
    /// The address of these bytes, in the order in which they are written.
    #[must_use]
    pub const fn new(bytes: [u8; 6]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(self) -> [u8; 6] {
        self.0
    }

    /// Whether it can be an interface's own: neither all zeros, all ones nor a group's.
    #[must_use]
    pub fn is_unicast(self) -> bool {
        let [first, ..] = self.0;
        self.0 != [0; 6] && first & 0x01 == 0
    }

    /// Whether it was made up rather than assigned to its maker (IEEE 802, U/L bit). Such an address says nothing about
    /// which machine it is: one vendor's hosts all have the same for the interface between host and BMC.
    #[must_use]
    pub fn is_locally_administered(self) -> bool {
        let [first, ..] = self.0;
        first & 0x02 != 0
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl Serialize for MacAddress {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Text that is no 48-bit hardware address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a mac address, such as 52:54:00:12:34:56")]
pub struct NotAMacAddress(String);

impl FromStr for MacAddress {
    type Err = NotAMacAddress;

    /// Twelve hexadecimal digits, in either case; in groups of two, four or six or in one, divided by `:`, `-` or `.`.
    fn from_str(text: &str) -> Result<Self, NotAMacAddress> {
        let wrong = || NotAMacAddress(text.chars().take(40).collect());
        let groups: Vec<&str> = text.trim().split([':', '-', '.']).collect();
        let even = matches!(groups.len(), 1 | 2 | 3 | 6) && groups.iter().all(|group| group.len() * groups.len() == 12);
        let mut digits = groups.iter().flat_map(|group| group.chars());
        let mut bytes = [0; 6];
        for byte in &mut bytes {
            let mut digit = || digits.next().and_then(|digit| digit.to_digit(16)).filter(|_| even);
            let (high, low) = (digit().ok_or_else(wrong)?, digit().ok_or_else(wrong)?);
            *byte = u8::try_from(high << 4 | low).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q113_spellings_are_one_address() {
        let wanted = MacAddress::new([0x3c, 0xec, 0xef, 0x01, 0x02, 0xab]);
        for text in ["3c:ec:ef:01:02:ab", "3C:EC:EF:01:02:AB", "3C-EC-EF-01-02-AB", "3cec.ef01.02ab", "3CECEF0102AB"] {
            assert_eq!(text.parse(), Ok(wanted), "{text}");
        }
        assert_eq!(wanted.to_string(), "3c:ec:ef:01:02:ab");
        for text in ["", "n/a", "3c:ec:ef:01:02", "3c:ec:ef:01:02:ab:cd", "3c:ec:ef:01:02:ag", "3ce:cef:010:2ab", "é"]
        {
            assert!(text.parse::<MacAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn kinds_of_addresses() {
        let mac = |text: &str| text.parse::<MacAddress>().unwrap();
        assert!(mac("fa:2c:44:00:00:01").is_locally_administered());
        assert!(!mac("3c:ec:ef:00:00:01").is_locally_administered());
        assert!(!mac("00:00:00:00:00:00").is_unicast());
        assert!(!mac("ff:ff:ff:ff:ff:ff").is_unicast());
        assert!(mac("52:54:00:00:00:01").is_unicast());
    }

    proptest::proptest! {
        #[test]
        fn what_is_shown_is_read_again(bytes: [u8; 6], junk in "\\PC{0,20}") {
            let mac = MacAddress::new(bytes);
            proptest::prop_assert_eq!(mac.to_string().parse(), Ok(mac));
            let _ = junk.parse::<MacAddress>();
        }
    }
}
