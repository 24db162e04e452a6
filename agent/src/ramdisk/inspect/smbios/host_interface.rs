//! Types 38 and 42: how the host reaches its management controller.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::table::Structure;

/// What the table says of the way to the management controller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::ramdisk::inspect) struct HostInterface {
    /// Such as `KCS`; empty without an IPMI interface.
    pub(in crate::ramdisk::inspect) ipmi: &'static str,
    /// `major.minor`.
    pub(in crate::ramdisk::inspect) ipmi_version: String,
    /// Where the Redfish service answers on the host's own interface, as a rule a link-local address.
    pub(in crate::ramdisk::inspect) redfish: Option<IpAddr>,
}

impl HostInterface {
    /// Type 38.
    pub(super) fn ipmi(&mut self, structure: &Structure<'_>) {
        self.ipmi = match structure.byte(4) {
            Some(1) => "KCS",
            Some(2) => "SMIC",
            Some(3) => "BT",
            Some(4) => "SSIF",
            _ => "unknown",
        };
        let revision = structure.byte(5).unwrap_or(0);
        self.ipmi_version = format!("{}.{}", revision >> 4, revision & 0xf);
    }

    /// Type 42: protocol records after the interface's own data (DSP0270, Redfish host interface).
    pub(super) fn redfish(&mut self, structure: &Structure<'_>) {
        const REDFISH_OVER_IP: u8 = 4;
        let own = usize::from(structure.byte(5).unwrap_or(0));
        let Some([count, records @ ..]) = structure.from(6).get(own..) else { return };
        let mut rest = records;
        for _ in 0..*count {
            let [kind, length, after @ ..] = rest else { return };
            let Some((record, next)) = after.split_at_checked(usize::from(*length)) else { return };
            if *kind == REDFISH_OVER_IP {
                self.redfish = service_address(record).or(self.redfish);
            }
            rest = next;
        }
    }
}

/// Format at 51, address at 52: four bytes or sixteen.
fn service_address(record: &[u8]) -> Option<IpAddr> {
    let bytes: [u8; 16] = record.get(52..68)?.try_into().ok()?;
    let address = match record.get(51)? {
        1 => IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])),
        2 => IpAddr::V6(Ipv6Addr::from(bytes)),
        _ => return None,
    };
    (!address.is_unspecified()).then_some(address)
}
