//! Who a host is: what must differ between the hosts of one fleet, whatever they are seeded from.

use std::fmt;

use uuid::Uuid;

/// A hardware address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Reads six pairs of hexadecimal digits, with colons, hyphens, or nothing between them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|character| !matches!(character, ':' | '-')).collect();
        if digits.len() != 12 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let number = u64::from_str_radix(&digits, 16).ok()?;
        let [_, _, bytes @ ..] = number.to_be_bytes();
        Some(Self(bytes))
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02X}:{b:02X}:{c:02X}:{d:02X}:{e:02X}:{g:02X}")
    }
}

/// What makes a host itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its number in the fleet, from 0.
    pub index: u32,
    /// A name for logs and as the host name of the controller.
    pub name: String,
    /// SMBIOS UUID of the system.
    pub uuid: Uuid,
    /// Serial number of the system.
    pub serial: String,
    /// Manufacturer, as IPMI's inventory gives it; Redfish gives the seed's.
    pub manufacturer: String,
    /// Product, as IPMI's inventory gives it; Redfish gives the seed's.
    pub model: String,
    /// Network interfaces of the system, in the order of the seed's; those beyond the list are made up.
    pub macs: Vec<Mac>,
    /// The controller's own interface.
    pub bmc_mac: Mac,
}

impl Identity {
    /// The identity of the host with that number: the same for the same number, different for others.
    #[must_use]
    pub fn numbered(index: u32) -> Self {
        let [_, a, b, c] = index.to_be_bytes();
        Self {
            index,
            name: format!("host-{index}"),
            uuid: Uuid::from_u128(0x6265_7373_656d_4572_8000_0000_0000_0000 | u128::from(index)),
            serial: format!("BSMR{index:06}"),
            manufacturer: "Bessemer".to_owned(),
            model: "Fake Server".to_owned(),
            macs: vec![Mac([0x52, 0x54, 0x01, a, b, c]), Mac([0x52, 0x54, 0x02, a, b, c])],
            bmc_mac: Mac([0x52, 0x54, 0xff, a, b, c]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_every_notation() {
        let mac = Mac([0x52, 0x54, 0x01, 0, 0xab, 7]);
        for text in ["52:54:01:00:AB:07", "52-54-01-00-ab-07", "52540100ab07"] {
            assert_eq!(Mac::parse(text), Some(mac), "{text}");
        }
        for text in ["", "52:54:01:00:AB", "52:54:01:00:AB:0g", "+2540100ab07", "52:54:01:00:AB:07:01"] {
            assert_eq!(Mac::parse(text), None, "{text}");
        }
        assert_eq!(mac.to_string(), "52:54:01:00:AB:07");
    }

    #[test]
    fn numbers_tell_hosts_apart() {
        let [one, other] = [1, 70_000].map(Identity::numbered);
        assert_ne!(one.uuid, other.uuid);
        assert_ne!(one.serial, other.serial);
        assert!(one.macs.iter().all(|mac| !other.macs.contains(mac)));
    }
}
